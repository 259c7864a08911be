// SPDX-License-Identifier: Apache-2.0

// The choice of a path. The byte below is the one variable of the core; it holds no secret.

#include "sha256.h"

#include "sha256_parts.h"

#if PFC_SHA256_NATIVE

#include <stdatomic.h>

#if defined(__x86_64__)

#include <cpuid.h>

enum { NATIVE = PFC_HASH_X86 };

/// Intel 64 and IA-32 Architectures Software Developer's Manual, volume 2, CPUID. The kernels use XMM registers alone,
/// which every system that runs 64-bit programs saves, so XCR0 need not be asked.
static int processor_has_it(void) {
  unsigned a, b, c, d;
  unsigned wanted = bit_SSSE3 | bit_SSE4_1;
  if (!__get_cpuid(1, &a, &b, &c, &d) || (c & wanted) != wanted) return 0;
  return __get_cpuid_count(7, 0, &a, &b, &c, &d) && (b & bit_SHA) != 0;
}

#else

#include <sys/auxv.h>

enum { NATIVE = PFC_HASH_ARM };

/// Linux, arch/arm64/include/uapi/asm/hwcap.h: HWCAP_SHA2.
static int processor_has_it(void) { return (getauxval(AT_HWCAP) & (1ul << 6)) != 0; }

#endif

/// An `enum pfc_hash_path`. Relaxed, because it orders nothing: a thread that reads an old 0 asks again and finds the
/// same answer.
static _Atomic unsigned char chosen;

#if defined(__aarch64__)
// Otherwise the compare and exchange is a function of the compiler's library, which keeps a variable of its own.
__attribute__((target("no-outline-atomics")))
#endif
enum pfc_hash_path pfc_hash_in_use(void) {
  unsigned char path = atomic_load_explicit(&chosen, memory_order_relaxed);
  unsigned char unknown = PFC_HASH_UNKNOWN;
  if (path == PFC_HASH_PORTABLE || path == NATIVE) return (enum pfc_hash_path)path;
  // A value that is none, as a fault may leave it: every path is right, and the processor is asked which it has.
  if (path != PFC_HASH_UNKNOWN) unknown = path;
  path = processor_has_it() && pfc_sha256_kernels_work() ? NATIVE : PFC_HASH_PORTABLE;
  // A choice that another thread made meanwhile stays: the exchange then writes it into `unknown`.
  return (enum pfc_hash_path)(atomic_compare_exchange_strong_explicit(&chosen, &unknown, path, memory_order_relaxed,
                                                                      memory_order_relaxed)
                                  ? path
                                  : unknown);
}

int pfc_sha256_is_native(void) {
  unsigned char path = atomic_load_explicit(&chosen, memory_order_relaxed);
  if (path == PFC_HASH_UNKNOWN || path > PFC_HASH_ARM) path = (unsigned char)pfc_hash_in_use();
  return path == NATIVE;
}

static int native_works(void) { return processor_has_it() && pfc_sha256_kernels_work() && pfc_sha256_trial(); }

int pfc_hash_use(enum pfc_hash_path path) {
  unsigned char choice = PFC_HASH_PORTABLE;
  if (path != PFC_HASH_PORTABLE && path != PFC_HASH_UNKNOWN) {
    if (path != (enum pfc_hash_path)NATIVE || !native_works()) return PFC_E_ARGUMENT;
    choice = NATIVE;
  } else if (path == PFC_HASH_UNKNOWN && native_works()) {
    choice = NATIVE;
  }
  atomic_store_explicit(&chosen, choice, memory_order_relaxed);
  return PFC_OK;
}

#else

enum pfc_hash_path pfc_hash_in_use(void) { return PFC_HASH_PORTABLE; }

int pfc_hash_use(enum pfc_hash_path path) {
  return path == PFC_HASH_PORTABLE || path == PFC_HASH_UNKNOWN ? PFC_OK : PFC_E_ARGUMENT;
}

#endif
