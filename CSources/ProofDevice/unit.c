// SPDX-License-Identifier: Apache-2.0

#include "unit.h"

#include <string.h>

#include "bytes.h"

static uint32_t now(const struct pfd_unit *unit) {
  return unit->port->seconds != NULL ? unit->port->seconds(unit->port->context) : 0;
}

static unsigned index_of(const struct pfd_unit *unit, const struct pfd_link *link) {
  return (unsigned)(link - unit->links);
}

static void tell(const struct pfd_unit *unit, const struct pfd_event *event) {
  if (PFD_TELLS_EVENTS && unit->port->event != NULL) unit->port->event(unit->port->context, event);
}

// The log --------------------------------------------------------------------------------------------------------

#if PFD_TELLS_EVENTS
/// 1 for the first ten, the 100th, the 1000th …: a flood of messages must not become a flood of lines.
static int is_told(uint32_t count) {
  while (count >= 100 && count % 10 == 0) count /= 10;
  return count <= 10;
}

/// Starts all counts again once an hour, so that a flood does not silence the log for good.
static void refresh_tallies(struct pfd_unit *unit) {
  if (now(unit) - unit->tally_since < PFD_TALLY_SECONDS) return;
  unit->tally_since = now(unit);
  unit->evicted = 0;
  memset(unit->judged, 0, sizeof unit->judged);
}

/// Verdicts that no message gets without a proof or a tag made with the instance's keys; and challenges.
static int needs_keys(uint8_t verdict) {
  return verdict == PFC_VERDICT_NONE || verdict == PFC_VERDICT_ACCEPTED || verdict == PFC_VERDICT_ACCEPTED_DEVICE ||
         verdict == PFC_VERDICT_NOT_EXECUTED || verdict == PFC_VERDICT_INTEGRITY_DIFFERS ||
         verdict == PFC_VERDICT_NOT_PERMITTED || verdict > PFC_VERDICT_FAULT;
}
#endif

static void tell_judged(struct pfd_unit *unit, struct pfd_event *event) {
#if PFD_TELLS_EVENTS
  if (!needs_keys(event->b)) {
    uint16_t *count = &unit->judged[event->b];
    refresh_tallies(unit);
    if (*count == UINT16_MAX) return;
    event->number = ++*count;
    if (!is_told(*count)) return;
  }
#endif
  tell(unit, event);
}

static void tell_evicted(struct pfd_unit *unit, unsigned link) {
#if PFD_TELLS_EVENTS
  struct pfd_event event = {.kind = PFD_EVENT_EVICTED, .link = (uint8_t)link};
  refresh_tallies(unit);
  if (unit->evicted < UINT32_MAX) unit->evicted++;
  event.number = unit->evicted;
  if (is_told(unit->evicted)) tell(unit, &event);
#else
  (void)unit;
  (void)link;
#endif
}

// Calls from a link ----------------------------------------------------------------------------------------------

/// Stores the device's own answer for the central whose command was accepted on this link (docs/LINK.md, section 6).
static void note_reply(struct pfd_unit *unit, unsigned link, uint64_t counter, enum pfd_done done) {
  uint8_t *reply = unit->replies[link];
  put32(reply, (uint32_t)counter);
  put32(reply + 4, (uint32_t)(counter >> 32));
  reply[8] = (uint8_t)done;
  reply[9] = unit->device.open;
  put16(reply + 10, unit->device.autolock);
  put16(reply + 12, unit->device.firmware);
  put32(reply + 14, unit->device.done);
}

/// Has the port store the device's state if that differs from `before`. 0 if it is stored, or did not change.
static int keep_state(struct pfd_unit *unit, const struct pfd_device *before) {
#if PFD_KEEPS_STATE
  const struct pfd_device *device = &unit->device;
  uint8_t state[PFD_STATE_BYTES];
  if (unit->port->keep == NULL || (device->open == before->open && device->autolock == before->autolock &&
                                   device->firmware == before->firmware)) {
    return 0;
  }
  pfd_state_encode(state, device);
  return unit->port->keep(unit->port->context, state);
#else
  (void)unit;
  (void)before;
  return 0;
#endif
}

