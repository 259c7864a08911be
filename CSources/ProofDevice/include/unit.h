// SPDX-License-Identifier: Apache-2.0

/// One unit of hardware: verifier, device and links. What a port drives.
///
///     pfd_unit_provision(...)                     once, in the factory, and after flash was damaged
///     pfd_unit_provision_log(...)                 then, where the hardware keeps a log
///     pfd_unit_start(...)                         at each start
///     pfd_unit_restore(&unit, state)              then, where a state is stored
///     pfd_unit_seal(&unit)                        then, where the hardware answers sealed commands
///     pfd_unit_keep_channels(&unit)               then, where it also opens channels
///     pfd_unit_has_room(&unit)                    whether a central that waits can be served now
///     link = pfd_unit_yield(&unit)                the link to disconnect first, if it is full
///     link = pfd_unit_connect(&unit)              a central came
///     pfd_unit_receive(&unit, link, pdu, size)    for each PDU
///     pfd_unit_flush(&unit, link)                 when the central takes PDUs again
///     pfd_unit_disconnect(&unit, link)            it went
///     pfd_unit_tick(&unit)                        now and then, where there is a clock or commands are sealed
///
/// One caller at a time. All memory is in `struct pfd_unit`.

#ifndef PFD_UNIT_H
#define PFD_UNIT_H

#include "ProofCore.h"
#include "device.h"
#include "event.h"
#include "flash.h"
#include "identity.h"
#include "link.h"
#include "state.h"

