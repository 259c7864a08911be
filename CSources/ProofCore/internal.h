// SPDX-License-Identifier: Apache-2.0

/// Shared by the core's sources and not installed: integers on the wire, and byte copies.

#ifndef PFC_INTERNAL_H
#define PFC_INTERNAL_H

#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include "wire.h"

/// Under the constant-time check alone: this value is public from here on although it came from secrets, because the
/// protocol tells it to the peer that asked. Nothing in any other build.
#ifdef PFC_CONSTANT_TIME_CHECK
#include <valgrind/memcheck.h>
#define PFC_DECLASSIFY(pointer, size) ((void)VALGRIND_MAKE_MEM_DEFINED((pointer), (size)))
#else
#define PFC_DECLASSIFY(pointer, size) ((void)0)
#endif

struct pfc_config;

/// 1 if every field is in its range: what `pfc_config_encode` takes, and `pfc_config_decode` gives.
int pfc_config_is_valid(const struct pfc_config *config);

static inline void pfc_put16(uint8_t *to, uint16_t value) {
  to[0] = (uint8_t)value;
  to[1] = (uint8_t)(value >> 8);
}

static inline void pfc_put32(uint8_t *to, uint32_t value) {
  pfc_put16(to, (uint16_t)value);
  pfc_put16(to + 2, (uint16_t)(value >> 16));
}

static inline void pfc_put64(uint8_t *to, uint64_t value) {
  pfc_put32(to, (uint32_t)value);
  pfc_put32(to + 4, (uint32_t)(value >> 32));
}

static inline uint16_t pfc_get16(const uint8_t *from) {
  return (uint16_t)(from[0] | (uint16_t)(from[1] << 8));
}

static inline uint32_t pfc_get32(const uint8_t *from) {
  return pfc_get16(from) | ((uint32_t)pfc_get16(from + 2) << 16);
}

static inline uint64_t pfc_get64(const uint8_t *from) {
  return pfc_get32(from) | ((uint64_t)pfc_get32(from + 4) << 32);
}

#endif
