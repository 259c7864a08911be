// SPDX-License-Identifier: Apache-2.0

#define _GNU_SOURCE
#include "serve.h"

#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <string.h>
#include <sys/signalfd.h>
#include <unistd.h>

#include "flash_file.h"
#include "log.h"
#include "options.h"
#include "state_file.h"
#include "system.h"
#include "wire.h"

enum {
  AT_SIGNAL = 0,
  AT_DOOR = 1,
  AT_LINKS = 2,
  AT_WAITING = AT_LINKS + PFD_LINKS,
  POLLED = AT_WAITING + WIRE_WAITING,

  TICK_MILLISECONDS = 1000,
  WAIT_MILLISECONDS = 100  ///< While centrals wait for a link
};

// All the process needs, before the first central comes.
static struct pfd_unit unit;
static struct wire wire;
static struct state_file state;

static int send_pdu(void *context, unsigned link, const uint8_t *pdu, size_t size) {
  (void)context;
  return wire_send(&wire, link, pdu, size);
}

static void hear(void *context, const struct pfd_event *event) {
  (void)context;
  log_event(event);
}

static int keep(void *context, const uint8_t bytes[PFD_STATE_BYTES]) {
  (void)context;
  return state_file_keep(&state, bytes);
}

static void disconnect(unsigned link) {
  pfd_unit_disconnect(&unit, link);
  wire_detach(&wire, link);
}

/// Gives links to the centrals that wait, in the order in which they came, while there is room.
static void welcome(void) {
  while (wire.waiters > 0 && pfd_unit_has_room(&unit)) {
    int yielding = pfd_unit_yield(&unit);
    int descriptor = wire_next(&wire);
    int link;
    if (yielding >= 0) disconnect((unsigned)yielding);
    link = pfd_unit_connect(&unit);
    if (link < 0) {
      wire_refuse(&wire, descriptor);
    } else if (!wire_attach(&wire, (unsigned)link, descriptor)) {
      pfd_unit_disconnect(&unit, (unsigned)link);
    }
  }
}

/// FIFOs carry one central, and the next one cannot be seen while it waits: an overdue link ends.
static void end_overdue(void) {
  for (unsigned i = 0; i < PFD_LINKS && wire.path == NULL; i++) {
    if (wire.in[i] != WIRE_NONE && pfd_unit_is_overdue(&unit, i)) disconnect(i);
  }
}

/// Reads one PDU for each link and turn, so that a flood on one link does not make others wait.
static void attend(unsigned link, short happened) {
  uint8_t pdu[PFD_MTU_MAX];
  size_t size = 0;
  if (pfd_unit_is_sending(&unit, link)) {
    if ((happened & (POLLHUP | POLLERR)) != 0) {
      disconnect(link);
    } else if ((happened & POLLOUT) != 0) {
      pfd_unit_flush(&unit, link);
    }
    return;
  }
  switch (wire_receive(&wire, link, pdu, &size)) {
    case WIRE_PDU:
      if (pfd_unit_receive(&unit, link, pdu, size) == PFD_LINK_CLOSE) disconnect(link);
      break;
    case WIRE_END:
      disconnect(link);
      break;
    case WIRE_LATER:
      break;
  }
}

static void watch(struct pollfd polled[POLLED], int signals) {
  polled[AT_SIGNAL] = (struct pollfd){.fd = signals, .events = POLLIN};
  polled[AT_DOOR] = (struct pollfd){.fd = wire.waiters < WIRE_WAITING ? wire.door : WIRE_NONE, .events = POLLIN};
  for (unsigned i = 0; i < PFD_LINKS; i++) {
    int sending = wire.in[i] != WIRE_NONE && pfd_unit_is_sending(&unit, i);
    polled[AT_LINKS + i] =
        (struct pollfd){.fd = sending ? wire.out[i] : wire.in[i], .events = sending ? POLLOUT : POLLIN};
  }
  // Waiting centrals are not read. Their end is reported without being asked for.
  for (unsigned i = 0; i < WIRE_WAITING; i++) {
    polled[AT_WAITING + i] = (struct pollfd){.fd = i < wire.waiters ? wire.waiting[i] : WIRE_NONE};
  }
}

static int loop(int signals) {
  struct pollfd polled[POLLED];
  for (;;) {
    watch(polled, signals);
    if (poll(polled, POLLED, wire.waiters > 0 ? WAIT_MILLISECONDS : TICK_MILLISECONDS) < 0 && errno != EINTR) {
      log_line(LOG_ERROR, "poll: %s", system_error());
      return STATUS_FAILED;
    }
    if (polled[AT_SIGNAL].revents != 0) return STATUS_OK;
    // Links before waiting centrals before the door: none of those that come later was polled for.
    for (unsigned i = 0; i < PFD_LINKS; i++) {
      if (polled[AT_LINKS + i].revents != 0) attend(i, polled[AT_LINKS + i].revents);
    }
    for (unsigned i = WIRE_WAITING; i-- > 0;) {
      if ((polled[AT_WAITING + i].revents & (POLLHUP | POLLERR)) != 0) wire_forget(&wire, i);
    }
    if (polled[AT_DOOR].revents != 0) wire_queue(&wire);
    welcome();
    end_overdue();
    pfd_unit_tick(&unit);
  }
}

/// SIGTERM and SIGINT as something to read; a central that went must not end the process either.
static int open_signals(void) {
  sigset_t set;
  (void)signal(SIGPIPE, SIG_IGN);
  (void)sigemptyset(&set);
  (void)sigaddset(&set, SIGTERM);
  (void)sigaddset(&set, SIGINT);
  (void)sigprocmask(SIG_BLOCK, &set, NULL);
  return signalfd(-1, &set, SFD_CLOEXEC | SFD_NONBLOCK);
}

static int listen_and_loop(const struct options *options, int signals) {
  int status = wire_open(&wire, options);
  if (status == GO_ON) {
    log_line(LOG_INFO, "listening: %s", options->socket != NULL ? options->socket : options->fifo_in);
    status = loop(signals);
  }
  wire_close(&wire);
  return status;
}

int serve(const struct options *options, struct flash_file *flash) {
  struct pfd_port port = {.random = system_random,
                          .seconds = options->clock ? system_seconds : NULL,
                          .flash = flash->port,
                          .send = send_pdu,
                          .event = hear,
                          .keep = keep};
  int signals = open_signals();
  int status = STATUS_FAILED;
  if (signals < 0) {
    log_line(LOG_ERROR, "signalfd: %s", system_error());
  } else {
    // Hardware that cannot start still serves: it refuses, and says so.
    if (pfd_unit_start(&unit, &port) == PFC_OK) log_line(LOG_DEBUG, "%lu flash operations", flash->operations);
    if (options->seal && pfd_unit_seal(&unit) != PFC_OK) log_line(LOG_ERROR, "no key for sealed commands");
    if (options->channel && pfd_unit_keep_channels(&unit) != PFC_OK) log_line(LOG_ERROR, "no channels");
    status = state_file_open(&state, options->flash);
    if (status == GO_ON) status = state_file_load(&state, &unit);
    if (status == GO_ON) status = listen_and_loop(options, signals);
    state_file_close(&state);
    (void)close(signals);
  }
  log_line(LOG_INFO, "stopped after %lu flash operations, %lu erases", flash->operations, flash->erases);
  pfd_unit_stop(&unit);
  return status;
}