#ifdef __cplusplus
extern "C" {
#endif

#define PFD_PROVE_SECONDS 2   ///< A link younger than this is not closed for a newcomer.
#define PFD_KEPT_LINKS (PFD_LINKS / 2)  ///< At most so many proved links are kept. All others are open to newcomers.
#define PFD_IDLE_SECONDS 30   ///< A proved link is kept for so long after its last accepted command.
#define PFD_ALONE_SECONDS 4   ///< Limit of `pfd_unit_is_overdue`
#define PFD_TALLY_SECONDS 3600  ///< Counts of refused messages start again after so long, where there is a clock.
#define PFD_REPLY_BYTES 18
#define PFD_LOGS_MAX 16  ///< LOGs that a link may ask for after each accepted command.

/// Functions that the port provides.
struct pfd_port {
  void *context;
  int (*random)(void *context, uint8_t *bytes, size_t size);  ///< As `pfc_platform.random`
  uint32_t (*seconds)(void *context);                         ///< As `pfc_platform.seconds`; NULL without a clock
  struct pfd_flash flash;
  /// Sends a PDU to a central. 0 if it is on its way; anything else if not now.
  int (*send)(void *context, unsigned link, const uint8_t *pdu, size_t size);
  /// For the log. NULL if the log has no reader.
  void (*event)(void *context, const struct pfd_event *event);
#if PFD_KEEPS_STATE
  /// Stores the device's state in the place of the one before, as a whole: a power cut leaves one of the two. 0 once
  /// it is durable; otherwise the device goes on with the state before. Called only when the state has changed. NULL:
  /// the state is lost with the power.
  int (*keep)(void *context, const uint8_t state[PFD_STATE_BYTES]);
#endif
};

/// Secret: it holds the verifier and the hardware's key. Its fields are its own business.
struct pfd_unit {
  const struct pfd_port *port;
  struct pfc_hardware hardware;
  struct pfc_verifier verifier;
#if PFC_KEEPS_LOG
  struct pfc_log_flash log_flash;
  struct pfc_log_ring log;  ///< In use if the port's flash has pages for it
#endif
  struct pfd_device device;
#if PFD_ANSWERS_SEALED
  uint8_t seals;      ///< 1: a key for sealed commands is made ahead
#endif
  uint64_t accepted;  ///< Commands since the start
  uint8_t used[PFD_LINKS];
#if PFD_TELLS_EVENTS
  uint32_t tally_since;  ///< Seconds when the counts below started
  uint32_t evicted;
  uint16_t judged[PFC_VERDICT_FAULT + 1];  ///< By verdict, of those that a stranger can cause
#endif
  struct pfd_link links[PFD_LINKS];
  uint8_t replies[PFD_LINKS][PFD_REPLY_BYTES];
};

/// Writes identity and an empty ledger, and where the port has pages for them, empty records of loans. `epoch`, `floor`
/// and `counter` as `pfc_verifier_provision`. Also what recovers hardware whose flash was damaged.
PFC_MUST_USE int pfd_unit_provision(const struct pfd_port *port, const struct pfc_hardware *hardware, uint64_t epoch,
                                    uint64_t floor, uint64_t counter);

#if PFC_KEEPS_LOG
/// Begins an empty log (`pfc_log_ring_format`) in the flash that the port sets aside for it. Provisioning alone leaves
/// the log as it is. A new secret key makes it unreadable: begin a new one then. PFC_E_ARGUMENT, PFC_E_STORAGE.
PFC_MUST_USE int pfd_unit_provision_log(const struct pfd_port *port, const struct pfc_hardware *hardware,
                                        uint64_t number, const uint8_t key[PFC_LOG_KEY_BYTES]);
#endif

/// Starts. `port` is borrowed; `*unit` must not move afterwards. A unit that failed to start still serves: it answers
/// every message with *fault*. PFC_E_DAMAGED if identity, ledger or log must be provisioned anew.
PFC_MUST_USE int pfd_unit_start(struct pfd_unit *unit, const struct pfd_port *port);

#if PFD_KEEPS_STATE
/// Gives the device the state that `keep` stored, after `pfd_unit_start` and before the first link. PFC_E_DAMAGED as
/// `pfd_state_decode`.
PFC_MUST_USE int pfd_unit_restore(struct pfd_unit *unit, const uint8_t state[PFD_STATE_BYTES]);
#endif

#if PFD_ANSWERS_SEALED
/// Has the hardware answer sealed commands, and makes the key for the first one. `pfd_unit_tick` makes the next ones:
/// call it after each PDU, or at least each second, because who asks meanwhile is told to wait. Answers as
/// `pfc_verifier_prepare`.
PFC_MUST_USE int pfd_unit_seal(struct pfd_unit *unit);
#endif

#if PFD_ANSWERS_SEALED && PFC_CHANNEL
/// Has the hardware open channels. Answers as `pfc_verifier_keep_channels`.
PFC_MUST_USE int pfd_unit_keep_channels(struct pfd_unit *unit);
#endif

/// Wipes everything. No link is open afterwards.
void pfd_unit_stop(struct pfd_unit *unit);

// Admission. A link is *proved* from its first accepted command on, until another link of the same instance has one
// accepted. A link is *kept* while it is younger than PFD_PROVE_SECONDS, or while it is one of the PFD_KEPT_LINKS that
// had a command accepted last and is not idle for PFD_IDLE_SECONDS. Any other link may be closed for a newcomer.
// On hardware without a clock, unproved links are never kept, and proved links are never idle.

#if PFD_LINKS > 1
/// 1 if another central can be served now: a link is free, or one is not kept. While it is 0, a port lets newcomers
/// wait in the order in which they came. At least PFD_LINKS - PFD_KEPT_LINKS links serve a newcomer each
/// PFD_PROVE_SECONDS.
PFC_MUST_USE int pfd_unit_has_room(const struct pfd_unit *unit);

/// Draws the link to disconnect before `pfd_unit_connect` from those that are not kept. The draw is random, so that a
/// stranger who times his connections cannot choose whose link ends. -1 if a link is free, or all are kept.
PFC_MUST_USE int pfd_unit_yield(struct pfd_unit *unit);
#endif

/// 1 if this link had no command accepted for PFD_ALONE_SECONDS: since the last one, or since it began. For a port that
/// serves one central and does not see who waits: it disconnects such a link, of which the log is told here. Always 0
/// without a clock.
PFC_MUST_USE int pfd_unit_is_overdue(struct pfd_unit *unit, unsigned link);

/// A central came. Its link, or -1 if none is free.
PFC_MUST_USE int pfd_unit_connect(struct pfd_unit *unit);
PFC_MUST_USE enum pfd_link_state pfd_unit_receive(struct pfd_unit *unit, unsigned link, const uint8_t *pdu,
                                                  size_t size);
void pfd_unit_flush(struct pfd_unit *unit, unsigned link);
/// 1 while something waits to be sent to this central: do not read from it.
PFC_MUST_USE int pfd_unit_is_sending(const struct pfd_unit *unit, unsigned link);
void pfd_unit_disconnect(struct pfd_unit *unit, unsigned link);
void pfd_unit_tick(struct pfd_unit *unit);

#ifdef __cplusplus
}
#endif

#endif
