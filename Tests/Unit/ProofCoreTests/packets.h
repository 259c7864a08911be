// SPDX-License-Identifier: Apache-2.0

/// Messages cut into packets, as the core does it and as docs/SPEC.md section 11 says it, for frame tests.

#ifndef PACKETS_H
#define PACKETS_H

#include <stddef.h>
#include <stdint.h>

#include "ProofCore.h"

enum { PACKETS_MAX = 24 };

struct packets {
  uint8_t bytes[PACKETS_MAX][PFC_PACKET_MAX];
  size_t sizes[PACKETS_MAX];
  size_t count;
};

/// A message type with one size it may have.
struct shape {
  uint8_t type;
  size_t size;
};

/// Every type, with the sizes at the edges of what it may have.
extern const struct shape shapes[];
extern const size_t shape_count;

/// Fills a message of this shape; the same for the same seed.
void message_make(uint8_t *message, const struct shape *shape, uint64_t seed);

/// As the core cuts it.
void packets_cut(struct packets *packets, const struct shape *shape, const uint8_t *message, size_t packet_size);
/// As the specification cuts it, written anew.
void packets_specify(struct packets *packets, const struct shape *shape, const uint8_t *message, size_t packet_size);

uint16_t crc16(const uint8_t *bytes, size_t size);

#endif
