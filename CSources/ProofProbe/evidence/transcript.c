// SPDX-License-Identifier: Apache-2.0

#include "evidence/transcript.h"

#include <string.h>

#include "crypto.h"

static const uint8_t NO_SALT[crypto_generichash_blake2b_SALTBYTES];

void pfp_transcript_init(struct pfp_transcript *transcript, const char label[17]) {
  // Cannot fail: every length is a constant of libsodium's own.
  (void)crypto_generichash_blake2b_init_salt_personal(&transcript->state, NULL, 0, PFC_DIGEST_BYTES, NO_SALT,
                                                      (const uint8_t *)label);
}

void pfp_transcript_raw(struct pfp_transcript *transcript, const void *bytes, size_t size) {
  if (size != 0) (void)crypto_generichash_blake2b_update(&transcript->state, bytes, size);
}

void pfp_transcript_add(struct pfp_transcript *transcript, const void *bytes, size_t size) {
  const uint8_t length[4] = {(uint8_t)size, (uint8_t)(size >> 8), (uint8_t)(size >> 16), (uint8_t)(size >> 24)};
  pfp_transcript_raw(transcript, length, sizeof length);
  pfp_transcript_raw(transcript, bytes, size);
}

void pfp_transcript_text(struct pfp_transcript *transcript, const char *text) {
  pfp_transcript_add(transcript, text, strlen(text));
}

void pfp_transcript_number(struct pfp_transcript *transcript, uint64_t number) {
  uint8_t bytes[8];
  for (unsigned i = 0; i < sizeof bytes; i++) bytes[i] = (uint8_t)(number >> (8 * i));
  pfp_transcript_raw(transcript, bytes, sizeof bytes);
}

void pfp_transcript_final(uint8_t digest[PFC_DIGEST_BYTES], struct pfp_transcript *transcript) {
  (void)crypto_generichash_blake2b_final(&transcript->state, digest, PFC_DIGEST_BYTES);
}

void pfp_fact(uint8_t digest[PFC_DIGEST_BYTES], const void *bytes, size_t size) {
  struct pfp_transcript transcript;
  pfp_transcript_init(&transcript, PFP_LABEL_FACT);
  pfp_transcript_add(&transcript, bytes, size);
  pfp_transcript_final(digest, &transcript);
  // A fact may be the installation's secret.
  pfc_wipe(&transcript, sizeof transcript);
}
