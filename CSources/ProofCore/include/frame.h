// SPDX-License-Identifier: Apache-2.0

/// Messages in packets of PFC_PACKET_MIN to PFC_PACKET_MAX bytes (docs/SPEC.md, section 11).
///
/// A fragment is a head of two bytes and a piece of the message; the first one also tells the message's length, and a
/// check of two bytes follows the message's last byte. The check finds radio errors, not attackers.
///
/// Reassembly is bounded: one message in flight, one buffer, no timer. A packet that cannot be right whatever came
/// before (unknown type, a length its type never has, an empty middle) is refused without touching the state.

#ifndef PFC_FRAME_H
#define PFC_FRAME_H

#include <stddef.h>
#include <stdint.h>

#include "message.h"
#include "result.h"
#include "wire.h"

#ifdef __cplusplus
extern "C" {
#endif

/// A message on its way out. The message's bytes are borrowed until the last fragment is taken.
struct pfc_fragmenter {
  const uint8_t *message;
  uint16_t size;
  uint16_t offset;  ///< Bytes of message and check already sent
  uint16_t check;
  uint16_t packet_size;
  uint8_t type;
  uint8_t index;
  uint8_t done;
};

/// PFC_E_ARGUMENT if the type does not take this size or `packet_size` is out of range.
PFC_MUST_USE int pfc_fragment_init(struct pfc_fragmenter *fragmenter, uint8_t type, const uint8_t *message,
                                   size_t size, size_t packet_size);

/// Writes the next fragment, at most `packet_size` bytes, and returns its length; 0 when all were taken.
size_t pfc_fragment_next(struct pfc_fragmenter *fragmenter, uint8_t *packet);

/// How many packets a message of `size` bytes takes; 0 if it cannot be sent.
size_t pfc_fragment_count(uint8_t type, size_t size, size_t packet_size);

/// A message on its way in. Owned by the caller, one for each link and direction.
struct pfc_reassembler {
  uint8_t type;       ///< Type of the message in flight, or of the one just completed
  uint16_t expected;  ///< Index of the next fragment; 0: nothing in flight
  uint16_t size;      ///< Size of the message
  uint16_t filled;    ///< Bytes taken, of message and check
  uint8_t bytes[PFC_MESSAGE_MAX + PFC_FRAME_CHECK_BYTES];
};

/// Waits for a first fragment. Call it at each connection.
void pfc_reassemble_init(struct pfc_reassembler *reassembler);

/// Result of feeding one packet to a frame.
enum pfc_frame_result {
  PFC_FRAME_MORE = 0,      ///< Taken; the message is not complete.
  PFC_FRAME_COMPLETE = 1,  ///< Taken; `bytes`, `size` and `type` hold the message until the next call.
  PFC_FRAME_REPEATED = 2,  ///< A fragment already taken; ignored.
  PFC_FRAME_GARBAGE = -1,  ///< Cannot be right; ignored, the message in flight is unharmed.
  PFC_FRAME_LOST = -2      ///< A fragment is missing or the check fails; the message in flight is given up.
};

/// Takes one packet. A first fragment always begins anew.
PFC_MUST_USE enum pfc_frame_result pfc_reassemble(struct pfc_reassembler *reassembler, const uint8_t *packet,
                                                  size_t size);

#ifdef __cplusplus
}
#endif

#endif
