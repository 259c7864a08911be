// SPDX-License-Identifier: Apache-2.0

/// ProofDevice: everything of the remote hardware that is not a port. C11, no operating system, no heap.
///
/// A port provides what stands in `struct pfd_port` (random bytes, a clock if there is one, flash, a way to send, an
/// ear for events) and calls the five functions of `unit.h`. docs/LINK.md says which bit stands where.
///
/// The headers stand in the order in which data flows: packets, attributes, link, identity and flash, the device that
/// does commands, what the firmware engineer reads, and the unit that holds it all.

#ifndef PROOFDEVICE_H
#define PROOFDEVICE_H

#include "att.h"
#include "gatt.h"
#include "link.h"
#include "flash.h"
#include "identity.h"
#include "device.h"
#include "state.h"
#include "event.h"
#include "unit.h"

#endif