/// Does an accepted command. It asks again for what its caller asked for, as it stands in memory by now, so that one
/// skipped instruction does nothing (docs/SECURITY.md, "Fault injection").
static void do_command(struct pfd_unit *unit, unsigned link, const struct pfc_outcome *outcome) {
  const volatile uint32_t *execute = &outcome->execute;
  struct pfd_event event = {.kind = PFD_EVENT_DONE, .link = (uint8_t)link, .a = outcome->command_class};
  struct pfd_device before;
  enum pfd_done done;
  if (*execute != PFC_EXECUTE) return;
  before = unit->device;
  done = pfd_device_do(&unit->device, outcome->command_class, outcome->command, outcome->command_size, now(unit));
  // The state is durable before the reply tells it.
  if (keep_state(unit, &before) != 0) {
    unit->device = before;
    done = PFD_DONE_NOT_STORED;
  }
  note_reply(unit, link, outcome->counter, done);
  event.b = (uint8_t)done;
  tell(unit, &event);
}

// Asking for the log. Only a link that had a command accepted may ask, so that a stranger neither costs the lock work
// nor counts its entries. A LOG reads at most PFC_LOG_ENTRIES_MAX entries and writes nothing. It goes out packet by
// packet as its central takes them, and nothing else is taken from that central meanwhile.

#if PFD_CARRIES_LOG

/// Makes the LOG in the place of the LOG-ASK, and answers its size: 0 if flash does not answer. A profile with a
/// shorter buffer sends fewer entries.
static size_t make_log(const struct pfc_log_ring *ring, uint8_t *message, size_t capacity) {
  struct pfc_log_ask ask;
  uint8_t nonce[PFC_NONCE_BYTES];
  uint64_t first, left;
  uint8_t count = 0;
  size_t size = 0;
  int result;
  if (pfc_log_ask_decode(&ask, message, PFC_LOG_ASK_BYTES) != PFC_OK) return 0;
  memcpy(nonce, ask.nonce, sizeof nonce);
  first = ask.from < ring->oldest ? ring->oldest : ask.from;
  if (first > ring->log.next) first = ring->log.next;
  for (left = ring->log.next - first; left > count && count < PFC_LOG_ENTRIES_MAX; count++) {
    if (PFC_LOG_BYTES(count + 1u) > capacity) break;
    if (pfc_log_ring_read(ring, message + PFC_LOG_FIELDS_BYTES + (size_t)PFC_LOG_ENTRY_BYTES * count,
                          first + count) != PFC_OK) {
      return 0;
    }
  }
  result = pfc_log_message_make(message, capacity, &size, &ring->log, ring->oldest, first, count, nonce);
  return result == PFC_OK ? size : 0;
}

/// Answers a LOG-ASK that came whole on this link.
static void carry_log(struct pfd_unit *unit, struct pfd_link *link, struct pfc_outcome *outcome) {
  struct pfc_answer answer = {.verdict = PFC_VERDICT_NONE};
  if (!link->may_ask) {
    answer.verdict = PFC_VERDICT_NOT_PERMITTED;
    pfc_log_refuse(&unit->log.log, answer.verdict);
  } else if (link->logs_left == 0) {
    answer.verdict = PFC_VERDICT_BUSY;
  } else {
    // The buffer is as long as the longest message and its check.
    outcome->reply_size = make_log(&unit->log, link->reassembler.bytes, PFC_MESSAGE_MAX);
    outcome->reply_type = PFC_MESSAGE_LOG;
    link->logs_left--;
    if (outcome->reply_size == 0) answer.verdict = PFC_VERDICT_FAULT;
  }
  if (answer.verdict == PFC_VERDICT_NONE) return;
  outcome->verdict = answer.verdict;
  outcome->reply_type = PFC_MESSAGE_VERDICT;
  outcome->reply_size = PFC_VERDICT_MESSAGE_BYTES;
  pfc_answer_encode(outcome->reply, &answer);
}

#endif

/// The link of an accepted command is proved from now on; an earlier link of the same instance is not any more, so that
/// an instance has one kept link at a time.
static void note_proof(struct pfd_unit *unit, struct pfd_link *link, const struct pfc_outcome *outcome) {
#if PFD_LINKS > 1
  for (unsigned i = 0; i < PFD_LINKS; i++) {
    struct pfd_link *other = &unit->links[i];
    if (memcmp(other->instance, outcome->instance_id, sizeof other->instance) == 0) other->proved = 0;
  }
  memcpy(link->instance, outcome->instance_id, sizeof link->instance);
  link->proved = ++unit->accepted;
#else
  (void)outcome;
#endif
  link->since = now(unit);
#if PFD_CARRIES_LOG
  link->may_ask = 1;
  link->logs_left = PFD_LOGS_MAX;
#endif
}

