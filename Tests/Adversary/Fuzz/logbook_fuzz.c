// SPDX-License-Identifier: Apache-2.0

/// The hardware's log: LOG-ASK, LOG, page heads and key records with any bytes; and a lock, its flash, couriers and a
/// reader, driven by the input.
///
/// Oracles: a second reading of docs/SPEC.md, section 17, judges shapes and stored bytes alike. A message that is
/// changed on the way is refused and tells nothing. A lock whose flash was not touched gives no alarm, also if writes
/// are cut and entries kept back or repeated. Each entry is told once, as it was written. A start finds the lock's key.

#include <stdlib.h>

#include "fuzz.h"

enum { ENTRIES = 64, MESSAGE = PFC_LOG_BYTES(PFC_LOG_ENTRIES_MAX) };

static const uint8_t hardware_id[PFC_ID_BYTES] = "fuzzed hardware", nonce[PFC_NONCE_BYTES] = "a fuzzed nonce!";
static uint8_t store_key[32];

// Shapes ---------------------------------------------------------------------------------------------------------

static void check_ask(struct fuzz_input *input) {
  struct pfc_log_ask ask;
  size_t size = input->left;
  uint8_t *exact = fuzz_copy(input->bytes, size), again[PFC_LOG_ASK_BYTES];
  int result = pfc_log_ask_decode(&ask, exact, size);
  REQUIRE(result == (size == 24 ? PFC_OK : PFC_E_MALFORMED));
  if (result == PFC_OK) {
    pfc_log_ask_encode(again, ask.from, ask.nonce);
    REQUIRE(memcmp(again, exact, sizeof again) == 0);
  } else {
    REQUIRE(fuzz_all(&ask, sizeof ask, 0));
  }
  free(exact);
}

/// Section 17, steps 1 and 2.
static int shape_of(const uint8_t *message, size_t size) {
  uint64_t first, oldest, next, count;
  if (size < 48) return PFC_E_MALFORMED;
  first = fuzz_get64(message);
  oldest = fuzz_get64(message + 8);
  next = fuzz_get64(message + 16);
  count = message[30];
  if (size != 48 + 32 * count || count > 9 || oldest > first || first > next || count > next - first) {
    return PFC_E_MALFORMED;
  }
  if (count == 0 && first != next) return PFC_E_MALFORMED;
  return message[31] != 0 || message[28] > 1 || message[29] > 15 ? PFC_E_TOO_NEW : PFC_OK;
}

static void check_message(struct fuzz_input *input) {
  struct pfc_log_fields fields;
  size_t size = input->left;
  uint8_t *exact = fuzz_copy(input->bytes, size);
  int result = pfc_log_message_decode(&fields, exact, size);
  REQUIRE(result == shape_of(exact, size));
  if (result != PFC_OK) REQUIRE(fuzz_all(&fields, sizeof fields, 0));
  free(exact);
}

/// Stored bytes: raw, or rightly tagged ones with deviations. Returns whether the tag is right.
static int fill(struct fuzz_input *input, uint8_t *bytes, size_t size) {
  uint8_t tag[32], how = fuzz_u8(input);
  if ((how & 1) != 0) {
    fuzz_take(input, bytes, size);
  } else {
    fuzz_xor(input, bytes, size - PFC_LOG_TAG_BYTES);
    pfc_mac_once(tag, store_key, 32, bytes, size - PFC_LOG_TAG_BYTES);
    memcpy(bytes + size - PFC_LOG_TAG_BYTES, tag, PFC_LOG_TAG_BYTES);
    if ((how & 2) != 0) (void)fuzz_flip(input, bytes, size);
  }
  pfc_mac_once(tag, store_key, 32, bytes, size - PFC_LOG_TAG_BYTES);
  return memcmp(tag, bytes + size - PFC_LOG_TAG_BYTES, PFC_LOG_TAG_BYTES) == 0;
}

static void check_page(struct fuzz_input *input) {
  uint8_t bytes[PFC_LOG_PAGE_HEAD_BYTES];
  uint64_t number;
  int expected = PFC_OK, result;
  pfc_log_page_encode(bytes, 127, store_key);
  if (!fill(input, bytes, sizeof bytes) || memcmp(bytes, "PL", 2) != 0 || bytes[3] != 1) {
    expected = PFC_E_DAMAGED;
  } else if (bytes[2] != 1 || fuzz_get32(bytes + 4) != 0) {
    expected = PFC_E_TOO_NEW;
  }
  result = pfc_log_page_decode(&number, bytes, store_key);
  REQUIRE(result == expected && number == (result == PFC_OK ? fuzz_get64(bytes + 8) : 0));
}

