// SPDX-License-Identifier: Apache-2.0

/// The record that provisioning writes: the hardware's identity and the issuers it trusts. Two copies, flash pages 0
/// and 1.
///
/// | offset | size | field |
/// |---|---|---|
/// | 0 | 2 | magic `PI` |
/// | 2 | 1 | version, 2 |
/// | 3 | 1 | mode |
/// | 4 | 1 | literal tokens allowed: 0 or 1 |
/// | 5 | 1 | number of issuers, 1 to 4 |
/// | 6 | 2 | a challenge's life in seconds, 0 without limit |
/// | 8 | 16 | hardware id |
/// | 24 | 32 | secret key |
/// | 56 | 128 | issuers' public keys, zeros where there is none |
/// | 184 | 32 | factory secret, zeros where there is none |
/// | 216 | 16 | SHA256("pfd1.identity..." ‖ all bytes before)[0..16): finds damage, not attackers |
///
/// Version 1 has no factory secret, and its check stands at 184. It is read where PFC_READS_VERSION_1 says so, and
/// stays as it is until the hardware is provisioned again.

#ifndef PFD_IDENTITY_H
#define PFD_IDENTITY_H

#include "flash.h"

#ifdef __cplusplus
extern "C" {
#endif

#define PFD_IDENTITY_BYTES 232

/// Loads the first intact copy and makes the public key of its secret key. PFC_E_DAMAGED if there is none;
/// PFC_E_STORAGE if flash does not answer. On failure `*hardware` is all zeros.
PFC_MUST_USE int pfd_identity_load(struct pfc_hardware *hardware, const struct pfd_flash *flash);

/// Writes both copies. PFC_E_ARGUMENT if `pfc_hardware_check` objects; PFC_E_STORAGE.
PFC_MUST_USE int pfd_identity_save(const struct pfc_hardware *hardware, const struct pfd_flash *flash);

#ifdef __cplusplus
}
#endif

#endif
