// SPDX-License-Identifier: Apache-2.0

/// The profile `full`: the hardware opens tokens and orders itself. docs/FIRMWARE.md, section 3.

#ifndef PROFILE_FULL_H
#define PROFILE_FULL_H

#define PFC_OPENS_TOKENS 1
#define PFC_SLOTS 2       ///< Instances served
#define PFD_LINKS 1       ///< Centrals at a time: a serial line carries one
#define PFD_MTU_MAX 247u  ///< Longest PDU in a radio's packet of 251 bytes
#define PFD_TELLS_EVENTS 1
#define PFC_KEEPS_LOG 1
#define PFC_SEALS_COMMANDS 0  ///< The key, the longer answers and the stack of X25519 do not fit into 8 KiB of RAM.
#define PFC_GRANTS 1
#define PFD_KEEPS_STATE 0  ///< After a restart the lock is closed and its version is 1.

#endif
