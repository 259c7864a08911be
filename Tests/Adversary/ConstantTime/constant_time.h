// SPDX-License-Identifier: Apache-2.0

/// Secrets as valgrind sees them: bytes marked undefined. Whatever is computed from them is undefined too, and memcheck
/// reports every branch and every address that depends on it. So "no report" means: same path, same addresses,
/// whatever the secret.

#ifndef CONSTANT_TIME_H
#define CONSTANT_TIME_H

#include <stddef.h>
#include <stdint.h>

#include "ProofCore.h"

/// One check: `run` makes secrets, calls the core, reveals what the protocol reveals.
struct check {
  const char *name;
  void (*run)(void);
};

extern const struct check checks_proof[];
extern const struct check checks_measurement[];
extern const struct check checks_hardware[];
extern const struct check checks_gate[];
extern const struct check checks_logbook[];
extern const struct check checks_sealed[];
extern const struct check checks_channel[];
extern const struct check checks_grant[];

/// Fills with a pattern that depends on `seed` and is nowhere zero, and marks it secret.
void make_secret(void *bytes, size_t size, uint8_t seed);
/// A measurement proof key whose bytes, at `bytes`, are secret.
struct pfc_key make_secret_key(uint8_t bytes[PFC_KEY_BYTES]);
/// Marks as secret what already has a value.
void conceal(void *bytes, size_t size);
/// Public from here on: the protocol shows it.
void reveal(void *bytes, size_t size);
/// The check is void if the secret did not get this far: every byte must depend on one.
void expect_secret(const char *what, const void *bytes, size_t size);
/// A value that is public by now.
void expect(const char *what, int condition);

#endif
