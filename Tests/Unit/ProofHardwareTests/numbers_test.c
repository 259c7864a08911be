// SPDX-License-Identifier: Apache-2.0

/// Numbers of the link and of the device are those of docs/LINK.md, written out.

#include "ProofDevice.h"
#include "hardware_suites.h"

/// docs/LINK.md, section 2.
static void pdus_have_their_numbers(void) {
  static const struct number numbers[] = {
      {PFD_MTU_MIN, 23}, {PFD_MTU_MAX, 517}, {PFD_ATT_ERROR, 0x01}, {PFD_ATT_MTU_REQUEST, 0x02},
      {PFD_ATT_MTU_RESPONSE, 0x03}, {PFD_ATT_INFORMATION_REQUEST, 0x04}, {PFD_ATT_INFORMATION_RESPONSE, 0x05},
      {PFD_ATT_FIND_REQUEST, 0x06}, {PFD_ATT_FIND_RESPONSE, 0x07}, {PFD_ATT_TYPE_REQUEST, 0x08},
      {PFD_ATT_TYPE_RESPONSE, 0x09}, {PFD_ATT_READ_REQUEST, 0x0A}, {PFD_ATT_READ_RESPONSE, 0x0B},
      {PFD_ATT_BLOB_REQUEST, 0x0C}, {PFD_ATT_BLOB_RESPONSE, 0x0D}, {PFD_ATT_GROUP_REQUEST, 0x10},
      {PFD_ATT_GROUP_RESPONSE, 0x11}, {PFD_ATT_WRITE_REQUEST, 0x12}, {PFD_ATT_WRITE_RESPONSE, 0x13},
      {PFD_ATT_NOTIFICATION, 0x1B}, {PFD_ATT_CONFIRMATION, 0x1E}, {PFD_ATT_WRITE_COMMAND, 0x52},
      {PFD_ATT_COMMAND_FLAG, 0x40}, {PFD_ATT_OK, 0}, {PFD_ATT_INVALID_HANDLE, 0x01},
      {PFD_ATT_READ_NOT_PERMITTED, 0x02}, {PFD_ATT_WRITE_NOT_PERMITTED, 0x03}, {PFD_ATT_INVALID_PDU, 0x04},
      {PFD_ATT_NOT_SUPPORTED, 0x06}, {PFD_ATT_INVALID_OFFSET, 0x07}, {PFD_ATT_NOT_FOUND, 0x0A},
      {PFD_ATT_INVALID_LENGTH, 0x0D}, {PFD_ATT_UNLIKELY, 0x0E}, {PFD_ATT_UNSUPPORTED_GROUP, 0x10},
      {PFD_ATT_VALUE_NOT_ALLOWED, 0x13}, {PFD_ATT_NOT_A_FRAGMENT, 0x80}, {PFD_ATT_FRAGMENT_LOST, 0x81},
      {PFD_ATT_NOT_SUBSCRIBED, 0xFD},
  };
  check_numbers(numbers, sizeof numbers / sizeof numbers[0]);
}

/// docs/LINK.md, section 3.
static void attributes_have_their_numbers(void) {
  static const struct number numbers[] = {
      {PFD_HANDLE_SERVICE, 0x01}, {PFD_HANDLE_TOKEN, 0x03}, {PFD_HANDLE_CHALLENGE, 0x05},
      {PFD_HANDLE_CHALLENGE_CCCD, 0x06}, {PFD_HANDLE_COMMAND, 0x08}, {PFD_HANDLE_VERDICT, 0x0A},
      {PFD_HANDLE_VERDICT_CCCD, 0x0B}, {PFD_HANDLE_STATUS, 0x0D}, {PFD_HANDLE_ORDER, 0x0F},
      {PFD_HANDLE_RECALL, 0x11}, {PFD_HANDLE_REPLY, 0x13}, {PFD_HANDLE_CAPABILITIES, 0x15}, {PFD_HANDLE_LOG, 0x17},
      {PFD_HANDLE_SEALED_CHALLENGE, 0x19}, {PFD_HANDLE_GRANT, 0x1B}, {PFD_HANDLE_LAST, 0x1B},
      {PFD_PROPERTY_READ, 2}, {PFD_PROPERTY_WRITE_COMMAND, 4}, {PFD_PROPERTY_WRITE, 8}, {PFD_PROPERTY_NOTIFY, 16},
      {PFD_UUID_BYTES, 16}, {PFD_DISCOVERY_MAX, 149}, {PFD_VALUE_MAX, 72},
  };
  check_numbers(numbers, sizeof numbers / sizeof numbers[0]);
}

/// docs/LINK.md, sections 6 and 7.
static void device_has_its_numbers(void) {
  static const struct number numbers[] = {
      {PFD_AUTOLOCK_MAX, 3600}, {PFD_FIRMWARE_FIRST, 1}, {PFD_CLASS_STATUS, 0}, {PFD_CLASS_UNLOCK, 1},
      {PFD_CLASS_SETTINGS, 2}, {PFD_CLASS_FIRMWARE, 3}, {PFD_DONE_NOTHING, 0}, {PFD_DONE, 1}, {PFD_DONE_UNKNOWN, 2},
      {PFD_DONE_RANGE, 3}, {PFD_DONE_NOT_STORED, 4}, {PFD_REPLY_BYTES, 18}, {PFD_LINKS, 8}, {PFD_KEPT_LINKS, 4},
      {PFD_PROVE_SECONDS, 2}, {PFD_IDLE_SECONDS, 30}, {PFD_ALONE_SECONDS, 4}, {PFD_TALLY_SECONDS, 3600},
      {PFD_LOGS_MAX, 16}, {PFD_LINK_OPEN, 0}, {PFD_LINK_CLOSE, 1},
  };
  check_numbers(numbers, sizeof numbers / sizeof numbers[0]);
}

/// docs/LINK.md, section 8: the state, the flash and the events that tools read.
static void storage_has_its_numbers(void) {
  static const struct number numbers[] = {
      {PFD_ENTRY_BYTES, 232}, {PFD_ENTRY_BYTES_1, 224}, {PFD_PAGE_BYTES_MIN, 256}, {PFD_FLASH_IDENTITY_PAGES, 2},
      {PFD_FLASH_PAGES, 20}, {PFD_GRANT_PAGES, 16}, {PFD_IDENTITY_BYTES, 232}, {PFD_STATE_BYTES, 24},
      {PFD_EVENT_STARTED, 1}, {PFD_EVENT_REFUSES, 2}, {PFD_EVENT_CONNECTED, 3}, {PFD_EVENT_DISCONNECTED, 4},
      {PFD_EVENT_JUDGED, 5}, {PFD_EVENT_DONE, 6}, {PFD_EVENT_REFUSED, 7}, {PFD_EVENT_LOCKED, 8},
      {PFD_EVENT_EVICTED, 9},
  };
  check_numbers(numbers, sizeof numbers / sizeof numbers[0]);
}

static const struct test tests[] = {
    TEST("PDUs and errors have the numbers of the page", pdus_have_their_numbers),
    TEST("attributes have the handles of the page", attributes_have_their_numbers),
    TEST("the device and its links have the numbers of the page", device_has_its_numbers),
    TEST("state, flash and events have their numbers", storage_has_its_numbers),
};

const struct suite numbers_suite = SUITE("numbers", tests);
