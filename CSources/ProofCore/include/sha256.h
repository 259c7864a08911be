// SPDX-License-Identifier: Apache-2.0

/// Chooses the code that computes SHA-256 in this process. Every path gives the same bytes; they differ in speed, and
/// in where the code stands.
///
/// PFC_HASH_PORTABLE is libsodium's SHA-256. The native paths use the processor's own SHA-256 instructions, in code
/// that is linked statically with the core: on them no key and no measurement is handed to a function of libsodium's
/// SHA-256 or HMAC. They exist in Linux builds for x86-64 and little-endian 64-bit Arm. Firmware and every other build,
/// and any build with PFC_HASH_PORTABLE_ONLY defined, have the portable path alone.
///
/// The first hash of the process asks the processor, and compares what its instructions give with published digests.
/// Later hashes read one byte. `pfc_hash_use` tests more: it compares the native path with libsodium, also for
/// transcripts that change their path in the middle.

#ifndef PFC_SHA256_H
#define PFC_SHA256_H

#include "result.h"

#ifdef __cplusplus
extern "C" {
#endif

/// The code that computes SHA-256. Every path gives the same digests.
enum pfc_hash_path {
  PFC_HASH_UNKNOWN = 0,   ///< Not asked yet.
  PFC_HASH_PORTABLE = 1,  ///< libsodium's.
  PFC_HASH_X86 = 2,       ///< x86-64 with SHA, SSSE3 and SSE4.1.
  PFC_HASH_ARM = 3        ///< 64-bit Arm with SHA2.
};

/// Chooses a path for the whole process; safe beside hashes in other threads, and in the middle of a transcript.
/// PFC_HASH_UNKNOWN asks the processor, tests again, and takes the native path if it passes. PFC_E_ARGUMENT, and
/// nothing changes, if this build or this processor lacks the path, or if the path's self-test fails.
PFC_MUST_USE int pfc_hash_use(enum pfc_hash_path path);

/// The path in use. Never PFC_HASH_UNKNOWN: the first call asks and tests. In a virtual machine that takes some 50
/// microseconds, because the hypervisor answers what the processor is asked.
enum pfc_hash_path pfc_hash_in_use(void);

#ifdef __cplusplus
}
#endif

#endif
