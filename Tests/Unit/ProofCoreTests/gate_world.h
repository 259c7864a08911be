// SPDX-License-Identifier: Apache-2.0

/// One gate with its issuer, one app with a measurement, and the tokens that go between them. For the tests of gates.

#ifndef GATE_WORLD_H
#define GATE_WORLD_H

#include <stddef.h>
#include <stdint.h>

#include "ProofCore.h"
#include "forge.h"
#include "harness.h"

/// Both sides of one gate.
struct gate_world {
  struct dice dice;
  struct issuer issuer;
  struct pfc_gate gate;
  uint8_t mpk[PFC_KEY_BYTES];
  struct pfc_key key;
  uint8_t integrity[PFC_MEASUREMENT_BYTES];
  uint8_t audience[PFC_ID_BYTES];
  uint8_t beacon_key[PFC_GATE_KEY_BYTES];
  struct pfc_gate_token token;  ///< Token that the service issues; has S
  struct pfc_gate_keys keys;
  struct pfc_compact_keys event_keys;
};

/// A point in time that beacons of all four intervals exist around.
#define GATE_NOW UINT64_C(1700000123)

/// A production gate with two keys, numbers 7 and 8; a token issued now that lives an hour; keys of generation 0x12345.
void gate_world_make(struct gate_world *world, uint64_t seed);

/// A request with a body digest of 0x42 bytes and no authorization.
struct pfc_http request_of(const char *method, const char *scheme, const char *authority, const char *target);
/// Gives a request the value of its authorization header.
void authorize(struct pfc_http *request, const char *text);

/// Puts a token's header and body together from docs/SPEC.md, section 15, unsigned.
void gate_forge_parts(uint8_t head[8], uint8_t body[168], const struct pfc_gate_token *token, uint8_t key_number,
                      const struct issuer *issuer);

/// Signs for one recipient under this label, and seals to one. An issuer of NULL leaves a signature of zeros.
void gate_forge(uint8_t bytes[288], const uint8_t head[8], const uint8_t body[168], const char *label,
                const uint8_t signed_for[32], const uint8_t sealed_to[32], const struct issuer *issuer);

/// A token's fields that every rule accepts now, of this kind, with the count given.
struct pfc_compact compact_of(const struct gate_world *world, uint8_t kind, uint32_t count);

/// Account, digest and body that differ from each other in every byte.
struct pfc_compact_subject subject_of(uint8_t kind);

/// The keys that serve this kind.
const struct pfc_compact_keys *keys_of(const struct gate_world *world, uint8_t kind);

/// The rules of a strict route at GATE_NOW.
struct pfc_compact_rules rules_of(const struct gate_world *world, uint8_t kind);

/// A token put together from docs/SPEC.md, section 15, with any plain part; `change` goes into one byte of its tag, and
/// the mask is made to fit.
void compact_forge(uint8_t made[66], uint8_t kind, const uint8_t plain[24], const struct pfc_compact_subject *subject,
                   const struct pfc_compact_keys *keys, unsigned at, uint8_t change);

/// The event number of `compact_of`.
#define GATE_EVENT 3300

#endif
