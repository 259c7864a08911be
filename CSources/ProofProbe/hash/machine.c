// SPDX-License-Identifier: Apache-2.0

#include "hash/machine.h"

#include "hash/kernel.h"

#if PFP_HAVE_X86_KERNELS

#include <cpuid.h>
#include <stdint.h>

// Intel 64 and IA-32 Architectures Software Developer's Manual, volume 1, sections 14.3 and 15.2: the instructions are
// usable only if the operating system saves the registers, which XCR0 tells and which OSXSAVE allows to ask.
#define XCR0_YMM 0x06u   ///< SSE and AVX state
#define XCR0_ZMM 0xe6u   ///< and opmask, upper halves, upper sixteen registers

static bool saved(uint32_t state) {
  unsigned a, b, c, d;
  uint32_t low, high;
  if (!__get_cpuid(1, &a, &b, &c, &d) || (c & bit_OSXSAVE) == 0) return false;
  __asm__ volatile("xgetbv" : "=a"(low), "=d"(high) : "c"(0));
  return (low & state) == state;
}

static bool has(uint32_t feature) {
  unsigned a, b, c, d;
  return __get_cpuid_count(7, 0, &a, &b, &c, &d) && (b & feature) == feature;
}

bool pfp_machine_has_x4(void) { return saved(XCR0_YMM) && has(bit_AVX2); }

bool pfp_machine_has_x8(void) { return saved(XCR0_ZMM) && has(bit_AVX512F); }

#else

bool pfp_machine_has_x4(void) { return false; }

bool pfp_machine_has_x8(void) { return false; }

#endif
