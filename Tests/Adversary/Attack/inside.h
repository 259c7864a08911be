// SPDX-License-Identifier: Apache-2.0

/// Attacks that the app carries out on itself, as code injected into it would.

#ifndef ATTACK_INSIDE_H
#define ATTACK_INSIDE_H

/// Asks the library through the PLT: what a GOT hook redirects.
int inside_ask(int door);

void *inside_address_of_library(void);
void *inside_address_of_ask(void);
/// A constant of the library's.
void *inside_address_of_constant(void);
/// Where the word stands that leads to the library's function.
void *inside_address_of_slot(void);

/// "patch", "restore", "got", "anonymous", "writable", "memfd FILE", "dlopen FILE", "overmap", "mapfile FILE", "room
/// FILE". NULL, or what went wrong.
const char *inside_do(char *attack);

#endif