/// Puts the message's reference into its event.
static void refer(struct pfd_event *event, const struct pfd_unit *unit, const uint8_t *bytes, size_t size,
                  const struct pfc_outcome *outcome) {
#if PFD_TELLS_EVENTS
  uint8_t digest[PFC_TOKEN_DIGEST_BYTES];
  // Hardware that did not start has no id to name.
  int is_sealed = outcome->reply_type == PFC_MESSAGE_SEALED_DOWN;
  if ((outcome->reply_type != PFC_MESSAGE_VERDICT && !is_sealed) || unit->verifier.hardware == NULL) return;
  memcpy(event->hardware, unit->verifier.hardware->id, sizeof event->hardware);
  // The counter of the challenge.
  memcpy(event->message, outcome->reply + (is_sealed ? 0 : 3), sizeof event->message);
  if (event->a == PFC_MESSAGE_TOKEN && size == PFC_TOKEN_BYTES) {
    pfc_token_digest(digest, bytes);
  } else if (PFC_GRANTS && event->a == PFC_MESSAGE_GRANT && size == PFC_GRANT_BYTES) {
    pfc_grant_digest(digest, bytes);
  } else {
    return;
  }
  memcpy(event->message, digest, sizeof event->message);
#else
  (void)event;
  (void)unit;
  (void)bytes;
  (void)size;
  (void)outcome;
#endif
}

static void judge(void *context, struct pfd_link *link, uint8_t type, const uint8_t *bytes, size_t size,
                  struct pfc_outcome *outcome) {
  struct pfd_unit *unit = context;
  unsigned index = index_of(unit, link);
  struct pfd_event event = {.kind = PFD_EVENT_JUDGED, .link = (uint8_t)index, .a = type};
#if PFD_CARRIES_LOG
  // Hardware that keeps no log, or did not start, has the verifier refuse it.
  if (type == PFC_MESSAGE_LOG_ASK && unit->verifier.ready && unit->verifier.log != NULL) {
    carry_log(unit, link, outcome);
  } else
#endif
  {
    pfc_verifier_receive(&unit->verifier, &link->session, type, bytes, size, outcome);
  }
  event.b = outcome->verdict;
  if (outcome->reply_type == PFC_MESSAGE_VERDICT) event.detail = get16(outcome->reply + 1);
#if PFC_SEALS_COMMANDS
  if (outcome->reply_type == PFC_MESSAGE_SEALED_DOWN) event.detail = outcome->sealed_detail;
#endif
  if (outcome->instance_id != NULL) memcpy(event.id, outcome->instance_id, sizeof event.id);
  refer(&event, unit, bytes, size, outcome);
  tell_judged(unit, &event);
  if (outcome->execute == PFC_EXECUTE) {
    note_proof(unit, link, outcome);
    do_command(unit, index, outcome);
  }
}

static size_t read_value(void *context, struct pfd_link *link, uint16_t handle, uint8_t value[PFD_VALUE_MAX]) {
  struct pfd_unit *unit = context;
  struct pfc_status status;
  if (handle == PFD_HANDLE_REPLY) {
    memcpy(value, unit->replies[index_of(unit, link)], PFD_REPLY_BYTES);
    return PFD_REPLY_BYTES;
  }
#if PFD_TELLS_CAPABILITIES
  if (handle == PFD_HANDLE_CAPABILITIES) {
    struct pfc_capabilities capabilities;
    pfc_verifier_capabilities(&unit->verifier, &capabilities);
    pfc_capabilities_encode(value, &capabilities);
    return PFC_CAPABILITIES_BYTES;
  }
#endif
  pfc_verifier_status(&unit->verifier, &status);
  pfc_status_encode(value, &status);
  return PFC_STATUS_BYTES;
}

static int send_pdu(void *context, struct pfd_link *link, const uint8_t *pdu, size_t size) {
  struct pfd_unit *unit = context;
  return unit->port->send(unit->port->context, index_of(unit, link), pdu, size);
}

static void note_refused(void *context, struct pfd_link *link, uint8_t opcode, uint8_t error) {
  struct pfd_unit *unit = context;
  struct pfd_event event = {.kind = PFD_EVENT_REFUSED, .a = opcode, .b = error, .number = link->refused};
  // A flood tells itself once for each power of ten.
  uint32_t rest = link->refused;
  while (rest >= 10 && rest % 10 == 0) rest /= 10;
  event.link = (uint8_t)index_of(unit, link);
  if (rest == 1) tell(unit, &event);
}

