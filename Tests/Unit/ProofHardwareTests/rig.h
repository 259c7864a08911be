// SPDX-License-Identifier: Apache-2.0

/// A unit on flash in memory, with centrals that speak ATT to it and an issuer that makes its tokens.

#ifndef RIG_H
#define RIG_H

#include <stdbool.h>

#include "ProofDevice.h"
#include "harness.h"
#include "nor.h"

enum { RIG_QUEUE = 16, RIG_EVENTS = 10 };

/// PDUs sent to a central and not taken yet.
struct inbox {
  unsigned count;
  bool full;  ///< Takes nothing any more
  struct {
    uint8_t bytes[PFD_MTU_MAX];
    size_t size;
  } pdus[RIG_QUEUE];
};

struct rig {
  struct nor nor;
  struct dice dice;
  struct pfd_port port;
  struct pfd_unit unit;
  uint32_t seconds;
  struct inbox inboxes[PFD_LINKS];
  unsigned events[RIG_EVENTS];  ///< How many of each kind
  struct pfd_event event;       ///< The last
  struct pfc_hardware hardware;
  uint8_t signing_key[PFC_SIGNING_KEY_BYTES];
};

/// An app: its token's content, and what it did last.
struct owner {
  struct pfc_token token;
  uint8_t bytes[PFC_TOKEN_BYTES];
  uint8_t digest[PFC_TOKEN_DIGEST_BYTES];
  struct pfc_challenge challenge;
  uint8_t message[PFC_MESSAGE_MAX];
  size_t size;
  uint8_t nonce[PFC_NONCE_BYTES];
};

/// Blank flash, an identity to provision.
void rig_make(struct rig *rig, uint64_t seed, bool clock);
int rig_provision(struct rig *rig, uint64_t floor, uint64_t counter);
/// Starts, or starts again; every link is gone.
int rig_start(struct rig *rig);

/// Gives the unit one PDU. Checks that nothing is sent that is longer than the MTU.
enum pfd_link_state rig_write(struct rig *rig, unsigned link, const uint8_t *pdu, size_t size);
/// The same with opcode, handle, value.
enum pfd_link_state rig_put(struct rig *rig, unsigned link, uint8_t opcode, uint16_t handle, const void *value,
                            size_t size);
/// Takes the oldest PDU out of the inbox; 0 if there is none.
size_t rig_take(struct rig *rig, unsigned link, uint8_t pdu[PFD_MTU_MAX]);
/// Connects, exchanges the MTU unless it is 23, subscribes to both. The link.
unsigned rig_connect(struct rig *rig, uint16_t mtu);
/// A rig that has started, with one link.
unsigned rig_serve(struct rig *rig, uint64_t seed, uint16_t mtu);
/// Sends a PDU in hexadecimal, and compares the one answer with another; an empty one: there is none.
/// The PDU has memory of its own size, so that a sanitizer sees each read behind its end.
void rig_expect(struct rig *rig, unsigned link, const char *request, const char *response);
/// Sends a message by Write Commands and puts the answer together. Its type, 0 if there is none.
uint8_t rig_send(struct rig *rig, unsigned link, uint16_t handle, const uint8_t *message, size_t size,
                 struct pfc_reassembler *answer);
/// The same with a message of any type.
uint8_t rig_send_type(struct rig *rig, unsigned link, uint16_t handle, uint8_t sent, const uint8_t *message,
                      size_t size, struct pfc_reassembler *answer);
/// The same, and the verdict; 0 if the answer is none.
uint8_t rig_verdict(struct rig *rig, unsigned link, uint16_t handle, const uint8_t *message, size_t size);

/// Signs the token anew, after a change of its fields.
void owner_sign(struct owner *owner, const struct rig *rig);
void owner_make(struct owner *owner, const struct rig *rig, uint64_t seed, uint32_t generation, uint32_t uses);
uint8_t owner_present(struct owner *owner, struct rig *rig, unsigned link);
bool owner_ask(struct owner *owner, struct rig *rig, unsigned link);
void owner_prepare(struct owner *owner, const struct rig *rig, uint8_t class_, const char *command);
uint8_t owner_send(struct owner *owner, struct rig *rig, unsigned link);
/// Asks, prepares, sends.
uint8_t owner_do(struct owner *owner, struct rig *rig, unsigned link, uint8_t class_, const char *command);
uint8_t rig_order(struct rig *rig, unsigned link, uint8_t type, uint64_t issued, const struct owner *owner,
                  uint32_t generation);

/// A life of the hardware, to be cut by power.
struct life {
  const char *name;
  unsigned turns;      ///< Cuts in each operation
  void (*begin)(void); ///< Makes the rig anew
  void (*live)(void);
  void (*check)(void); ///< After power is back
};

/// Cuts a life in each of the flash operations that its last run had, and prints the count.
void rig_cut_each(struct rig *rig, const struct life *life);

#endif
