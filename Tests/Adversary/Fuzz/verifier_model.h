// SPDX-License-Identifier: Apache-2.0

/// A model of the verifier's promises, kept beside it. The model sees every message and every outcome and stops the run
/// when one of them breaks a promise. It never looks inside the cryptography: it knows which messages are right because
/// the harness made them.

#ifndef VERIFIER_MODEL_H
#define VERIFIER_MODEL_H

#include "fuzz.h"

enum { INSTANCES = 10, LINKS = 3, TOKENS_MAX = 32, COMMANDS_MAX = 256 };

/// A token that was made, and what was done with it.
struct issued {
  struct pfc_token token;
  int fits;  ///< Sealed by the suite of the hardware, and with its factory secret if it has one
  uint8_t instance;
  uint8_t bytes[PFC_TOKEN_BYTES];
  uint8_t digest[PFC_TOKEN_DIGEST_BYTES];
  uint32_t accepted;
  uint32_t refused;
};

/// A command made with a token's right secrets.
struct commanded {
  uint8_t instance;
  uint8_t executed;
  uint64_t counter;
  uint8_t nonce[PFC_NONCE_BYTES];
};

/// One link as its app sees it.
struct link {
  struct pfc_session session;
  struct pfc_challenge challenge;  ///< The last one heard
  uint32_t asked;
  int live;
  unsigned opened;   ///< Tokens and orders that were opened for nothing
  unsigned refused;  ///< Commands and recalls with a wrong device proof
};

/// Content of orders and recalls that the hardware got about one instance.
struct told {
  uint32_t revoked;
  uint64_t recalled;          ///< 1 more than the highest counter recalled
  const struct issued *held;  ///< The last token that was answered with "held"
};

struct world {
  struct pfc_hardware hardware;
  struct pfc_platform platform;
  struct pfc_verifier verifier;
  struct link links[LINKS];
  uint8_t areas[PFC_SLOTS + 1][PFC_RECORD_COPIES][PFC_RECORD_BYTES_MAX];
  uint8_t uncertain[PFC_SLOTS + 1];  ///< The last write of this record failed.
  uint32_t seconds;
  uint32_t random_state;
  // Faults that the fuzzer ordered.
  unsigned write_countdown;  ///< This write from now fails; 0: none does.
  size_t write_torn;         ///< It leaves this many bytes.
  int read_fails;
  int random_fails;   ///< 1: fails, 2: repeats itself
  // The model.
  struct issued issued[TOKENS_MAX];
  unsigned issued_count;
  struct commanded commands[COMMANDS_MAX];
  unsigned command_count;
  uint64_t executed[COMMANDS_MAX];  ///< Counters of the challenges that led to an execution
  unsigned executed_count;
  struct told told[INSTANCES];
  uint64_t epoch;   ///< The latest time the hardware has agreed to have been told
  uint64_t latest;  ///< It cannot be later than this, as far as anything was ever signed; at `latest_seconds`
  uint32_t latest_seconds;
  uint64_t floor;
  uint64_t next_counter;  ///< Every later challenge has this counter or a higher one.
  uint8_t last_challenge[PFC_CHALLENGE_BYTES];
};

/// Storage, clock and randomness in `world`, which fail as its fields say.
struct pfc_platform world_platform(struct world *world);
/// Something was signed at this time.
void world_sign(struct world *world, uint64_t issued);
/// Provisions the hardware and starts it.
void world_start(struct world *world, int has_factory_secret);
/// Cuts the power: memory is lost, links are gone, storage is what it is.
void world_restart(struct world *world);
/// Ends the link; the next one over it begins anew.
void world_disconnect(struct link *link);
/// Hands one message to the verifier and judges the outcome. Returns the verdict.
uint8_t world_deliver(struct world *world, struct link *link, uint8_t type, const uint8_t *bytes, size_t size);
/// After any traffic: every instance that holds a token with attempts, uses and time left is served.
void world_check_owners(struct world *world);
/// Makes the command that `link`'s challenge and the token's secrets allow, and remembers it. Returns its size. With
/// `changed`, the app is not as measured: its device proof is right, its integrity proof is not.
size_t world_command(struct world *world, uint8_t message[PFC_MESSAGE_MAX], const struct link *link,
                     const struct issued *issued, int changed, uint8_t kind, uint8_t command_class,
                     const uint8_t *command, size_t command_size);

#endif
