// SPDX-License-Identifier: Apache-2.0

/// Events for the firmware's log. An event carries numbers, and ids that anyone on the link may know; it has no field
/// that could hold a secret.

#ifndef PFD_EVENT_H
#define PFD_EVENT_H

#include <stdint.h>

#include "ProofCore.h"

#ifndef PFD_TELLS_EVENTS
#define PFD_TELLS_EVENTS 1  ///< 0: the events have no reader, and their code is not linked.
#endif

#ifdef __cplusplus
extern "C" {
#endif

enum pfd_event_kind {
  PFD_EVENT_STARTED = 1,      ///< a: mode, b: slots used, number: epoch
  PFD_EVENT_REFUSES = 2,      ///< Not started, refuses everything. result: enum pfc_result
  PFD_EVENT_CONNECTED = 3,    ///< link
  PFD_EVENT_DISCONNECTED = 4, ///< link, number: PDUs refused on it
  PFD_EVENT_JUDGED = 5,       ///< link, a: message type, b: verdict, or 0 for a challenge or status, detail, id. Of
                              ///< verdicts that a stranger can cause: number, how many; told as EVICTED is
  PFD_EVENT_DONE = 6,         ///< link, a: class, b: enum pfd_done
  PFD_EVENT_REFUSED = 7,      ///< link, a: opcode, b: enum pfd_att_error, number: how many; told at 1, 10, 100, …
  PFD_EVENT_LOCKED = 8,       ///< The lock closed itself.
  PFD_EVENT_EVICTED = 9       ///< link: closed to make room for a newcomer, or overdue. number: how many in this
                              ///< hour; told for the first ten, the 100th, the 1000th, …
};

struct pfd_event {
  uint8_t kind;  ///< enum pfd_event_kind
  uint8_t link;
  uint8_t a;
  uint8_t b;
  int16_t result;
  uint16_t detail;
  uint64_t number;
  uint8_t id[4];  ///< First bytes of the instance id, zeros if the message names none
  /// First bytes of the hardware's id. With `message` this is the reference that app and backend log as well.
  uint8_t hardware[4];
  uint8_t message[4];  ///< The counter's low 32 bits, or the first bytes of the token's digest
};

#ifdef __cplusplus
}
#endif

#endif
