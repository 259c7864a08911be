// SPDX-License-Identifier: Apache-2.0

#include "gatt.h"

#include <string.h>

#include "att.h"
#include "bytes.h"
#include "message.h"

enum {
  TYPE_PRIMARY_SERVICE = 0x2800,
  TYPE_CHARACTERISTIC = 0x2803,
  TYPE_CCCD = 0x2902,

  REQUEST_BYTES = 7,  ///< With a type of 16 bits; no attribute type here is longer.
  INFORMATION_REQUEST_BYTES = 5,
  FORMAT_SHORT = 1,
  FORMAT_LONG = 2,
  SERVICE_ENTRY = 2 + 2 + PFD_UUID_BYTES,
  CHARACTERISTIC_ENTRY = 2 + 1 + 2 + PFD_UUID_BYTES,
  CCCD_ENTRY = 2 + 2
};

struct characteristic {
  uint8_t handle;  ///< Handle of the value
  uint8_t properties;
  uint8_t message;
};

enum { WRITES = PFD_PROPERTY_WRITE | PFD_PROPERTY_WRITE_COMMAND };

static const struct characteristic characteristics[] = {
    {PFD_HANDLE_TOKEN, WRITES, PFC_MESSAGE_TOKEN},
    {PFD_HANDLE_CHALLENGE, WRITES | PFD_PROPERTY_READ | PFD_PROPERTY_NOTIFY, PFC_MESSAGE_ASK},
    {PFD_HANDLE_COMMAND, WRITES, PFC_MESSAGE_COMMAND},
    {PFD_HANDLE_VERDICT, PFD_PROPERTY_NOTIFY, 0},
    {PFD_HANDLE_STATUS, PFD_PROPERTY_READ, 0},
    {PFD_HANDLE_ORDER, WRITES, PFC_MESSAGE_ORDER},
    {PFD_HANDLE_RECALL, WRITES, PFC_MESSAGE_RECALL},
    {PFD_HANDLE_REPLY, PFD_PROPERTY_READ, 0},
#if PFD_TELLS_CAPABILITIES
    {PFD_HANDLE_CAPABILITIES, PFD_PROPERTY_READ, 0},
#endif
#if PFD_CARRIES_LOG
    {PFD_HANDLE_LOG, WRITES, PFC_MESSAGE_LOG_ASK},
#endif
#if PFD_ANSWERS_SEALED
    {PFD_HANDLE_SEALED_CHALLENGE, PFD_PROPERTY_READ, 0},
#endif
#if PFD_TAKES_GRANTS
    {PFD_HANDLE_GRANT, WRITES, PFC_MESSAGE_GRANT},
#endif
};

enum { COUNT = sizeof characteristics / sizeof characteristics[0], FIRST_NUMBER = 2, GRANT_NUMBER = 13 };

_Static_assert(2 + 7 * CHARACTERISTIC_ENTRY == PFD_DISCOVERY_MAX, "a response's length byte bounds nothing smaller");

void pfd_uuid(uint8_t uuid[PFD_UUID_BYTES], uint16_t number) {
  static const uint8_t base[PFD_UUID_BYTES] = {0x54, 0x45, 0x32, 0x92, 0xdb, 0x07, 0xcd, 0xb2,
                                               0x44, 0x4f, 0xda, 0x3e, 0x00, 0x00, 0x19, 0xdb};
  memcpy(uuid, base, sizeof base);
  put16(uuid + 12, number);
}

/// The number in the UUID of a characteristic. That of grants may stand behind a gap.
static uint16_t number_of(unsigned index) {
  return (uint16_t)(PFD_TAKES_GRANTS && index == COUNT - 1 ? GRANT_NUMBER : FIRST_NUMBER + index);
}

static const struct characteristic *find(uint16_t handle) {
  for (unsigned i = 0; i < COUNT; i++) {
    if (characteristics[i].handle == handle) return &characteristics[i];
  }
  return NULL;
}

uint8_t pfd_gatt_properties(uint16_t handle) {
  const struct characteristic *found = find(handle);
  return found != NULL ? found->properties : 0;
}

uint8_t pfd_gatt_message_type(uint16_t handle) {
  const struct characteristic *found = find(handle);
  return found != NULL ? found->message : 0;
}

static size_t put_service(uint8_t *response, uint16_t first) {
  if (first > PFD_HANDLE_SERVICE) return 0;
  response[0] = PFD_ATT_GROUP_RESPONSE;
  response[1] = SERVICE_ENTRY;
  put16(response + 2, PFD_HANDLE_SERVICE);
  put16(response + 4, PFD_HANDLE_LAST);
  pfd_uuid(response + 6, 1);
  return 2 + SERVICE_ENTRY;
}

static size_t put_characteristics(uint8_t *response, uint16_t first, uint16_t last, size_t mtu) {
  size_t size = 2;
  size_t room = mtu < PFD_DISCOVERY_MAX ? mtu : PFD_DISCOVERY_MAX;
  for (unsigned i = 0; i < COUNT; i++) {
    const struct characteristic *each = &characteristics[i];
    uint16_t declaration = (uint16_t)(each->handle - 1);
    uint8_t *entry = response + size;
    if (declaration < first || declaration > last) continue;
    if (size + CHARACTERISTIC_ENTRY > room) break;
    put16(entry, declaration);
    entry[2] = each->properties;
    put16(entry + 3, each->handle);
    pfd_uuid(entry + 5, number_of(i));
    size += CHARACTERISTIC_ENTRY;
  }
  response[0] = PFD_ATT_TYPE_RESPONSE;
  response[1] = CHARACTERISTIC_ENTRY;
  return size > 2 ? size : 0;
}

