// SPDX-License-Identifier: Apache-2.0

#include "link.h"

#include <string.h>

#include "bytes.h"

enum {
  CHALLENGE = 0,
  VERDICT = 1,
  HEAD_BYTES = 3  ///< Opcode and handle, before a value that is written or notified
};

void pfd_link_open(struct pfd_link *link, const struct pfd_link_host *host, void *context) {
  memset(link, 0, sizeof *link);
  link->host = host;
  link->context = context;
  link->mtu = PFD_MTU_MIN;
  pfc_session_init(&link->session);
  pfc_reassemble_init(&link->reassembler);
}

void pfd_link_close(struct pfd_link *link) {
  pfc_session_close(&link->session);
  pfc_wipe(link, sizeof *link);
}

int pfd_link_is_sending(const struct pfd_link *link) {
  return link->out_size != 0 || link->reply_handle != 0;
}

// Out ------------------------------------------------------------------------------------------------------------

void pfd_link_flush(struct pfd_link *link) {
  const struct pfd_link_host *host = link->host;
  for (;;) {
    if (link->out_size == 0) {
      size_t size;
      if (link->reply_handle == 0) return;
      size = pfc_fragment_next(&link->fragmenter, link->out + HEAD_BYTES);
      if (size == 0) {
        // An answer that is told is told: a glitch that comes back here finds none (Tests/Process/Firmware/skip.py).
        memset(link->reply, 0, sizeof link->reply);
        if (PFD_CARRIES_LOG) memset(link->reassembler.bytes, 0, sizeof link->reassembler.bytes);
        link->reply_handle = 0;
        return;
      }
      link->out[0] = PFD_ATT_NOTIFICATION;
      put16(link->out + 1, link->reply_handle);
      link->out_size = (uint16_t)(HEAD_BYTES + size);
    }
    if (host->send(link->context, link, link->out, link->out_size) != 0) return;
    memset(link->out, 0, sizeof link->out);
    link->out_size = 0;
  }
}

static void respond(struct pfd_link *link, const uint8_t *bytes, size_t size) {
  memcpy(link->out, bytes, size);
  link->out_size = (uint16_t)size;
}

/// Whether a client may send this as a request. Responses, notifications and confirmations are not.
static int is_request(uint8_t opcode) {
  return (opcode & (PFD_ATT_COMMAND_FLAG | 1u)) == 0 && opcode != PFD_ATT_CONFIRMATION;
}

/// Whether what waits to be sent is the answer to a request: then there must be no other.
static int response_waits(const struct pfd_link *link) {
  return link->out_size != 0 && link->out[0] != PFD_ATT_NOTIFICATION;
}

/// Counts a refusal and, for a request, answers it.
static void refuse(struct pfd_link *link, uint8_t opcode, uint16_t handle, uint8_t error) {
  link->refused++;
  link->host->refused(link->context, link, opcode, error);
  if (is_request(opcode)) {
    uint8_t bytes[5] = {PFD_ATT_ERROR, opcode, 0, 0, error};
    put16(bytes + 2, handle);
    respond(link, bytes, sizeof bytes);
  }
}

static void notify(struct pfd_link *link, uint16_t handle, const struct pfc_outcome *outcome) {
  const uint8_t *reply = link->reply;
  // A LOG may be longer than the buffer of one PDU.
  size_t pdu = link->mtu < PFD_OUT_MAX ? link->mtu : PFD_OUT_MAX;
  if (PFD_CARRIES_LOG && outcome->reply_type == PFC_MESSAGE_LOG) {
    // Nothing is reassembled while anything waits to be sent, so the LOG stays where it is.
    reply = link->reassembler.bytes;
  } else {
    memcpy(link->reply, outcome->reply, outcome->reply_size);
  }
  if (pfc_fragment_init(&link->fragmenter, outcome->reply_type, reply, outcome->reply_size, pdu - HEAD_BYTES) ==
      PFC_OK) {
    link->reply_handle = handle;
  }
}

// Requests that ask ----------------------------------------------------------------------------------------------

static void exchange_mtu(struct pfd_link *link, const uint8_t *pdu, size_t size) {
  uint8_t bytes[3] = {PFD_ATT_MTU_RESPONSE, 0, 0};
  uint16_t theirs = size == 3 ? get16(pdu + 1) : 0;
  if (theirs < PFD_MTU_MIN) {
    refuse(link, pdu[0], 0, PFD_ATT_INVALID_PDU);
  } else if (link->mtu_exchanged) {
    refuse(link, pdu[0], 0, PFD_ATT_NOT_SUPPORTED);
  } else {
    link->mtu_exchanged = 1;
    link->mtu = theirs < PFD_MTU_MAX ? theirs : PFD_MTU_MAX;
    put16(bytes + 1, PFD_MTU_MAX);
    respond(link, bytes, sizeof bytes);
  }
}

