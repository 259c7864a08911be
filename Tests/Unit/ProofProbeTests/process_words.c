// SPDX-License-Identifier: Apache-2.0

#include "process_words.h"

#include <sodium/crypto_generichash_blake2b.h>
#include <stdio.h>
#include <string.h>

#include "harness.h"
#include "sources.h"

static struct {
  uint8_t bytes[2048];
  size_t size;
} page;

void page_number(uint64_t number) {
  put64(page.bytes + page.size, number);
  page.size += 8;
}

void page_begin(void) { page.size = 0; }

void page_text(const char *text) {
  put32(page.bytes + page.size, (uint32_t)strlen(text));
  memcpy(page.bytes + page.size + 4, text, strlen(text));
  page.size += 4 + strlen(text);
}

void page_digest(uint8_t digest[PFC_DIGEST_BYTES], const char label[17]) {
  static const uint8_t SALT[crypto_generichash_blake2b_SALTBYTES];
  (void)crypto_generichash_blake2b_salt_personal(digest, PFC_DIGEST_BYTES, page.bytes, page.size, NULL, 0, SALT,
                                                 (const uint8_t *)label);
}

void page_word(size_t word, uint64_t kind) {
  page_number(4096 + 8 * word);
  page_number(kind);
}

void page_object(size_t object) {
  size_t namesakes = 0;
  for (size_t i = 0; i < object; i++) namesakes += strcmp(made.items[i].name, made.items[object].name) == 0;
  page_text(made.items[object].name);
  page_number(namesakes);
}

void page_place(size_t word, uintptr_t value) {
  const struct pfp_object *owner = pfp_objects_at(&made.objects, value);
  page_word(word, PLACE);
  page_object((size_t)(owner - made.items));
  page_number(owner->is_vdso ? 0 : value - owner->bias);
}

void page_symbol(size_t word, size_t object, const char *name, const char *version, uint64_t addend) {
  page_word(word, SYMBOL);
  page_object(object);
  page_text(name);
  page_text(version);
  page_number(addend);
}

struct words words;

void words_begin(void) {
  static uint8_t beyond;
  made_begin();
  page_begin();
  words.outside = (uintptr_t)&beyond;
  words.at_one = made_function(MADE_OTHER, 1);
  words.at_two = made_function(MADE_OTHER, 2);
  words.at_choice = made_choice = made_function(MADE_OTHER, 3);
  (void)made_symbol(MADE_OTHER, "two", STT_FUNC, words.at_two);
  (void)made_symbol(MADE_OTHER, "one", STT_FUNC, words.at_one);
  (void)made_symbol(MADE_OTHER, "one's alias", STT_FUNC, words.at_one);
  (void)made_symbol(MADE_OTHER, "choice", STT_GNU_IFUNC, (uintptr_t)made_resolver);
  (void)made_symbol(MADE_APART, "one", STT_FUNC, made_function(MADE_APART, 1));
  words.one = made_symbol(MADE_OWN, "one", STT_FUNC, 0);
  words.choice = made_symbol(MADE_OWN, "choice", STT_FUNC, 0);
  words.nowhere = made_symbol(MADE_OWN, "nowhere", STT_FUNC, 0);
}

void words_set(size_t word, uintptr_t value) { made.images[MADE_OWN].words[word] = value; }

void words_check(unsigned astray, const char *told, unsigned moved, unsigned loose) {
  struct pfp_object *own = &made.items[MADE_OWN];
  uint8_t digest[PFC_DIGEST_BYTES];
  own->astray = own->moved = own->loose = 77;
  (void)strcpy(own->astray_first, "from before");
  if (made_scopes()) {
    pfp_object_links(own, &made.scopes);
    page_digest(digest, "pfp2.links......");
    CHECK_NUMBER(own->has_links, 1);
    CHECK_BYTES(own->links, digest, sizeof digest);
    CHECK_NUMBER(own->astray, astray);
    CHECK_NUMBER(own->moved, moved);
    CHECK_NUMBER(own->loose, loose);
    if (!CHECK(strcmp(own->astray_first, told) == 0)) test_note("    %s", own->astray_first);
  }
  made_end();
}

const char *words_lead(const char *name, uintptr_t value) {
  static char told[512];
  const struct pfp_object *owner = pfp_objects_at(&made.objects, value);
  if (owner == NULL) {
    (void)snprintf(told, sizeof told, "%s leads outside every object", name);
  } else {
    (void)snprintf(told, sizeof told, "%s leads to %s+0x%llx", name, owner->name,
                   (unsigned long long)(value - owner->bias));
  }
  return told;
}

// Evidence -------------------------------------------------------------------------------------------------------

struct pfp_evidence evidence;
static struct pfc_config asked;

void evidence_begin(void) {
  memset(&evidence, 0, sizeof evidence);
  memset(&asked, 0, sizeof asked);
  pfp_sources_propose(&asked);
  evidence.asked = &asked;
}

const struct pfp_record *evidence_record(uint8_t class_, uint8_t number, const char *name) {
  const struct pfp_record *found = NULL;
  for (size_t i = 0; i < evidence.count; i++) {
    const struct pfp_record *record = evidence.records[i];
    if (record->class_ != class_ || record->number != number || strcmp(record->name, name) != 0) continue;
    CHECK(found == NULL);
    found = record;
  }
  return found;
}

void evidence_check(uint8_t class_, uint8_t number, const char *name, const uint8_t *digest, unsigned alarm,
                    const char *told) {
  const struct pfp_record *record = evidence_record(class_, number, name);
  if (!CHECK(record != NULL)) {
    test_note("    no record %s", name);
    return;
  }
  CHECK_NUMBER(record->present, digest != NULL);
  if (digest != NULL) CHECK_BYTES(record->digest, digest, PFC_DIGEST_BYTES);
  CHECK_NUMBER(record->alarm, alarm);
  if (!CHECK(told == NULL ? record->note == NULL : record->note != NULL && strcmp(record->note, told) == 0)) {
    test_note("    %s", record->note != NULL ? record->note : "no words");
  }
}