static const struct pfd_link_host host = {
    .message = judge, .read = read_value, .send = send_pdu, .refused = note_refused};

// Life -----------------------------------------------------------------------------------------------------------

static struct pfc_platform platform_of(const struct pfd_port *port) {
  struct pfc_platform platform = {.context = port->context,
                                  .random = port->random,
                                  .seconds = port->seconds,
                                  .storage = pfd_flash_storage(&port->flash)};
  return platform;
}

#if PFC_OPENS_TOKENS
/// Whether flash holds an identity with another secret key.
static int is_rekeyed(const struct pfd_port *port, const struct pfc_hardware *hardware) {
  struct pfc_hardware old;
  int rekeyed = pfd_identity_load(&old, &port->flash) == PFC_OK &&
                !pfc_equal(old.secret_key, hardware->secret_key, sizeof old.secret_key);
  pfc_wipe(&old, sizeof old);
  return rekeyed;
}

int pfd_unit_provision(const struct pfd_port *port, const struct pfc_hardware *hardware, uint64_t epoch,
                       uint64_t floor, uint64_t counter) {
  struct pfc_platform platform = platform_of(port);
  int result = pfc_hardware_check(hardware);
  // The identity first where its key is another: to the old key a record of which one copy is written over is the copy
  // before, and the past would come back; to the new key all that stands there is damaged.
  int rekeyed = result == PFC_OK && is_rekeyed(port, hardware);
  if (rekeyed) result = pfd_identity_save(hardware, &port->flash);
  // Otherwise the ledger: a new mode or a new issuer finds nothing of what the old one let in.
  if (result == PFC_OK) result = pfc_verifier_provision(hardware, &platform, epoch, floor, counter);
#if PFC_GRANTS
  // Loans behind the ledger: one that is cut off here is of an instance that holds no slot any more.
  if (result == PFC_OK && port->flash.grant_page != 0) {
    result = pfc_grants_format(&platform.storage, hardware->secret_key);
  }
#endif
  if (result == PFC_OK && !rekeyed) result = pfd_identity_save(hardware, &port->flash);
  return result;
}
#endif

#if PFC_KEEPS_LOG
int pfd_unit_provision_log(const struct pfd_port *port, const struct pfc_hardware *hardware, uint64_t number,
                           const uint8_t key[PFC_LOG_KEY_BYTES]) {
  struct pfc_log_flash flash = pfd_flash_log(&port->flash);
  return pfc_log_ring_format(&flash, hardware, number, key);
}
#endif

PFC_APART int pfd_unit_start(struct pfd_unit *unit, const struct pfd_port *port) {
  struct pfd_event event = {.kind = PFD_EVENT_REFUSES};
  struct pfc_platform platform;
  int result;
  memset(unit, 0, sizeof *unit);
  unit->port = port;
  pfd_device_init(&unit->device);
  platform = platform_of(port);
  result = pfd_identity_load(&unit->hardware, &unit->port->flash);
  if (result == PFC_OK) result = pfc_verifier_init(&unit->verifier, &unit->hardware, &platform);
#if PFC_GRANTS
  if (result == PFC_OK && port->flash.grant_page != 0) result = pfc_verifier_take_grants(&unit->verifier);
#endif
#if PFC_KEEPS_LOG
  unit->log_flash = pfd_flash_log(&port->flash);
  if (result == PFC_OK && unit->log_flash.pages != 0) {
    result = pfc_verifier_keep_log(&unit->verifier, &unit->log, &unit->log_flash);
  }
#endif
  if (PFD_TELLS_EVENTS && result == PFC_OK) {
    struct pfc_status status;
    pfc_verifier_status(&unit->verifier, &status);
    event.kind = PFD_EVENT_STARTED;
    event.a = status.mode;
    event.b = status.slots_used;
    event.number = status.epoch;
  }
  event.result = (int16_t)result;
  tell(unit, &event);
  return result;
}

#if PFD_KEEPS_STATE
int pfd_unit_restore(struct pfd_unit *unit, const uint8_t state[PFD_STATE_BYTES]) {
  return pfd_state_decode(&unit->device, state, now(unit));
}
#endif

#if PFD_ANSWERS_SEALED
int pfd_unit_seal(struct pfd_unit *unit) {
  unit->seals = 1;
  return pfc_verifier_prepare(&unit->verifier);
}
#endif

#if PFD_ANSWERS_SEALED && PFC_CHANNEL
int pfd_unit_keep_channels(struct pfd_unit *unit) { return pfc_verifier_keep_channels(&unit->verifier); }
#endif