static void discover(struct pfd_link *link, const uint8_t *pdu, size_t size) {
  uint8_t error;
  size_t written = pfd_gatt_discover(link->out, &error, pdu, size, link->mtu, link->cccd);
  link->out_size = (uint16_t)written;
  if (written == 0) refuse(link, pdu[0], size >= 3 ? get16(pdu + 1) : 0, error);
}

/// Asks for a challenge, and takes it as the value. 0, or an error.
static uint8_t take_challenge(struct pfd_link *link, uint8_t ask) {
  struct pfc_outcome outcome = {0};
  link->host->message(link->context, link, PFC_MESSAGE_ASK, &ask, sizeof ask, &outcome);
  if (outcome.verdict == PFC_VERDICT_TOO_NEW) return PFD_ATT_READ_NOT_PERMITTED;
  if (outcome.reply_type != PFC_MESSAGE_CHALLENGE) return PFD_ATT_UNLIKELY;
  memcpy(link->value, outcome.reply, outcome.reply_size);
  link->value_size = (uint16_t)outcome.reply_size;
  return PFD_ATT_OK;
}

/// Takes a new snapshot of a value: what Read Blob continues is what Read began. 0, or an error.
static uint8_t take_value(struct pfd_link *link, uint16_t handle) {
  const struct pfd_link_host *host = link->host;
  uint8_t error = PFD_ATT_OK;
  link->value_handle = 0;
  if (handle == PFD_HANDLE_CHALLENGE) {
    error = take_challenge(link, PFC_ASK_CHALLENGE);
  } else if (PFD_ANSWERS_SEALED && handle == PFD_HANDLE_SEALED_CHALLENGE) {
    error = take_challenge(link, PFC_ASK_SEALED);
  } else if (handle == PFD_HANDLE_CHALLENGE_CCCD || handle == PFD_HANDLE_VERDICT_CCCD) {
    put16(link->value, link->cccd[handle == PFD_HANDLE_VERDICT_CCCD]);
    link->value_size = 2;
  } else {
    link->value_size = (uint16_t)host->read(link->context, link, handle, link->value);
  }
  if (error == PFD_ATT_OK) link->value_handle = handle;
  return error;
}

static uint8_t may_read(uint16_t handle) {
  if (handle == 0 || handle > PFD_HANDLE_LAST) return PFD_ATT_INVALID_HANDLE;
  if (handle == PFD_HANDLE_CHALLENGE_CCCD || handle == PFD_HANDLE_VERDICT_CCCD) return PFD_ATT_OK;
  // Declarations are read by type, not by handle.
  return (pfd_gatt_properties(handle) & PFD_PROPERTY_READ) != 0 ? PFD_ATT_OK : PFD_ATT_READ_NOT_PERMITTED;
}

static void read_value(struct pfd_link *link, const uint8_t *pdu, size_t size) {
  int blob = pdu[0] == PFD_ATT_BLOB_REQUEST;
  uint16_t handle = size >= 3 ? get16(pdu + 1) : 0;
  uint16_t offset = 0;
  size_t piece;
  uint8_t error;
  if (size != (blob ? 5u : 3u)) {
    refuse(link, pdu[0], handle, PFD_ATT_INVALID_PDU);
    return;
  }
  if (blob) offset = get16(pdu + 3);
  error = may_read(handle);
  if (error == PFD_ATT_OK && offset == 0) error = take_value(link, handle);
  if (error == PFD_ATT_OK && (link->value_handle != handle || offset > link->value_size)) {
    error = PFD_ATT_INVALID_OFFSET;
  }
  if (error != PFD_ATT_OK) {
    refuse(link, pdu[0], handle, error);
    return;
  }
  piece = (size_t)(link->value_size - offset);
  if (piece > link->mtu - 1u) piece = link->mtu - 1u;
  link->out[0] = blob ? PFD_ATT_BLOB_RESPONSE : PFD_ATT_READ_RESPONSE;
  memcpy(link->out + 1, link->value + offset, piece);
  link->out_size = (uint16_t)(1 + piece);
}

// Writes ---------------------------------------------------------------------------------------------------------

static uint8_t subscribe(struct pfd_link *link, unsigned which, const uint8_t *value, size_t size) {
  if (size != 2) return PFD_ATT_INVALID_LENGTH;
  if (get16(value) > 1) return PFD_ATT_VALUE_NOT_ALLOWED;
  link->cccd[which] = value[0];
  return PFD_ATT_OK;
}

/// Whether messages of this type are written here. Commands of a channel come where COMMAND does.
static int takes_type(uint16_t handle, uint8_t type) {
  if (PFD_ANSWERS_SEALED && PFC_CHANNEL && handle == PFD_HANDLE_COMMAND && type == PFC_MESSAGE_SEALED_UP) return 1;
  return type == pfd_gatt_message_type(handle);
}