static void check_key_record(struct fuzz_input *input) {
  struct pfc_log_key_record record = {.sequence = 1, .number = 48, .key = {1}}, decoded;
  uint8_t bytes[PFC_LOG_KEY_RECORD_BYTES], again[PFC_LOG_KEY_RECORD_BYTES];
  int expected = PFC_OK, result;
  REQUIRE(pfc_log_key_record_encode(bytes, &record, store_key) == PFC_OK);
  if (!fill(input, bytes, sizeof bytes) || memcmp(bytes, "PL", 2) != 0 || bytes[3] != 2) {
    expected = PFC_E_DAMAGED;
  } else if (bytes[2] != 1 || bytes[24] > 15 || bytes[25] > 1 || !fuzz_all(bytes + 26, 6, 0)) {
    expected = PFC_E_TOO_NEW;
  } else if (bytes[8] % 16 != 0 || fuzz_all(bytes + 32, 32, 0)) {
    expected = PFC_E_DAMAGED;
  }
  result = pfc_log_key_record_decode(&decoded, bytes, store_key);
  REQUIRE(result == expected);
  if (result == PFC_OK) {
    REQUIRE(pfc_log_key_record_encode(again, &decoded, store_key) == PFC_OK);
    REQUIRE(memcmp(again, bytes, sizeof bytes) == 0);
  } else {
    REQUIRE(fuzz_all(&decoded, sizeof decoded, 0));
  }
}

// A lock and its reader ------------------------------------------------------------------------------------------

struct scene {
  struct pfc_log lock, earlier;
  struct pfc_log_key_record block;
  uint8_t flash[ENTRIES][PFC_LOG_ENTRY_BYTES];
  struct pfc_log_content written[ENTRIES];
  uint64_t oldest;
  int touched;  ///< The flash was changed or put back, or had too many cut writes in a row
  struct pfc_log_reader reader;
  uint8_t kept[ENTRIES][PFC_LOG_ENTRY_BYTES];
  uint8_t has[ENTRIES], told[ENTRIES];
  unsigned findings;
};

static const uint8_t *find_stored(void *context, uint64_t number) {
  struct scene *scene = context;
  REQUIRE(number < ENTRIES);
  return scene->has[number] ? scene->kept[number] : NULL;
}

static void take_finding(void *context, const struct pfc_log_finding *finding) {
  struct scene *scene = context;
  scene->findings++;
  REQUIRE(finding->count > 0 && finding->first < ENTRIES && finding->count <= ENTRIES - finding->first);
  REQUIRE(finding->kind != 0 && (finding->kind & (finding->kind - 1)) == 0);
  REQUIRE((finding->content != NULL) == (finding->kind == PFC_LOG_ENTRY));
  if (scene->touched) return;
  REQUIRE((finding->kind & (PFC_LOG_CHANGED | PFC_LOG_FORKED | PFC_LOG_SHORTER | PFC_LOG_UNKNOWN)) == 0);
  if (finding->kind == PFC_LOG_ENTRY) {
    REQUIRE(finding->count == 1 && scene->told[finding->first]++ == 0);
    REQUIRE(memcmp(finding->content, &scene->written[finding->first], sizeof *finding->content) == 0);
  }
}

/// Writes one entry, whole or cut. 0 if there is no place left.
static int write_entry(struct scene *scene, const struct pfc_log_content *content, uint8_t cut) {
  struct pfc_log *lock = &scene->lock;
  uint8_t whole[PFC_LOG_ENTRY_BYTES];
  if (lock->next >= ENTRIES) return 0;
  if (pfc_log_turns(lock)) pfc_log_turn(&scene->block, lock, scene->block.sequence + 1, 0);
  scene->written[lock->next] = *content;
  REQUIRE(pfc_log_put(scene->flash[lock->next], lock, content, hardware_id) == PFC_OK);
  memcpy(whole, scene->flash[lock->next], sizeof whole);
  if (cut != 0) memset(scene->flash[lock->next] + cut % 32, 255, 32 - cut % 32);
  // A cut before bytes that are 255 anyway leaves a whole entry.
  if (memcmp(whole, scene->flash[lock->next], sizeof whole) != 0) {
    // More of them in a row than a note can tell: the reader calls the first ones changed.
    if (lock->undone == PFC_LOG_UNDONE_MAX) scene->touched = 1;
    pfc_log_failed(lock);
  } else {
    pfc_log_written(lock, content);
  }
  return 1;
}

static void happen(struct scene *scene, struct fuzz_input *input) {
  struct pfc_log_content content;
  uint8_t how = fuzz_u8(input);
  if (pfc_log_note(&scene->lock, &content, 5, 6)) {
    if (!write_entry(scene, &content, (how & 0xC0) == 0xC0 ? how : 0)) return;
    // A note whose write was cut is due again.
    if (pfc_log_note(&scene->lock, &content, 5, 6)) return;
  }
  memset(&content, 0, sizeof content);
  content.event = (uint8_t)(PFC_LOG_COMMAND + how % 3);
  content.kind = how >> 4;
  content.counter = how;
  (void)write_entry(scene, &content, (how & 0x0C) == 0x0C ? how : 0);
}