static size_t put_descriptors(uint8_t *response, uint16_t first, uint16_t last, const uint8_t cccd[2]) {
  static const uint8_t handles[2] = {PFD_HANDLE_CHALLENGE_CCCD, PFD_HANDLE_VERDICT_CCCD};
  size_t size = 2;
  for (unsigned i = 0; i < 2; i++) {
    if (handles[i] < first || handles[i] > last) continue;
    put16(response + size, handles[i]);
    put16(response + size + 2, cccd[i]);
    size += CCCD_ENTRY;
  }
  response[0] = PFD_ATT_TYPE_RESPONSE;
  response[1] = CCCD_ENTRY;
  return size > 2 ? size : 0;
}

#if PFD_FINDS_ATTRIBUTES

/// The 16-bit type of the attribute at `handle`, or 0 for a characteristic's value, whose type is `uuid`.
static uint16_t type_of(uint16_t handle, uint8_t uuid[PFD_UUID_BYTES]) {
  if (handle == PFD_HANDLE_SERVICE) return TYPE_PRIMARY_SERVICE;
  if (handle == PFD_HANDLE_CHALLENGE_CCCD || handle == PFD_HANDLE_VERDICT_CCCD) return TYPE_CCCD;
  for (unsigned i = 0; i < COUNT; i++) {
    if (characteristics[i].handle == handle) pfd_uuid(uuid, number_of(i));
    if (characteristics[i].handle == handle) return 0;
  }
  return TYPE_CHARACTERISTIC;
}

/// Attributes from `first` on, as long as their types have one length.
static size_t put_information(uint8_t *response, uint16_t first, uint16_t last, size_t mtu) {
  size_t room = mtu < PFD_DISCOVERY_MAX ? mtu : PFD_DISCOVERY_MAX;
  size_t size = 2;
  if (last > PFD_HANDLE_LAST) last = PFD_HANDLE_LAST;
  response[0] = PFD_ATT_INFORMATION_RESPONSE;
  for (uint16_t handle = first; handle <= last; handle++) {
    uint8_t uuid[PFD_UUID_BYTES];
    uint16_t type = type_of(handle, uuid);
    uint8_t format = type != 0 ? FORMAT_SHORT : FORMAT_LONG;
    size_t type_bytes = type != 0 ? 2 : PFD_UUID_BYTES;
    if (size == 2) response[1] = format;
    if (response[1] != format || size + 2 + type_bytes > room) break;
    put16(response + size, handle);
    if (type != 0) put16(response + size + 2, type);
    if (type == 0) memcpy(response + size + 2, uuid, sizeof uuid);
    size += 2 + type_bytes;
  }
  return size > 2 ? size : 0;
}

/// The one service, if it is the one that is asked for.
static size_t put_found(uint8_t *response, const uint8_t *request, size_t size, uint16_t first) {
  uint8_t uuid[PFD_UUID_BYTES];
  pfd_uuid(uuid, 1);
  if (first > PFD_HANDLE_SERVICE || get16(request + 5) != TYPE_PRIMARY_SERVICE) return 0;
  if (size != REQUEST_BYTES + sizeof uuid || memcmp(request + REQUEST_BYTES, uuid, sizeof uuid) != 0) return 0;
  response[0] = PFD_ATT_FIND_RESPONSE;
  put16(response + 1, PFD_HANDLE_SERVICE);
  put16(response + 3, PFD_HANDLE_LAST);
  return 5;
}

static size_t find_attributes(uint8_t *response, uint8_t *error, const uint8_t *request, size_t size, size_t mtu) {
  int informs = request[0] == PFD_ATT_INFORMATION_REQUEST;
  uint16_t first, last;
  size_t written;
  *error = PFD_ATT_INVALID_PDU;
  if (informs ? size != INFORMATION_REQUEST_BYTES : size < REQUEST_BYTES) return 0;
  first = get16(request + 1);
  last = get16(request + 3);
  *error = PFD_ATT_INVALID_HANDLE;
  if (first == 0 || first > last) return 0;
  written = informs ? put_information(response, first, last, mtu) : put_found(response, request, size, first);
  *error = written == 0 ? PFD_ATT_NOT_FOUND : PFD_ATT_OK;
  return written;
}

#endif

size_t pfd_gatt_discover(uint8_t *response, uint8_t *error, const uint8_t *request, size_t size, size_t mtu,
                         const uint8_t cccd[2]) {
  uint16_t first, last, type;
  size_t written = 0;
#if PFD_FINDS_ATTRIBUTES
  if (request[0] == PFD_ATT_INFORMATION_REQUEST || request[0] == PFD_ATT_FIND_REQUEST) {
    return find_attributes(response, error, request, size, mtu);
  }
#endif
  *error = PFD_ATT_INVALID_PDU;
  if (size != REQUEST_BYTES && size != REQUEST_BYTES + PFD_UUID_BYTES - 2) return 0;
  first = get16(request + 1);
  last = get16(request + 3);
  *error = PFD_ATT_INVALID_HANDLE;
  if (first == 0 || first > last) return 0;
  type = size == REQUEST_BYTES ? get16(request + 5) : 0;
  if (request[0] == PFD_ATT_GROUP_REQUEST) {
    *error = PFD_ATT_UNSUPPORTED_GROUP;
    if (type != TYPE_PRIMARY_SERVICE) return 0;
    written = put_service(response, first);
  } else if (type == TYPE_CHARACTERISTIC) {
    written = put_characteristics(response, first, last, mtu);
  } else if (type == TYPE_CCCD) {
    written = put_descriptors(response, first, last, cccd);
  }
  *error = written == 0 ? PFD_ATT_NOT_FOUND : PFD_ATT_OK;
  return written;
}
