// SPDX-License-Identifier: Apache-2.0

#include "curve_count.h"

#include <sodium/crypto_scalarmult.h>
#include <sodium/crypto_scalarmult_curve25519.h>

#include "ProofCore.h"

#if PFC_SEALS_COMMANDS

unsigned curve_count;

int crypto_scalarmult(unsigned char *q, const unsigned char *n, const unsigned char *p) {
  curve_count++;
  return crypto_scalarmult_curve25519(q, n, p);
}

int crypto_scalarmult_base(unsigned char *q, const unsigned char *n) {
  curve_count++;
  return crypto_scalarmult_curve25519_base(q, n);
}

#endif
