// SPDX-License-Identifier: Apache-2.0

/// The profile `symmetric`: another system opens the tokens and writes the ledger's pages; here commands are judged,
/// with HMAC-SHA-256 and nothing else. docs/FIRMWARE.md, section 3.

#ifndef PROFILE_SYMMETRIC_H
#define PROFILE_SYMMETRIC_H

#define PFC_OPENS_TOKENS 0
#define PFC_SLOTS 1
#define PFC_TELLS_DETAILS 0
#define PFC_COMMAND_MAX 16  ///< The device's longest command has 13 bytes.
#define PFD_LINKS 1
#define PFD_MTU_MAX 60u     ///< A command in two packets
#define PFD_TELLS_EVENTS 0
#define PFD_KEEPS_STATE 0
#define PFD_FINDS_ATTRIBUTES 0  ///< Its app knows the handles, or reads by type.

#endif
