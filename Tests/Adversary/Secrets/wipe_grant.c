// SPDX-License-Identifier: Apache-2.0

/// Grants at the owner's app and at the hardware.

#include <string.h>

#include "wipe.h"

static int make(struct vault *vault) {
  return pfc_grant_create(vault->out, &vault->grant, &vault->token.secrets, vault->token_digest);
}

/// A lock that holds the owner's token, and a grant of its app to itself, which every rule but its use permits.
static void prepare_grant(struct vault *vault) {
  const struct pfc_secrets *secrets = &vault->token.secrets;
  wipe_prepare_token(vault);
  vault->token.version = PFC_TOKEN_VERSION_2;
  vault->token.base = vault->token.generation;
  vault->token.delegable_classes = vault->token.integrity_classes;
  wipe_create_token(vault);
  pfc_token_digest(vault->token_digest, vault->sealed);
  vault_expect(pfc_verifier_provision(&vault->hardware, &vault->platform, 0, 0, 0) == PFC_OK, "provisioned");
  vault_expect(pfc_verifier_init(&vault->verifier, &vault->hardware, &vault->platform) == PFC_OK, "started");
  vault_expect(pfc_verifier_take_grants(&vault->verifier) == PFC_OK, "takes grants");
  pfc_verifier_receive(&vault->verifier, &vault->session, PFC_MESSAGE_TOKEN, vault->sealed, sizeof vault->sealed,
                       &vault->outcome);
  vault_expect(vault->outcome.verdict == PFC_VERDICT_HELD, "held");
  vault->grant = (struct pfc_grant){.generation = vault->token.generation,
                                    .serial = 1,
                                    .classes = vault->token.integrity_classes,
                                    .uses = 3,
                                    .end = UINT64_MAX};
  memcpy(vault->grant.hardware_id, vault->hardware.id, PFC_ID_BYTES);
  memcpy(vault->grant.owner, vault->token.instance_id, PFC_ID_BYTES);
  memcpy(vault->grant.member, vault->token_digest, PFC_TOKEN_DIGEST_BYTES);
  vault_expect(make(vault) == PFC_OK, "made");
  needle_add("integrity key", secrets->integrity_key, PFC_KEY_BYTES);
  needle_add("integrity measurement", secrets->integrity, PFC_MEASUREMENT_BYTES);
  needle_add("device key", secrets->device_key, PFC_KEY_BYTES);
  needle_add("device measurement", secrets->device, PFC_MEASUREMENT_BYTES);
  needle_add_derived("grant key", PFC_LABEL_GRANT_KEY, (const uint8_t *)secrets, sizeof *secrets, vault->token_digest,
                     PFC_TOKEN_DIGEST_BYTES);
}

static void run_create(struct vault *vault) { vault_expect(make(vault) == PFC_OK, "made"); }

/// The tag that a message should have had opens the door to who learns it.
static void prepare_wrong(struct vault *vault) {
  prepare_grant(vault);
  needle_add("the right tag", vault->out + 64, PFC_GRANT_TAG_BYTES);
  memset(vault->out + 64, 0x5a, PFC_GRANT_TAG_BYTES);
}

static void run_check(struct vault *vault) {
  vault_expect(pfc_grant_check(vault->out, &vault->token.secrets, vault->token_digest) == PFC_E_DIFFERS, "refused");
}

static void receive(struct vault *vault, uint8_t verdict) {
  pfc_verifier_receive(&vault->verifier, &vault->session, PFC_MESSAGE_GRANT, vault->out, PFC_GRANT_BYTES,
                       &vault->outcome);
  vault_expect(vault->outcome.verdict == verdict, "the verdict");
}

static void run_taken(struct vault *vault) { receive(vault, PFC_VERDICT_DONE); }

static void run_wrong(struct vault *vault) { receive(vault, PFC_VERDICT_DEVICE_DIFFERS); }

static void run_format(struct vault *vault) {
  vault_expect(pfc_grants_format(&vault->storage, vault->hardware.secret_key) == PFC_OK, "formatted");
}

static void prepare_format(struct vault *vault) {
  prepare_grant(vault);
  needle_add_derived("record key", PFC_LABEL_RECORD_KEY, vault->hardware.secret_key, 32, NULL, 0);
}

const struct wipe_case wipe_grant_cases[] = {
    {"grant create", prepare_grant, run_create, 1, 0, 0},
    {"grant check", prepare_wrong, run_check, 1, 0, 0},
    {"verifier grant", prepare_grant, run_taken, 0, 0, 0},
    {"verifier grant, wrong tag", prepare_wrong, run_wrong, 0, 0, 0},
    {"grants format", prepare_format, run_format, 1, 0, 0},
    {NULL, NULL, NULL, 0, 0, 0},
};
