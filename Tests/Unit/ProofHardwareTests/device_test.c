// SPDX-License-Identifier: Apache-2.0

/// The device that does commands.

#include <string.h>

#include "ProofDevice.h"
#include "hardware_suites.h"

static enum pfd_done say(struct pfd_device *device, uint8_t class_, const char *command, uint32_t seconds) {
  return pfd_device_do(device, class_, (const uint8_t *)command, strlen(command), seconds);
}

static void knows_its_commands_and_no_others(void) {
  static const struct {
    uint8_t class_;
    const char *command;
    enum pfd_done done;
  } cases[] = {
      {0, "status", PFD_DONE},           {0, "open", PFD_DONE_UNKNOWN},        {0, "", PFD_DONE_UNKNOWN},
      {1, "open", PFD_DONE},             {1, "close", PFD_DONE},               {1, "opened", PFD_DONE_UNKNOWN},
      {1, "ope", PFD_DONE_UNKNOWN},      {2, "autolock 0", PFD_DONE},          {2, "autolock 3600", PFD_DONE},
      {2, "autolock 3601", PFD_DONE_RANGE}, {2, "autolock ", PFD_DONE_UNKNOWN}, {2, "autolock 01", PFD_DONE_UNKNOWN},
      {2, "autolock -1", PFD_DONE_UNKNOWN}, {2, "autolock 1x", PFD_DONE_UNKNOWN},
      {2, "autolock 100000", PFD_DONE_UNKNOWN}, {3, "install 65535", PFD_DONE}, {3, "install 65534", PFD_DONE_RANGE},
      {3, "install 65536", PFD_DONE_RANGE}, {4, "status", PFD_DONE_UNKNOWN},   {15, "open", PFD_DONE_UNKNOWN},
  };
  struct pfd_device device;
  uint32_t done = 0;
  pfd_device_init(&device);
  for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
    test_case("class %d, `%s`", cases[i].class_, cases[i].command);
    CHECK_NUMBER(say(&device, cases[i].class_, cases[i].command, 0), cases[i].done);
    if (cases[i].done == PFD_DONE) done++;
    CHECK_NUMBER(device.done, done);
  }
}

static void closes_when_its_time_is_over(void) {
  struct pfd_device device;
  pfd_device_init(&device);
  CHECK_NUMBER(say(&device, 1, "open", UINT32_MAX - 1), PFD_DONE);
  CHECK_NUMBER(pfd_device_tick(&device, UINT32_MAX), 0);
  CHECK_NUMBER(say(&device, 2, "autolock 5", UINT32_MAX), PFD_DONE);
  CHECK_NUMBER(pfd_device_tick(&device, 2), 0);
  CHECK_NUMBER(device.open, 1);
  CHECK_NUMBER(pfd_device_tick(&device, 3), 1);
  CHECK_NUMBER(device.open, 0);
  CHECK_NUMBER(pfd_device_tick(&device, 4), 0);
}

static const struct test tests[] = {
    TEST("it knows its commands and no others", knows_its_commands_and_no_others),
    TEST("the lock closes itself when its time is over, also past the clock's end", closes_when_its_time_is_over),
};

const struct suite device_suite = SUITE("device", tests);
