// SPDX-License-Identifier: Apache-2.0

/// The profile `large`: `full`, sealed commands and channels, for a board with 128 KiB of flash and 10 KiB of RAM. Its
/// flash pages are those of `full`, so that a board with `full` can be updated. docs/FIRMWARE.md, section 3.

#ifndef PROFILE_LARGE_H
#define PROFILE_LARGE_H

#define PFC_OPENS_TOKENS 1
#define PFC_SLOTS 2       ///< Instances served
#define PFD_LINKS 1       ///< Centrals at a time: a serial line carries one
#define PFD_MTU_MAX 247u  ///< Longest PDU in a radio's packet of 251 bytes
#define PFD_TELLS_EVENTS 1
#define PFC_KEEPS_LOG 1
#define PFC_SEALS_COMMANDS 1
#define PFC_CHANNEL 1
#define PFC_GRANTS 1
#define PFD_KEEPS_STATE 0  ///< After a restart the lock is closed and its version is 1.

#endif
