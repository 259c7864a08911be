// SPDX-License-Identifier: Apache-2.0

#define _GNU_SOURCE
#include "process_place.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "process_suites.h"

static const uint8_t KEY[PFC_KEY_BYTES] = {7, 1, 4, 9, 16, 25, 36, 49, 64, 81, 100, 121, 144, 169, 196, 225};

struct place place;
uint64_t place_ahead;

void place_write(const char *name, const char *text) {
  char path[160];
  FILE *file;
  (void)snprintf(path, sizeof path, "%s/%s", place.bundle, name);
  file = fopen(path, "we");
  if (!CHECK(file != NULL)) return;
  (void)fputs(text, file);
  (void)fclose(file);
}

bool place_begin(void) {
  (void)strcpy(place.folder, "/var/tmp/proofkit-probe-XXXXXX");
  if (!CHECK(mkdtemp(place.folder) != NULL)) return false;
  (void)snprintf(place.bundle, sizeof place.bundle, "%s/bundle", place.folder);
  (void)snprintf(place.storage, sizeof place.storage, "%s/storage", place.folder);
  if (!CHECK(mkdir(place.bundle, 0755) == 0 && mkdir(place.storage, 0700) == 0)) return false;
  place_write("one", "1\n");
  place_write("two", "22\n");
  place_write("three", "333\n");
  return CHECK_NUMBER(pfp_storage_prepare(place.storage), PFP_OK);
}

void place_finish(void) {
  char command[128];
  (void)snprintf(command, sizeof command, "rm -rf '%s'", place.folder);
  CHECK_NUMBER(system(command), 0);
}

struct pfp_probe *place_probe(void) {
  struct pfp_probe_options own = {.bundle = place.bundle, .storage = place.storage};
  struct pfp_probe *probe = NULL;
  CHECK_NUMBER(pfp_probe_create(&probe, &own), PFP_OK);
  return probe;
}

struct pfc_key place_key(void) { return pfc_key_plain(KEY, PFC_MODE_DEVELOPMENT); }

struct pfc_config place_draft(uint8_t policy, uint8_t salt) {
  struct pfc_config draft;
  memset(&draft, 0, sizeof draft);
  draft.policy = policy;
  draft.limit_log2 = 30;
  draft.generation = 1;
  memset(draft.salt, salt, sizeof draft.salt);
  pfp_sources_propose(&draft);
  return draft;
}

bool baseline_take(struct baseline *baseline, struct pfp_probe *probe, uint8_t policy, uint8_t salt) {
  struct pfc_key key = pfc_key_plain(KEY, PFC_MODE_DEVELOPMENT);
  struct pfc_config draft = place_draft(policy, salt);
  return CHECK_NUMBER(pfp_probe_baseline(&baseline->config, probe, &draft, &key), PFP_OK) &&
         CHECK_NUMBER(pfc_config_encode(baseline->bytes, sizeof baseline->bytes, &baseline->size, &baseline->config),
                      PFC_OK);
}

int baseline_measure(struct pfc_measured *measured, struct pfp_probe *probe, const struct baseline *baseline) {
  struct pfc_key key = pfc_key_plain(KEY, PFC_MODE_DEVELOPMENT);
  return pfp_probe_measure(measured, probe, baseline->bytes, baseline->size, &key);
}

const struct pfp_diagnosis *baseline_diagnose(struct pfp_probe *probe, const struct baseline *baseline) {
  static struct pfp_diagnosis diagnosis;
  struct pfc_key key = pfc_key_plain(KEY, PFC_MODE_DEVELOPMENT);
  CHECK_NUMBER(pfp_probe_diagnose(&diagnosis, probe, baseline->bytes, baseline->size, &key), PFP_OK);
  return &diagnosis;
}

int listing_add(void *context, uint8_t class_, uint8_t number, const uint8_t *name, size_t name_size,
                const uint8_t *digest) {
  static const uint8_t ABSENT[PFC_DIGEST_BYTES];
  struct listing *listing = context;
  if (listing->size + 3 + name_size + PFC_DIGEST_BYTES > sizeof listing->bytes) return -1;
  listing->bytes[listing->size++] = class_;
  listing->bytes[listing->size++] = number;
  memcpy(listing->bytes + listing->size, name, name_size);
  listing->size += name_size;
  memcpy(listing->bytes + listing->size, digest != NULL ? digest : ABSENT, PFC_DIGEST_BYTES);
  listing->size += PFC_DIGEST_BYTES;
  if (digest == NULL) listing->absent++;
  return 0;
}

bool listing_collect(struct listing *listing, struct pfp_probe *probe, uint8_t policy) {
  struct pfc_config draft = place_draft(policy, 1);
  memset(listing, 0, sizeof *listing);
  return CHECK_NUMBER(pfp_probe_collect(probe, &draft, listing_add, listing), PFP_OK);
}

bool listing_same(const struct listing *a, const struct listing *b) {
  return CHECK_COUNT(a->size, b->size) && CHECK_BYTES(a->bytes, b->bytes, b->size);
}
