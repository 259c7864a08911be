// SPDX-License-Identifier: Apache-2.0

/// The attributes: one service, up to twelve characteristics, fixed handles (docs/LINK.md, section 3).

#ifndef PFD_GATT_H
#define PFD_GATT_H

#include <stddef.h>
#include <stdint.h>

#include "att.h"

#ifdef __cplusplus
extern "C" {
#endif

/// A characteristic's declaration stands one before its value, its descriptor (CCCD), if any, one after.
enum pfd_handle {
  PFD_HANDLE_SERVICE = 0x0001,
  PFD_HANDLE_TOKEN = 0x0003,
  PFD_HANDLE_CHALLENGE = 0x0005,
  PFD_HANDLE_CHALLENGE_CCCD = 0x0006,
  PFD_HANDLE_COMMAND = 0x0008,
  PFD_HANDLE_VERDICT = 0x000A,
  PFD_HANDLE_VERDICT_CCCD = 0x000B,
  PFD_HANDLE_STATUS = 0x000D,
  PFD_HANDLE_ORDER = 0x000F,
  PFD_HANDLE_RECALL = 0x0011,
  PFD_HANDLE_REPLY = 0x0013,
  PFD_HANDLE_CAPABILITIES = 0x0015,
  PFD_HANDLE_LOG = 0x0017,
  PFD_HANDLE_SEALED_CHALLENGE = 0x0019,
  PFD_HANDLE_BEFORE_GRANT = PFD_ANSWERS_SEALED       ? PFD_HANDLE_SEALED_CHALLENGE
                            : PFD_CARRIES_LOG        ? PFD_HANDLE_LOG
                            : PFD_TELLS_CAPABILITIES ? PFD_HANDLE_CAPABILITIES
                                                     : PFD_HANDLE_REPLY,
  PFD_HANDLE_GRANT = PFD_HANDLE_BEFORE_GRANT + 2,  ///< 0x001B where all others are there
  PFD_HANDLE_LAST = PFD_TAKES_GRANTS ? PFD_HANDLE_GRANT : PFD_HANDLE_BEFORE_GRANT
};

enum pfd_property {
  PFD_PROPERTY_READ = 0x02,
  PFD_PROPERTY_WRITE_COMMAND = 0x04,
  PFD_PROPERTY_WRITE = 0x08,
  PFD_PROPERTY_NOTIFY = 0x10
};

#define PFD_UUID_BYTES 16
#define PFD_DISCOVERY_MAX 149  ///< The longest answer to a discovery: seven characteristics.

/// The 128-bit UUID `db19NNNN-3eda-4f44-b2cd-07db92324554`, little-endian as on the wire. 1 is the service, 2 to 13
/// are the characteristics in the order of their handles.
void pfd_uuid(uint8_t uuid[PFD_UUID_BYTES], uint16_t number);

/// The properties of the characteristic whose value stands at `handle`; 0 if none does.
uint8_t pfd_gatt_properties(uint16_t handle);

/// The message type that may be written at `handle`, 0 if none.
uint8_t pfd_gatt_message_type(uint16_t handle);

/// Answers Read By Group Type and Read By Type, and where PFD_FINDS_ATTRIBUTES says so Find Information and Find By
/// Type Value (of the service, by its UUID): fills `response` with at most `mtu` bytes and returns its size, or 0
/// with the reason in `*error`. `cccd[0]` and `cccd[1]` are the descriptors' values.
size_t pfd_gatt_discover(uint8_t *response, uint8_t *error, const uint8_t *request, size_t size, size_t mtu,
                         const uint8_t cccd[2]);

#ifdef __cplusplus
}
#endif

#endif
