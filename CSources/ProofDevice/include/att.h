// SPDX-License-Identifier: Apache-2.0

/// The attribute protocol's PDUs, as far as the hardware speaks it (Bluetooth Core, Vol 3, Part F). Little-endian.

#ifndef PFD_ATT_H
#define PFD_ATT_H

#include "wire.h"

#define PFD_MTU_MIN 23u  ///< Also the MTU before an exchange
#ifndef PFD_MTU_MAX
#define PFD_MTU_MAX 517u  ///< A profile may take less: it is what the hardware answers to an exchange.
#endif

#ifndef PFD_FINDS_ATTRIBUTES
#define PFD_FINDS_ATTRIBUTES 1  ///< 0: Find Information and Find By Type Value are not supported.
#endif

#ifndef PFD_TELLS_CAPABILITIES
/// 1: the characteristic 000A is there. It tells which tokens are taken, so that only a build that opens some has it.
#define PFD_TELLS_CAPABILITIES PFC_OPENS_TOKENS
#endif

#ifndef PFD_CARRIES_LOG
/// 1: the characteristic 000B is there, at which apps ask for the log.
#define PFD_CARRIES_LOG (PFC_KEEPS_LOG && PFD_TELLS_CAPABILITIES)
#endif

#ifndef PFD_ANSWERS_SEALED
/// 1: the characteristic 000C is there, at which apps get the challenge for a sealed command. Its handle and its UUID
/// follow those of the log.
#define PFD_ANSWERS_SEALED (PFC_SEALS_COMMANDS && PFD_CARRIES_LOG)
#endif

#ifndef PFD_TAKES_GRANTS
/// 1: the characteristic 000D is there, to which apps write grants. Its handle follows those before it.
#define PFD_TAKES_GRANTS (PFC_GRANTS && PFD_TELLS_CAPABILITIES)
#endif

enum pfd_att_opcode {
  PFD_ATT_ERROR = 0x01,            ///< request opcode 1 ‖ handle 2 ‖ code 1
  PFD_ATT_MTU_REQUEST = 0x02,      ///< MTU 2
  PFD_ATT_MTU_RESPONSE = 0x03,     ///< MTU 2
  PFD_ATT_INFORMATION_REQUEST = 0x04,   ///< Find Information: first 2 ‖ last 2
  PFD_ATT_INFORMATION_RESPONSE = 0x05,  ///< format 1 ‖ (handle 2 ‖ type 2 or 16) …
  PFD_ATT_FIND_REQUEST = 0x06,     ///< Find By Type Value: first 2 ‖ last 2 ‖ type 2 ‖ value
  PFD_ATT_FIND_RESPONSE = 0x07,    ///< (handle 2 ‖ end 2) …
  PFD_ATT_TYPE_REQUEST = 0x08,     ///< Read By Type: first 2 ‖ last 2 ‖ type 2 or 16
  PFD_ATT_TYPE_RESPONSE = 0x09,    ///< length of each 1 ‖ (handle 2 ‖ value) …
  PFD_ATT_READ_REQUEST = 0x0A,     ///< handle 2
  PFD_ATT_READ_RESPONSE = 0x0B,    ///< value
  PFD_ATT_BLOB_REQUEST = 0x0C,     ///< Read Blob: handle 2 ‖ offset 2
  PFD_ATT_BLOB_RESPONSE = 0x0D,    ///< value from there on
  PFD_ATT_GROUP_REQUEST = 0x10,    ///< Read By Group Type: first 2 ‖ last 2 ‖ type 2 or 16
  PFD_ATT_GROUP_RESPONSE = 0x11,   ///< length of each 1 ‖ (handle 2 ‖ end 2 ‖ value) …
  PFD_ATT_WRITE_REQUEST = 0x12,    ///< handle 2 ‖ value
  PFD_ATT_WRITE_RESPONSE = 0x13,   ///< nothing
  PFD_ATT_NOTIFICATION = 0x1B,     ///< handle 2 ‖ value
  PFD_ATT_CONFIRMATION = 0x1E,     ///< Answer to an indication; the hardware sends none: ignored
  PFD_ATT_WRITE_COMMAND = 0x52,    ///< handle 2 ‖ value
  PFD_ATT_COMMAND_FLAG = 0x40      ///< An unknown opcode with this bit is ignored; one without is answered.
};

enum pfd_att_error {
  PFD_ATT_OK = 0x00,  ///< Never sent.
  PFD_ATT_INVALID_HANDLE = 0x01,
  PFD_ATT_READ_NOT_PERMITTED = 0x02,
  PFD_ATT_WRITE_NOT_PERMITTED = 0x03,
  PFD_ATT_INVALID_PDU = 0x04,
  PFD_ATT_NOT_SUPPORTED = 0x06,
  PFD_ATT_INVALID_OFFSET = 0x07,
  PFD_ATT_NOT_FOUND = 0x0A,
  PFD_ATT_INVALID_LENGTH = 0x0D,
  PFD_ATT_UNLIKELY = 0x0E,
  PFD_ATT_UNSUPPORTED_GROUP = 0x10,
  PFD_ATT_VALUE_NOT_ALLOWED = 0x13,
  PFD_ATT_NOT_A_FRAGMENT = 0x80,   ///< The packet cannot be right, or belongs to another characteristic.
  PFD_ATT_FRAGMENT_LOST = 0x81,    ///< A fragment is missing or the check fails: send the message anew.
  PFD_ATT_NOT_SUBSCRIBED = 0xFD    ///< The answer could not be told: write the descriptor first.
};

#endif
