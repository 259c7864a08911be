// SPDX-License-Identifier: Apache-2.0

/// libsodium alone, with the secrets that the core gives it. What is found here is left by libsodium 1.0.18 itself and
/// not by the core: `s` in crypto_box_curve25519xsalsa20poly1305_beforenm and `block0` in
/// crypto_secretbox_open_detached are never wiped there.

#include <sodium.h>
#include <string.h>

#include "wipe.h"

static void prepare(struct vault *vault) {
  uint8_t shared[32];
  vault_fill(vault->hardware.secret_key, 32, 20);
  vault_fill(vault->ephemeral, 32, 25);
  vault_fill(vault->payload, sizeof vault->payload, 26);
  (void)crypto_scalarmult_base(vault->hardware.public_key, vault->hardware.secret_key);
  vault_expect(crypto_scalarmult(shared, vault->ephemeral, vault->hardware.public_key) == 0, "shared");
  needle_add("shared secret", shared, sizeof shared);
  needle_add("the content", vault->payload, sizeof vault->payload);
}

static void run_seal(struct vault *vault) {
  vault_expect(crypto_box_easy(vault->out, vault->payload, sizeof vault->payload, vault->areas[0][0],
                               vault->hardware.public_key, vault->ephemeral) == 0,
               "sealed");
}

static void prepare_open(struct vault *vault) {
  uint8_t shared[32];
  prepare(vault);
  vault_expect(crypto_box_seal(vault->out, vault->payload, sizeof vault->payload, vault->hardware.public_key) == 0,
               "sealed");
  vault_expect(crypto_scalarmult(shared, vault->hardware.secret_key, vault->out) == 0, "shared");
  needle_add("shared secret", shared, sizeof shared);
}

static void run_open(struct vault *vault) {
  vault_expect(crypto_box_seal_open(vault->payload, vault->out, sizeof vault->payload + crypto_box_SEALBYTES,
                                    vault->hardware.public_key, vault->hardware.secret_key) == 0,
               "opened");
}

const struct wipe_case wipe_sodium_cases[] = {
    {"libsodium alone: box", prepare, run_seal, 0, 0, 0},
    {"libsodium alone: sealed box, open", prepare_open, run_open, 0, 0, 0},
    {NULL, NULL, NULL, 0, 0, 0},
};
