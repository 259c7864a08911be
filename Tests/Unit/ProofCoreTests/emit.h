// SPDX-License-Identifier: Apache-2.0

/// Shared by the sources of `--emit`: fields of a block on standard output.

#ifndef EMIT_H
#define EMIT_H

#include <stddef.h>
#include <stdint.h>

/// Begins a block with its number, a sentence for people, and its type.
void begin_block(const char *type, const char *comment);
/// An integer.
void field_number(const char *name, uint64_t number);
/// Bytes in hexadecimal.
void field_bytes(const char *name, const void *bytes, size_t size);
/// A word.
void field_text(const char *name, const char *text);

/// Everything that gates are about.
void emit_gates(void);

/// The hardware's log.
void emit_logbook(void);

/// Sealed commands.
void emit_sealed(void);
/// Commands of channels.
void emit_channel(void);
/// Grants of section 19, made and answered by the core.
void emit_grants(void);

#endif
