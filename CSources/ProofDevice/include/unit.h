/// One unit of hardware: verifier, device and links. What a port drives.
///
///     pfd_unit_provision(...)                     once, in the factory, and after flash was damaged
///     pfd_unit_start(...)                         at each start
///     link = pfd_unit_connect(&unit)              a central came
///     pfd_unit_receive(&unit, link, pdu, size)    for each PDU
///     pfd_unit_flush(&unit, link)                 when the central takes PDUs again
///     pfd_unit_disconnect(&unit, link)            it went
///     pfd_unit_tick(&unit)                        now and then, where there is a clock
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

#ifdef __cplusplus
extern "C" {
#endif

#ifndef PFD_LINKS
#define PFD_LINKS 8  ///< Centrals at a time
#endif
#define PFD_PROVE_SECONDS 30  ///< A newcomer never takes the place of a link younger than this.
#define PFD_REPLY_BYTES 18

/// What the port provides.
struct pfd_port {
  void *context;
  int (*random)(void *context, uint8_t *bytes, size_t size);  ///< As `pfc_platform.random`
  uint32_t (*seconds)(void *context);                         ///< As `pfc_platform.seconds`; NULL without a clock
  struct pfd_flash flash;
  /// Sends a PDU to a central. 0 if it is on its way; anything else if not now.
  int (*send)(void *context, unsigned link, const uint8_t *pdu, size_t size);
  /// For the log. NULL if nobody listens.
  void (*event)(void *context, const struct pfd_event *event);
};

/// Secret: it holds the verifier and the hardware's key. Its fields are its own business.
struct pfd_unit {
  const struct pfd_port *port;
  struct pfc_hardware hardware;
  struct pfc_verifier verifier;
  struct pfd_device device;
  uint64_t connections;  ///< So far
  uint8_t used[PFD_LINKS];
  struct pfd_link links[PFD_LINKS];
  uint8_t replies[PFD_LINKS][PFD_REPLY_BYTES];
};

/// Writes identity and an empty ledger. `floor` and `counter` as `pfc_verifier_provision`. Also what recovers hardware
/// whose flash was damaged.
PFC_MUST_USE int pfd_unit_provision(const struct pfd_port *port, const struct pfc_hardware *hardware, uint64_t floor,
                                    uint64_t counter);

/// Starts. `port` is borrowed; `*unit` must not move afterwards. On failure the unit serves all the same, and refuses:
/// every message is answered *fault*. PFC_E_DAMAGED if identity or ledger must be provisioned anew.
PFC_MUST_USE int pfd_unit_start(struct pfd_unit *unit, const struct pfd_port *port);

/// Wipes everything. No link is open afterwards.
void pfd_unit_stop(struct pfd_unit *unit);

/// Which link must make room if another central is to be served: -1 while there is room, or when none has to. A link
/// that had a command accepted stays; of the others the eldest goes, where there is a clock not before
/// PFD_PROVE_SECONDS. So strangers who only hold links do not keep an owner out.
PFC_MUST_USE int pfd_unit_eldest(struct pfd_unit *unit);

/// A central came. Its link, or -1 if there is no room: ask `pfd_unit_eldest`, disconnect that one, try again.
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