static uint8_t take_fragment(struct pfd_link *link, uint16_t handle, const uint8_t *value, size_t size) {
  const struct pfd_link_host *host = link->host;
  const struct pfc_reassembler *whole = &link->reassembler;
  // A glitch that leaves the judgement out finds no answer that was given before (Tests/Process/Firmware/skip.py).
  struct pfc_outcome outcome = {0};
  int asks = handle == PFD_HANDLE_CHALLENGE;
  enum pfc_frame_result result = PFC_FRAME_GARBAGE;
  // Do not judge a message if its answer could not be sent: the central has not subscribed.
  if (!link->cccd[asks ? CHALLENGE : VERDICT]) return PFD_ATT_NOT_SUBSCRIBED;
  if (size > 0 && takes_type(handle, value[0] & 0x0Fu)) {
    result = pfc_reassemble(&link->reassembler, value, size);
  }
  if (result == PFC_FRAME_GARBAGE) return PFD_ATT_NOT_A_FRAGMENT;
  if (result == PFC_FRAME_LOST) return PFD_ATT_FRAGMENT_LOST;
  if (result == PFC_FRAME_COMPLETE) {
    host->message(link->context, link, whole->type, whole->bytes, whole->size, &outcome);
    notify(link, asks ? PFD_HANDLE_CHALLENGE : PFD_HANDLE_VERDICT, &outcome);
  }
  return PFD_ATT_OK;
}

static void write_value(struct pfd_link *link, const uint8_t *pdu, size_t size) {
  static const uint8_t done = PFD_ATT_WRITE_RESPONSE;
  uint16_t handle = size >= HEAD_BYTES ? get16(pdu + 1) : 0;
  const uint8_t *value = pdu + HEAD_BYTES;
  uint8_t error;
  if (size < HEAD_BYTES) {
    error = PFD_ATT_INVALID_PDU;
  } else if (handle == 0 || handle > PFD_HANDLE_LAST) {
    error = PFD_ATT_INVALID_HANDLE;
  } else if (handle == PFD_HANDLE_CHALLENGE_CCCD || handle == PFD_HANDLE_VERDICT_CCCD) {
    error = subscribe(link, handle == PFD_HANDLE_VERDICT_CCCD, value, size - HEAD_BYTES);
  } else if ((pfd_gatt_properties(handle) & PFD_PROPERTY_WRITE) == 0) {
    error = PFD_ATT_WRITE_NOT_PERMITTED;
  } else {
    error = take_fragment(link, handle, value, size - HEAD_BYTES);
  }
  if (error != PFD_ATT_OK) {
    refuse(link, pdu[0], handle, error);
  } else if (pdu[0] == PFD_ATT_WRITE_REQUEST) {
    respond(link, &done, sizeof done);
  }
}

// All ------------------------------------------------------------------------------------------------------------

enum pfd_link_state pfd_link_receive(struct pfd_link *link, const uint8_t *pdu, size_t size) {
  if (size == 0) return PFD_LINK_OPEN;
  if (pfd_link_is_sending(link)) {
    if (is_request(pdu[0]) && response_waits(link)) return PFD_LINK_CLOSE;
    // An answer on its way in several notifications is no open request: it goes first, if it can. So one buffer is
    // enough for what is sent: nothing is made while anything waits.
    pfd_link_flush(link);
    if (pfd_link_is_sending(link)) {
      link->refused++;
      return is_request(pdu[0]) ? PFD_LINK_CLOSE : PFD_LINK_OPEN;
    }
  }
  if (size > link->mtu) {
    // Nothing longer than the MTU can come over a radio that keeps to it.
    refuse(link, pdu[0], 0, PFD_ATT_INVALID_PDU);
  } else {
    switch (pdu[0]) {
      case PFD_ATT_MTU_REQUEST:
        exchange_mtu(link, pdu, size);
        break;
#if PFD_FINDS_ATTRIBUTES
      case PFD_ATT_INFORMATION_REQUEST:
      case PFD_ATT_FIND_REQUEST:
#endif
      case PFD_ATT_TYPE_REQUEST:
      case PFD_ATT_GROUP_REQUEST:
        discover(link, pdu, size);
        break;
      case PFD_ATT_READ_REQUEST:
      case PFD_ATT_BLOB_REQUEST:
        read_value(link, pdu, size);
        break;
      case PFD_ATT_WRITE_REQUEST:
      case PFD_ATT_WRITE_COMMAND:
        write_value(link, pdu, size);
        break;
      default:
        refuse(link, pdu[0], 0, PFD_ATT_NOT_SUPPORTED);
        break;
    }
  }
  pfd_link_flush(link);
  return PFD_LINK_OPEN;
}
