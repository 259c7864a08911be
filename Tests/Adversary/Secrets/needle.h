// SPDX-License-Identifier: Apache-2.0

/// Secrets to look for, and where they are found: every window of 8 bytes of each secret, as it stands, in 32-bit words
/// of the other byte order, and as HMAC pads it. Needles live in memory of their own, which no search covers.

#ifndef NEEDLE_H
#define NEEDLE_H

#include <stddef.h>
#include <stdint.h>

#include "ProofCore.h"

enum { NEEDLE_WINDOW = 8 };

/// Forgets all needles.
void needle_clear(void);
/// A secret of at least NEEDLE_WINDOW bytes. `name` is kept, not copied.
void needle_add(const char *name, const void *bytes, size_t size);
/// A key of an HMAC: itself, its padded forms, and both midstates.
void needle_add_mac_key(const char *name, const uint8_t *key, size_t size);
/// Outputs of `pfc_derive`: the key, the extracted key as an HMAC key, and the derived key, as one too.
void needle_add_derived(const char *name, const char label[PFC_LABEL_BYTES + 1], const uint8_t *key, size_t key_size,
                        const void *info, size_t info_size);

/// The longest piece of a needle in `memory`. NULL if there is none.
struct needle_found {
  const char *name;
  const char *form;
  size_t size;    ///< Bytes of the piece, NEEDLE_WINDOW or more
  size_t offset;  ///< In `memory`
};
/// Finds up to `limit` needles, one result for each name, longest piece first seen. Returns how many.
size_t needle_search(struct needle_found *found, size_t limit, const uint8_t *memory, size_t size);
/// Calls back for each needle: its name, its form and its bytes.
void needle_each(void (*visit)(const char *name, const char *form, const uint8_t *bytes, size_t size));

#endif
