// SPDX-License-Identifier: Apache-2.0

/// The part of the device's state that outlives its power: lock, autolock and firmware version. The port stores it.
///
/// | offset | size | field |
/// |---|---|---|
/// | 0 | 2 | magic `PD` |
/// | 2 | 1 | version, 1 |
/// | 3 | 1 | 1 if the lock is open, otherwise 0 |
/// | 4 | 2 | autolock, seconds, 0 to 3600 |
/// | 6 | 2 | firmware version, 1 to 65535 |
/// | 8 | 16 | SHA256("pfd1.state......" ‖ all bytes before)[0..16): finds damage, not attackers |

#ifndef PFD_STATE_H
#define PFD_STATE_H

#include "ProofCore.h"
#include "device.h"

#ifndef PFD_KEEPS_STATE
#define PFD_KEEPS_STATE 1  ///< 0: the device starts with the factory's state each time, and this code is not linked.
#endif

#ifdef __cplusplus
extern "C" {
#endif

#define PFD_STATE_BYTES 24

/// Writes the state of a device.
void pfd_state_encode(uint8_t state[PFD_STATE_BYTES], const struct pfd_device *device);

/// Gives a device the state that was stored. Autolock counts from `seconds`, the time of the start, because the clock
/// does not run on without power. PFC_E_DAMAGED if the bytes are no state; `*device` is as it was then.
PFC_MUST_USE int pfd_state_decode(struct pfd_device *device, const uint8_t state[PFD_STATE_BYTES], uint32_t seconds);

#ifdef __cplusplus
}
#endif

#endif
