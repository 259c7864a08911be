// SPDX-License-Identifier: Apache-2.0

/// The parts of the native SHA-256: kernels, transcripts above them, and the self-test.
///
/// The states are libsodium's own structures (8 words, a count of bits, 64 bytes of buffer), so a transcript may change
/// its path at any call.

#ifndef PFC_SHA256_PARTS_H
#define PFC_SHA256_PARTS_H

#include <stddef.h>
#include <stdint.h>

#include "crypto.h"
#include "sha256.h"

#if defined(__GNUC__) && defined(__linux__) && !defined(PFC_HASH_PORTABLE_ONLY) && \
    (defined(__x86_64__) || (defined(__aarch64__) && !defined(__AARCH64EB__)))
#define PFC_SHA256_NATIVE 1
#else
#define PFC_SHA256_NATIVE 0
#endif

#if PFC_SHA256_NATIVE

/// 1 if the native path is in use.
int pfc_sha256_is_native(void);

/// 1 if the kernels give published digests. Some 100 bytes of stack: the first hash of a process may stand on a deep
/// one.
int pfc_sha256_kernels_work(void);

/// 1 if the native path gives what libsodium gives: for messages, keys and cuts of every kind, and for transcripts that
/// change their path in the middle.
int pfc_sha256_trial(void);

// Kernels. They read and write nothing but their arguments, and leave zeros in every register they may change.

/// Compresses `count` blocks of 64 bytes into the state.
void pfc_sha256_compress(uint32_t state[8], const uint8_t *blocks, size_t count);
/// Compresses one block into each of two states, interleaved: both take little longer than one.
void pfc_sha256_compress_two(uint32_t first[8], const uint8_t first_block[64], uint32_t second[8],
                             const uint8_t second_block[64]);
/// Leaves zeros in the same registers: what bytes were copied through.
void pfc_sha256_forget(void);

// Transcripts: what the functions of crypto.h with these names do, on the native path. Each `_final` wipes its state.

void pfc_native_hash_init(struct pfc_hash *hash);
void pfc_native_hash_update(struct pfc_hash *hash, const void *bytes, size_t size);
void pfc_native_hash_final(uint8_t digest[32], struct pfc_hash *hash);
void pfc_native_mac_init(struct pfc_mac *mac, const uint8_t *key, size_t key_size);
void pfc_native_mac_update(struct pfc_mac *mac, const void *bytes, size_t size);
void pfc_native_mac_final(uint8_t tag[32], struct pfc_mac *mac);
void pfc_native_mac_short(uint8_t tag[32], const struct pfc_short *message);
void pfc_native_mac_short_two(uint8_t tags[2][32], const struct pfc_short messages[2]);

#endif

#endif
