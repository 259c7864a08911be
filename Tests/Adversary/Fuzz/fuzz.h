// SPDX-License-Identifier: Apache-2.0

/// Shared by the harnesses: a cursor over the fuzzer's bytes, checks that stop the run, exact copies for the address
/// sanitizer, and a fixture of keys, so that the fuzzer gets behind the cryptography.
///
/// A harness reads opcodes and fields through the cursor. An exhausted cursor gives zeros, and templates are combined
/// with the input by exclusive or, so that the empty input is the valid case and every byte is a deviation from it.

#ifndef FUZZ_H
#define FUZZ_H

#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include "ProofCore.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

/// A property of the core that no input may break.
#define REQUIRE(condition) ((condition) ? (void)0 : fuzz_fail(#condition, __FILE__, __LINE__))
_Noreturn void fuzz_fail(const char *condition, const char *file, int line);

/// The input that is not consumed yet.
struct fuzz_input {
  const uint8_t *bytes;
  size_t left;
};

uint8_t fuzz_u8(struct fuzz_input *input);
uint16_t fuzz_u16(struct fuzz_input *input);
uint32_t fuzz_u32(struct fuzz_input *input);
uint64_t fuzz_u64(struct fuzz_input *input);
/// Fills `bytes`, with zeros where the input has ended.
void fuzz_take(struct fuzz_input *input, void *bytes, size_t size);
/// Combines a template with the input.
void fuzz_xor(struct fuzz_input *input, uint8_t *bytes, size_t size);
/// Flips one bit if the input says so. 1 if it did.
int fuzz_flip(struct fuzz_input *input, uint8_t *bytes, size_t size);

/// A copy that ends where the allocation ends: one byte read beyond it is an error. The caller frees it.
uint8_t *fuzz_copy(const uint8_t *bytes, size_t size);
/// 1 if every byte is `value`.
int fuzz_all(const void *bytes, size_t size, uint8_t value);

void fuzz_put16(uint8_t *bytes, uint16_t value);
void fuzz_put32(uint8_t *bytes, uint32_t value);
void fuzz_put64(uint8_t *bytes, uint64_t value);
uint16_t fuzz_get16(const uint8_t *bytes);
uint32_t fuzz_get32(const uint8_t *bytes);
uint64_t fuzz_get64(const uint8_t *bytes);

#define FUZZ_ISSUERS 3          ///< The hardware knows the first two of them.
#define FUZZ_ISSUERS_TRUSTED 2

/// Keys that stand for one piece of hardware and its issuers.
struct fuzz_fixture {
  struct pfc_hardware hardware;
  uint8_t signing_keys[FUZZ_ISSUERS][PFC_SIGNING_KEY_BYTES];
  uint8_t issuer_ids[FUZZ_ISSUERS][PFC_ISSUER_ID_BYTES];
};

/// Made once; production mode, no literal tokens.
const struct fuzz_fixture *fuzz_fixture(void);

/// A token that the fixture's hardware accepts, of the instance whose id is all `instance`, issued at 1000.
struct pfc_token fuzz_token(uint8_t instance);

#endif
