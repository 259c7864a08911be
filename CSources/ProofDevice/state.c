// SPDX-License-Identifier: Apache-2.0

#include "state.h"

#include <string.h>

#include "bytes.h"

#if PFD_KEEPS_STATE

enum {
  AT_VERSION = 2,
  AT_OPEN = 3,
  AT_AUTOLOCK = 4,
  AT_FIRMWARE = 6,
  AT_CHECK = 8,
  CHECK_BYTES = 16,
  STATE_VERSION = 1
};

_Static_assert(AT_CHECK + CHECK_BYTES == PFD_STATE_BYTES, "the check ends the state");

static void make_check(uint8_t check[32], const uint8_t state[PFD_STATE_BYTES]) {
  pfc_hash_once(check, "pfd1.state......", state, AT_CHECK);
}

void pfd_state_encode(uint8_t state[PFD_STATE_BYTES], const struct pfd_device *device) {
  static const uint8_t head[] = {'P', 'D', STATE_VERSION};
  uint8_t check[32];
  memcpy(state, head, sizeof head);
  state[AT_OPEN] = device->open;
  put16(state + AT_AUTOLOCK, device->autolock);
  put16(state + AT_FIRMWARE, device->firmware);
  make_check(check, state);
  memcpy(state + AT_CHECK, check, CHECK_BYTES);
}

int pfd_state_decode(struct pfd_device *device, const uint8_t state[PFD_STATE_BYTES], uint32_t seconds) {
  uint8_t check[32];
  make_check(check, state);
  if (memcmp(state, "PD", AT_VERSION) != 0 || state[AT_VERSION] != STATE_VERSION) return PFC_E_DAMAGED;
  if (!pfc_equal(check, state + AT_CHECK, CHECK_BYTES)) return PFC_E_DAMAGED;
  if (state[AT_OPEN] > 1 || get16(state + AT_AUTOLOCK) > PFD_AUTOLOCK_MAX) return PFC_E_DAMAGED;
  if (get16(state + AT_FIRMWARE) < PFD_FIRMWARE_FIRST) return PFC_E_DAMAGED;
  device->open = state[AT_OPEN];
  device->autolock = get16(state + AT_AUTOLOCK);
  device->firmware = get16(state + AT_FIRMWARE);
  device->opened = seconds;
  return PFC_OK;
}

#else
typedef int pfd_state_is_not_kept;
#endif
