// SPDX-License-Identifier: Apache-2.0

/// The measurement proof key of this SDK build, dissolved in generated code.
///
/// `sdk_key.c` is generated from 16 random bytes (`make sdk-key SDK_KEY=FILE`). Neither the key nor an HMAC state made
/// from it stands anywhere in it as contiguous bytes; it exists whole only inside a call of the core, on memory wiped
/// before the call returns. The one checked in is a development key: it is public, and marks everything it makes as
/// development mode. Link this into apps, never into hardware.

#ifndef PROOFKEY_H
#define PROOFKEY_H

#include "ProofCore.h"

#ifdef __cplusplus
extern "C" {
#endif

extern const struct pfc_key pfc_sdk_key;

#ifdef __cplusplus
}
#endif

#endif
