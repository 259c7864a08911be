// SPDX-License-Identifier: Apache-2.0

/// Cases of the wipe test: a call of the core or of the hardware with known secrets, run on a stack of its own.

#ifndef WIPE_H
#define WIPE_H

#include "ProofDevice.h"
#include "needle.h"

enum { WIPE_LOG_PAGES = 5, WIPE_LOG_PAGE_BYTES = 320 };

/// Memory that a case works on. Mapped, so that no search covers it: the caller's memory is the caller's business.
struct vault {
  uint8_t mpk[PFC_KEY_BYTES];
  struct pfc_key key;
  uint8_t salt[PFC_SALT_BYTES];
  uint8_t digests[3][PFC_DIGEST_BYTES];
  uint8_t mc[PFC_CONFIG_BYTES_MAX];
  size_t mc_size;
  struct pfc_config config;
  struct pfc_measurement fold;
  struct pfc_measured measured;
  struct pfc_difference difference;
  struct pfc_secrets secrets;
  struct pfc_proof_key proof_key;
  struct pfc_request request;
  uint8_t nonce[PFC_NONCE_BYTES];
  uint8_t ratchet[PFC_RATCHET_BYTES], moved[PFC_RATCHET_BYTES];
  uint8_t out[512];
  size_t out_size;
  uint8_t seed[32];
  uint8_t ephemeral[PFC_SECRET_KEY_BYTES];
  uint8_t signing_key[PFC_SIGNING_KEY_BYTES];
  struct pfc_hardware hardware;
  uint8_t drawn[PFC_FACTORY_SECRET_BYTES];
  struct pfc_token token;
  struct pfc_token opened;
  uint8_t sealed[PFC_TOKEN_BYTES];
  uint8_t record_key[32];
  uint8_t areas[2 * PFC_SLOTS + 1][PFC_RECORD_COPIES][PFC_RECORD_BYTES_MAX];
  struct pfc_storage storage;
  struct pfc_platform platform;
  struct pfc_record record;
  uint8_t payload[PFC_SLOT_BYTES];
  uint8_t stored[PFC_RECORD_BYTES(PFC_SLOT_BYTES)];  ///< A record's, the payload in it
  struct pfc_verifier verifier;
  struct pfc_session session;
  struct pfc_outcome outcome;
  uint8_t random_next;
  struct pfc_gate gate;
  struct pfc_gate_token gate_token, gate_opened;
  uint8_t gate_sealed[PFC_GATE_TOKEN_BYTES];
  struct pfc_gate_keys gate_keys;
  struct pfc_compact_keys event_keys;
  struct pfc_compact compact;
  struct pfc_compact_subject subject;
  struct pfc_http http;
  uint8_t flash[PFD_FLASH_PAGES * PFD_PAGE_BYTES_MIN];
  struct pfd_port port;
  struct pfc_hardware loaded;
  struct pfc_log log;
  struct pfc_log_reader log_reader;
  struct pfc_log_content content;
  struct pfc_log_key_record key_record;
  uint8_t entry[PFC_LOG_ENTRY_BYTES];
  struct pfc_log_flash log_flash;
  struct pfc_log_ring log_ring;
  uint8_t log_pages[WIPE_LOG_PAGES][WIPE_LOG_PAGE_BYTES];
  struct pfd_link link;
  struct pfd_unit unit;
  char text[64];
  uint8_t token_digest[PFC_TOKEN_DIGEST_BYTES];
  uint8_t shared[32];
  struct pfc_sealed_sent sealed_sent;
  struct pfc_sealed_sent channel_sent;
  uint8_t chain[PFC_CHANNEL_KEY_BYTES];
  struct pfc_grant grant;
  unsigned writes, broken_from;  ///< The storage fails from this write on; 0: it does not
};

struct wipe_case {
  const char *name;
  void (*prepare)(struct vault *vault);  ///< Makes inputs and needles, on the ordinary stack
  void (*run)(struct vault *vault);      ///< On the painted stack
  /// 1 if the core itself holds a secret: without wiping it must be found. Where all that holds one is an HMAC, which
  /// libsodium wipes, or is overwritten by the next call, 0: each_wipe.py judges each single wipe in both cases.
  int own;
  /// The caller's memory that the call was to wipe: a part of the vault; nothing if `gone_size` is 0.
  size_t gone_offset, gone_size;
};

/// For a case's last two fields.
#define GONE(field) offsetof(struct vault, field), sizeof(((struct vault *)0)->field)

/// Whether the core was linked without its wiping.
extern int is_without_wiping;

/// Hardware, and a token of its owner's, sealed.
void wipe_prepare_token(struct vault *vault);
/// Gives the hardware a factory secret.
void wipe_need_factory_secret(struct vault *vault);
/// Seals the vault's token.
void wipe_create_token(struct vault *vault);

extern const struct wipe_case wipe_app_cases[];
extern const struct wipe_case wipe_hardware_cases[];
extern const struct wipe_case wipe_verifier_cases[];
extern const struct wipe_case wipe_sodium_cases[];
extern const struct wipe_case wipe_gate_cases[];
extern const struct wipe_case wipe_logbook_cases[];
extern const struct wipe_case wipe_sealed_cases[];
extern const struct wipe_case wipe_grant_cases[];
extern const struct wipe_case wipe_channel_cases[];
extern const struct wipe_case wipe_device_cases[];

/// A lock with this policy's token and a key, and a sealed command of its owner in `out`.
void wipe_prepare_sealed(struct vault *vault, uint8_t policy, uint8_t class_);

/// Fills with bytes that look random and differ for each seed.
void vault_fill(void *bytes, size_t size, uint32_t seed);
/// A call that must succeed for the case to mean anything.
void vault_expect(int condition, const char *what);

#endif
