// SPDX-License-Identifier: Apache-2.0

/// Prints what must not be found of the SDK's key: secret, form and bytes in hexadecimal, one on a line. The only
/// program that prints it; its output is for key_search.py's ears alone and stays below .build.

#include <stdio.h>

#include "ProofKey.h"
#include "needle.h"

static void print(const char *name, const char *form, const uint8_t *bytes, size_t size) {
  printf("%s|%s|", name, form);
  for (size_t i = 0; i < size; i++) printf("%02x", bytes[i]);
  printf("\n");
}

int main(void) {
  uint8_t key[PFC_KEY_BYTES];
  pfc_sdk_key.load(key, pfc_sdk_key.context);
  needle_clear();
  needle_add_mac_key("MPK", key, sizeof key);
  needle_each(print);
  return 0;
}
