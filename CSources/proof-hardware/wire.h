// SPDX-License-Identifier: Apache-2.0

/// The pipe that stands for the radio: a Unix socket with datagrams, for many centrals, or a pair of FIFOs for one.

#ifndef WIRE_H
#define WIRE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "ProofDevice.h"

enum {
  WIRE_NONE = -1,
  WIRE_LENGTH_BYTES = 2,
  WIRE_WAITING = 16  ///< Centrals that may wait for a link. The kernel lets as many wait behind them.
};

struct options;

struct wire {
  const char *path;      ///< Path of the socket; NULL with FIFOs
  const char *fifo_in;
  const char *fifo_out;
  int door;              ///< The listening socket, or the FIFO that is read; WIRE_NONE if none
  int in[PFD_LINKS];     ///< Descriptors to read for each link; WIRE_NONE if there is no link
  int out[PFD_LINKS];
  unsigned waiters;
  int waiting[WIRE_WAITING];  ///< Centrals that came and have no link yet, the first to come first
  size_t filled;         ///< Bytes in `bytes` that came through the FIFO and are not a whole PDU yet
  uint8_t bytes[WIRE_LENGTH_BYTES + PFD_MTU_MAX];
};

enum wire_result {
  WIRE_PDU,    ///< A PDU was read.
  WIRE_LATER,  ///< Not now
  WIRE_END     ///< The central is gone, or sends what is no PDU.
};

/// GO_ON, or the status to end with.
int wire_open(struct wire *wire, const struct options *options);
void wire_close(struct wire *wire);

/// A central that waits at the door: its descriptor, or WIRE_NONE.
int wire_accept(struct wire *wire);

/// Takes centrals from the door into the queue, while there is room in it.
void wire_queue(struct wire *wire);
/// Takes the first central out of the queue: its descriptor, or WIRE_NONE.
int wire_next(struct wire *wire);
/// Forgets a waiting central that has gone.
void wire_forget(struct wire *wire, unsigned index);
/// Makes the descriptor that `wire_accept` gave a link's. False if it cannot be: it is closed then.
bool wire_attach(struct wire *wire, unsigned link, int descriptor);
/// Sends a central away.
void wire_refuse(struct wire *wire, int descriptor);
void wire_detach(struct wire *wire, unsigned link);

enum wire_result wire_receive(struct wire *wire, unsigned link, uint8_t pdu[PFD_MTU_MAX], size_t *size);
/// 0 if it is on its way, -1 if not now. What cannot be sent because the central is gone is on its way, too.
int wire_send(struct wire *wire, unsigned link, const uint8_t *pdu, size_t size);

#endif