void pfd_unit_stop(struct pfd_unit *unit) {
  pfc_verifier_wipe(&unit->verifier);
  pfc_wipe(unit, sizeof *unit);
}

// Links ----------------------------------------------------------------------------------------------------------

#if PFD_LINKS > 1

/// Whether a link is among the last PFD_KEPT_LINKS that had a command accepted.
static int is_recent(const struct pfd_unit *unit, const struct pfd_link *link) {
  unsigned later = 0;
  for (unsigned i = 0; i < PFD_LINKS; i++) later += unit->links[i].proved > link->proved;
  return later < PFD_KEPT_LINKS;
}

static int is_kept(const struct pfd_unit *unit, const struct pfd_link *link) {
  int has_clock = unit->port->seconds != NULL;
  if (has_clock && now(unit) - link->began < PFD_PROVE_SECONDS) return 1;
  if (link->proved == 0 || (has_clock && now(unit) - link->since >= PFD_IDLE_SECONDS)) return 0;
  return is_recent(unit, link);
}

int pfd_unit_has_room(const struct pfd_unit *unit) {
  for (unsigned i = 0; i < PFD_LINKS; i++) {
    if (!unit->used[i] || !is_kept(unit, &unit->links[i])) return 1;
  }
  return 0;
}

int pfd_unit_yield(struct pfd_unit *unit) {
  uint8_t open[PFD_LINKS];
  uint8_t draw = 0;
  unsigned count = 0;
  for (unsigned i = 0; i < PFD_LINKS; i++) {
    if (!unit->used[i]) return -1;
    if (!is_kept(unit, &unit->links[i])) open[count++] = (uint8_t)i;
  }
  if (count == 0) return -1;
  // A draw that fails leaves the first one: a guess is better than a lock that serves no newcomer.
  if (unit->port->random(unit->port->context, &draw, sizeof draw) != 0) draw = 0;
  tell_evicted(unit, open[draw % count]);
  return open[draw % count];
}

#endif

int pfd_unit_is_overdue(struct pfd_unit *unit, unsigned link) {
  if (unit->port->seconds == NULL || now(unit) - unit->links[link].since < PFD_ALONE_SECONDS) return 0;
  tell_evicted(unit, link);
  return 1;
}

int pfd_unit_connect(struct pfd_unit *unit) {
  for (unsigned i = 0; i < PFD_LINKS; i++) {
    struct pfd_event event = {.kind = PFD_EVENT_CONNECTED, .link = (uint8_t)i};
    if (unit->used[i]) continue;
    unit->used[i] = 1;
    pfd_link_open(&unit->links[i], &host, unit);
    unit->links[i].since = now(unit);
#if PFD_LINKS > 1
    unit->links[i].began = unit->links[i].since;
#endif
    tell(unit, &event);
    return (int)i;
  }
  return -1;
}

enum pfd_link_state pfd_unit_receive(struct pfd_unit *unit, unsigned link, const uint8_t *pdu, size_t size) {
  return pfd_link_receive(&unit->links[link], pdu, size);
}

void pfd_unit_flush(struct pfd_unit *unit, unsigned link) { pfd_link_flush(&unit->links[link]); }

int pfd_unit_is_sending(const struct pfd_unit *unit, unsigned link) { return pfd_link_is_sending(&unit->links[link]); }

void pfd_unit_disconnect(struct pfd_unit *unit, unsigned link) {
  struct pfd_event event = {.kind = PFD_EVENT_DISCONNECTED, .link = (uint8_t)link, .number = unit->links[link].refused};
  pfd_link_close(&unit->links[link]);
  memset(unit->replies[link], 0, PFD_REPLY_BYTES);
  unit->used[link] = 0;
  tell(unit, &event);
}

void pfd_unit_tick(struct pfd_unit *unit) {
  struct pfd_device before = unit->device;
  if (pfd_device_tick(&unit->device, now(unit))) {
    struct pfd_event event = {.kind = PFD_EVENT_LOCKED};
    // The lock stays closed if this fails. After a restart it is open, and autolock closes it again.
    int ignored = keep_state(unit, &before);
    (void)ignored;
    tell(unit, &event);
  }
#if PFD_ANSWERS_SEALED
  // A generator that fails is asked again at the next tick.
  if (unit->seals && pfc_verifier_prepare(&unit->verifier) != PFC_OK) return;
#endif
}