/// Power goes and comes: flash alone gives the key and the place.
static void restart(struct scene *scene) {
  struct pfc_log before = scene->lock;
  struct pfc_log_content content;
  if (scene->touched || scene->block.sequence == 0) return;
  pfc_log_resume(&scene->lock, &scene->block);
  while (scene->lock.next < before.next) {
    (void)pfc_log_resume_entry(&scene->lock, &content, scene->flash[scene->lock.next], hardware_id);
  }
  REQUIRE(memcmp(scene->lock.key, before.key, sizeof before.key) == 0);
  REQUIRE(scene->lock.undone == before.undone);
  pfc_log_resume_end(&scene->lock, 0);
}

static void keep(struct scene *scene, uint64_t first, unsigned count) {
  for (uint64_t i = first; i < first + count; i++) {
    if (scene->has[i]) continue;
    memcpy(scene->kept[i], scene->flash[i], PFC_LOG_ENTRY_BYTES);
    scene->has[i] = 1;
  }
}

/// A courier brings entries, and perhaps changes a bit on the way.
static void bring(struct scene *scene, uint64_t first, uint8_t count, struct fuzz_input *input) {
  uint8_t message[MESSAGE], *exact;
  struct pfc_log_listener listener = {scene, find_stored, take_finding};
  struct pfc_log_reader before = scene->reader;
  unsigned findings = scene->findings;
  size_t size;
  int is_changed = 0, result;
  if (first < scene->oldest) first = scene->oldest;
  if (first >= scene->lock.next) first = scene->lock.next;
  if (count > scene->lock.next - first) count = (uint8_t)(scene->lock.next - first);
  if (count == 0) first = scene->lock.next;
  if (count > 0) memcpy(message + PFC_LOG_FIELDS_BYTES, scene->flash[first], (size_t)count * PFC_LOG_ENTRY_BYTES);
  REQUIRE(pfc_log_message_make(message, sizeof message, &size, &scene->lock, scene->oldest, first, count, nonce) ==
          PFC_OK);
  if (input != NULL) is_changed = fuzz_flip(input, message, size);
  exact = fuzz_copy(message, size);
  result = pfc_log_reader_take(&scene->reader, nonce, exact, size, ENTRIES, &listener);
  free(exact);
  if (is_changed) {
    REQUIRE(result != PFC_OK && scene->findings == findings);
    REQUIRE(memcmp(&scene->reader, &before, sizeof before) == 0);
  } else {
    REQUIRE(result == PFC_OK);
    keep(scene, first, count);
  }
}

static void begin(struct scene *scene) {
  uint8_t drawn[32];
  memset(scene, 0, sizeof *scene);
  memset(drawn, 0x4C, sizeof drawn);
  pfc_log_first_key(scene->block.key, drawn, hardware_id);
  pfc_log_resume(&scene->lock, &scene->block);
  scene->earlier = scene->lock;
  pfc_log_reader_begin(&scene->reader, scene->block.key, 0, hardware_id);
}

static void check_scene(struct fuzz_input *input) {
  static struct scene scene;
  struct pfc_log_listener listener = {&scene, find_stored, take_finding};
  uint64_t at;
  int outcome;
  begin(&scene);
  while (input->left > 0) {
    uint8_t what = fuzz_u8(input);
    switch (what % 10) {
      case 0:
      case 1:
      case 2:
        happen(&scene, input);
        break;
      case 3:
      case 4:
        bring(&scene, fuzz_u8(input) % ENTRIES, what / 10 % 10, input);
        break;
      case 5:
        bring(&scene, scene.reader.next, 9, NULL);
        break;
      case 6:
        restart(&scene);
        break;
      case 7:
        pfc_log_refuse(&scene.lock, fuzz_u8(input));
        break;
      case 8:  // The ring overwrites
        if (scene.oldest < scene.lock.next && what >= 128) scene.oldest++;
        break;
      default:  // The flash is changed, or put back
        if (what < 128) break;
        at = fuzz_u8(input) % ENTRIES;
        scene.touched = 1;
        if (at % 2 == 0) {
          scene.flash[at][fuzz_u8(input) % PFC_LOG_ENTRY_BYTES] ^= 1;
        } else if (what < 192) {
          scene.earlier = scene.lock;
        } else {
          scene.lock = scene.earlier;
          if (scene.oldest > scene.lock.next) scene.oldest = scene.lock.next;
        }
    }
  }
  for (at = scene.oldest; at < scene.lock.next; at += 9) bring(&scene, at, 9, NULL);
  bring(&scene, scene.lock.next, 0, NULL);
  outcome = pfc_log_reader_end(&scene.reader, &listener);
  REQUIRE(scene.touched || outcome != PFC_LOG_ALTERED);
  REQUIRE(fuzz_all(&scene.reader, sizeof scene.reader, 0));
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
  static void (*const checks[])(struct fuzz_input *) = {check_scene, check_ask, check_message, check_page,
                                                        check_key_record};
  struct fuzz_input input = {data, size};
  uint8_t secret[32];
  memset(secret, 0x4B, sizeof secret);
  pfc_log_store_key(store_key, secret);
  checks[fuzz_u8(&input) % 5](&input);
  return 0;
}
