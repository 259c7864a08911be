// SPDX-License-Identifier: Apache-2.0

/// One central's link: PDUs in, whole messages up, answers down, PDUs out.
///
/// Bounded whatever the other side does: one message on its way in, one response and one answer on their way out.
/// While anything is on its way out nothing new is taken: a request then breaks the rule of one outstanding request
/// and ends the link, a write command is dropped, as the standard allows. A port should not read from a peer while
/// `pfd_link_is_sending`, so that a slow peer slows itself alone.

#ifndef PFD_LINK_H
#define PFD_LINK_H

#include <stddef.h>
#include <stdint.h>

#include "ProofCore.h"
#include "att.h"
#include "gatt.h"

#ifdef __cplusplus
extern "C" {
#endif

#ifndef PFD_LINKS
#define PFD_LINKS 8  ///< Centrals at a time
#endif
/// The longest value that can be read: a CHALLENGE, or the capabilities.
#define PFD_VALUE_MAX (PFD_ANSWERS_SEALED ? 72 : 40)
/// The longest PDU that is sent: no longer than an MTU, and no packet is longer than a discovery's answer.
#define PFD_OUT_MAX (PFD_MTU_MAX < PFD_DISCOVERY_MAX ? PFD_MTU_MAX : PFD_DISCOVERY_MAX)

struct pfd_link;

/// Functions that a link calls in the hardware behind it.
struct pfd_link_host {
  /// Judges a whole message and fills the reply. The outcome comes cleared. A LOG is the only reply that does not
  /// stand in the outcome: it takes the place of the message in the link's reassembler, and `reply_size` is its size.
  void (*message)(void *context, struct pfd_link *link, uint8_t type, const uint8_t *bytes, size_t size,
                  struct pfc_outcome *outcome);
  /// Fills a readable characteristic's value, but for both challenges', which are asked for as messages. Its size.
  size_t (*read)(void *context, struct pfd_link *link, uint16_t handle, uint8_t value[PFD_VALUE_MAX]);
  /// Sends one PDU. 0 if it is on its way; anything else if not now: the link then keeps it.
  int (*send)(void *context, struct pfd_link *link, const uint8_t *pdu, size_t size);
  /// For the log: a PDU was refused with this `pfd_att_error`.
  void (*refused)(void *context, struct pfd_link *link, uint8_t opcode, uint8_t error);
};

/// One central. Owned by the caller; all its fields are the link's own business but those below `session`.
struct pfd_link {
  const struct pfd_link_host *host;
  void *context;  ///< The host's
  uint16_t mtu;
  uint8_t mtu_exchanged;
  uint8_t cccd[2];  ///< Challenge, verdict: 1 if subscribed
  uint16_t value_handle;  ///< Handle of the value that was read last; 0 for none
  uint16_t value_size;
  uint8_t value[PFD_VALUE_MAX];
  uint16_t out_size;  ///< Size of the response or the notification that waits to be sent; 0: none does
  uint8_t out[PFD_OUT_MAX];
  uint16_t reply_handle;  ///< Where the answer is notified; 0: no answer is on its way
  uint8_t reply[PFC_REPLY_MAX];
  struct pfc_fragmenter fragmenter;
  struct pfc_reassembler reassembler;

  struct pfc_session session;
#if PFD_CARRIES_LOG
  uint8_t may_ask;    ///< 1 from the first accepted command on: the link may ask for the log
  uint8_t logs_left;  ///< So many LOGs until the next accepted command
#endif
  uint32_t since;    ///< Seconds when the link began, or when its last command was accepted
  uint32_t refused;  ///< PDUs and fragments that were not taken
#if PFD_LINKS > 1
  uint32_t began;    ///< Seconds when the link began
  uint64_t proved;   ///< Number of its last accepted command, counted over all links; 0 while it has proved nothing
  uint8_t instance[PFC_ID_BYTES];  ///< Instance of that command
#endif
};

enum pfd_link_state {
  PFD_LINK_OPEN = 0,
  PFD_LINK_CLOSE = 1  ///< The peer broke a rule that the standard answers with a disconnection.
};

/// `host` is borrowed; its functions are called with `context`.
void pfd_link_open(struct pfd_link *link, const struct pfd_link_host *host, void *context);

/// Takes one PDU and sends what can be sent.
PFC_MUST_USE enum pfd_link_state pfd_link_receive(struct pfd_link *link, const uint8_t *pdu, size_t size);

/// Sends what waits. Call it when the peer takes PDUs again.
void pfd_link_flush(struct pfd_link *link);

/// 1 while something waits to be sent.
PFC_MUST_USE int pfd_link_is_sending(const struct pfd_link *link);

/// Kills the challenge, forgets what waits, and wipes all.
void pfd_link_close(struct pfd_link *link);

#ifdef __cplusplus
}
#endif

#endif
