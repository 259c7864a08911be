// SPDX-License-Identifier: Apache-2.0

/// Multiplies Ed25519's base point without libsodium's table of its multiples, which takes 30,720 bytes of flash for an
/// operation that the hardware does once, at its start. The linker puts this in the table's place (--wrap).
///
/// Constant in time, as the one it replaces: the same ladder that multiplies any other point.

#include "private/ed25519_ref10.h"

void __wrap_ge25519_scalarmult_base(ge25519_p3 *result, const unsigned char *scalar);

void __wrap_ge25519_scalarmult_base(ge25519_p3 *result, const unsigned char *scalar) {
  // y = 4/5, and the even one of the two x (RFC 8032, section 5.1).
  static const unsigned char encoded[32] = {0x58, 0x66, 0x66, 0x66, 0x66, 0x66, 0x66, 0x66, 0x66, 0x66, 0x66,
                                            0x66, 0x66, 0x66, 0x66, 0x66, 0x66, 0x66, 0x66, 0x66, 0x66, 0x66,
                                            0x66, 0x66, 0x66, 0x66, 0x66, 0x66, 0x66, 0x66, 0x66, 0x66};
  ge25519_p3 base;
  // A point that is a constant here decodes.
  (void)ge25519_frombytes(&base, encoded);
  ge25519_scalarmult(result, scalar, &base);
}
