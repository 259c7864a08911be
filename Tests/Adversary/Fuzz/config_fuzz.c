// SPDX-License-Identifier: Apache-2.0

/// Configurations: raw bytes, bytes with a right tag, and structures on their way out.
///
/// Oracles: a second reading of docs/SPEC.md, section 5, gives the same answer; what decodes encodes to the same
/// bytes; what encodes decodes to the same structure; a refused configuration is all zeros.

#include <stdlib.h>

#include "fuzz.h"

enum { HEAD = 60, TAG = 16 };

static void tag_of(uint8_t tag[32], const uint8_t *mc, size_t size) {
  uint8_t key[32];
  struct pfc_mac mac;
  pfc_derive(key, PFC_LABEL_CONFIG_TAG, mc + 20, PFC_SALT_BYTES, NULL, 0);
  pfc_mac_init(&mac, key, sizeof key);
  pfc_mac_update(&mac, mc, size - TAG);
  pfc_mac_final(tag, &mac);
}

/// The ranges of section 5, read a second time.
static int in_range(const uint8_t *mc, size_t size) {
  size_t sources = mc[57], leaves = mc[58], groups = 0;
  int device = 0, app = 0, before = -1;
  if (mc[6] < 1 || mc[6] > 2 || mc[7] < 1 || mc[7] > 3 || mc[12] != mc[6]) return 0;
  if (fuzz_get32(mc + 8) == 0 || fuzz_get32(mc + 8) == UINT32_MAX) return 0;
  if (fuzz_all(mc + 20, PFC_SALT_BYTES, 0)) return 0;
  if (mc[56] < 16 || mc[56] > 50 || mc[59] != 0) return 0;
  if (sources < 1 || sources > 24 || leaves > 128) return 0;
  if (size != HEAD + 4 * sources + 4 * leaves + TAG) return 0;
  for (const uint8_t *source = mc + HEAD; source < mc + HEAD + 4 * sources; source += 4) {
    if (source[0] < 1 || source[0] > 3 || source[1] == 0 || source[2] == 0 || source[3] > 6) return 0;
    if (source[0] * 256 + source[1] <= before) return 0;
    before = source[0] * 256 + source[1];
    device |= source[0] == PFC_CLASS_DEVICE;
    app |= source[0] == PFC_CLASS_APP;
    groups += (size_t)1 << source[3];
  }
  return device && app && groups == leaves;
}

static int expected(const uint8_t *mc, size_t size) {
  uint8_t tag[32];
  if (size >= 4 && memcmp(mc, "PKMC", 4) != 0) return PFC_E_FOREIGN;
  if (size < HEAD + TAG || size > PFC_CONFIG_BYTES_MAX) return PFC_E_DAMAGED;
  tag_of(tag, mc, size);
  if (memcmp(tag, mc + size - TAG, TAG) != 0) return PFC_E_DAMAGED;
  if (mc[4] != 1 || mc[5] != 1) return PFC_E_TOO_NEW;
  return in_range(mc, size) ? PFC_OK : PFC_E_MALFORMED;
}

static void check_lookups(const struct pfc_config *config, struct fuzz_input *input) {
  static const uint8_t mpk[PFC_KEY_BYTES] = "measurement key";
  struct pfc_key key = pfc_key_plain(mpk, config->mode);
  uint8_t id[PFC_KEY_ID_BYTES];
  pfc_key_id(id, &key);
  int same = memcmp(id, config->key_id, sizeof id) == 0;
  REQUIRE((pfc_config_check_key(config, &key) == PFC_OK) == same);

  size_t first = 0;
  for (int i = 0; i < config->source_count; i++) {
    const struct pfc_source *source = &config->sources[i];
    uint8_t name[8];
    fuzz_take(input, name, sizeof name);
    uint32_t hash = 2166136261u;
    for (size_t j = 0; j < sizeof name; j++) hash = (hash ^ name[j]) * 16777619u;
    size_t group = first + hash % (1u << source->groups_log2);
    REQUIRE(pfc_config_find(config, source->class_, source->number) == i);
    REQUIRE(pfc_config_group(config, source->class_, source->number, name, sizeof name) == (int)group);
    first += (size_t)1 << source->groups_log2;
  }
  REQUIRE(pfc_config_find(config, 4, 1) == -1);
  REQUIRE(pfc_config_group(config, 0, 0, (const uint8_t *)"x", 1) == -1);
}

static void check_decode(const uint8_t *bytes, size_t size, struct fuzz_input *input) {
  struct pfc_config config;
  uint8_t again[PFC_CONFIG_BYTES_MAX];
  size_t again_size = 1;
  memset(&config, 0xEE, sizeof config);
  uint8_t *mc = fuzz_copy(bytes, size);
  int result = pfc_config_decode(&config, mc, size);
  REQUIRE(result == expected(mc, size));
  if (result != PFC_OK) {
    REQUIRE(fuzz_all(&config, sizeof config, 0));
  } else {
    REQUIRE(pfc_config_encode(again, size - 1, &again_size, &config) == PFC_E_SPACE && again_size == 0);
    REQUIRE(pfc_config_encode(again, size, &again_size, &config) == PFC_OK);
    REQUIRE(again_size == size && memcmp(again, mc, size) == 0);
    check_lookups(&config, input);
  }
  free(mc);
}

/// Any structure: either it is refused, or what it encodes to decodes to the same.
static void check_encode(struct fuzz_input *input) {
  struct pfc_config config, decoded;
  uint8_t mc[PFC_CONFIG_BYTES_MAX];
  size_t size = 1, again_size = 0;
  fuzz_take(input, &config, sizeof config);
  int result = pfc_config_encode(mc, sizeof mc, &size, &config);
  REQUIRE(result == PFC_OK || (result == PFC_E_ARGUMENT && size == 0));
  if (result != PFC_OK) return;
  REQUIRE(expected(mc, size) == PFC_OK);
  REQUIRE(pfc_config_decode(&decoded, mc, size) == PFC_OK);
  REQUIRE(pfc_config_encode(mc, sizeof mc, &again_size, &decoded) == PFC_OK && again_size == size);
  REQUIRE(decoded.source_count == config.source_count && decoded.leaf_count == config.leaf_count);
  REQUIRE(memcmp(decoded.sources, config.sources, config.source_count * sizeof config.sources[0]) == 0);
  REQUIRE(memcmp(decoded.leaves, config.leaves, config.leaf_count * sizeof config.leaves[0]) == 0);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
  struct fuzz_input input = {data, size};
  uint8_t mc[PFC_CONFIG_BYTES_MAX + 64];
  uint8_t tag[32];
  switch (fuzz_u8(&input) % 3) {
    case 0:
      check_decode(input.bytes, input.left, &input);
      break;
    case 1:
      size = input.left < sizeof mc ? input.left : sizeof mc;
      fuzz_take(&input, mc, size);
      if (size >= HEAD + TAG) {
        tag_of(tag, mc, size);
        memcpy(mc + size - TAG, tag, TAG);
      }
      check_decode(mc, size, &input);
      break;
    default:
      check_encode(&input);
  }
  return 0;
}
