// SPDX-License-Identifier: Apache-2.0

/// One piece of hardware with its flash, clock and dice; an issuer; apps that speak to it. For verifier tests.

#ifndef WORLD_H
#define WORLD_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "ProofCore.h"
#include "flash.h"
#include "forge.h"
#include "harness.h"

/// How the platform's random source behaves.
enum world_random { RANDOM_GOOD, RANDOM_FAILS, RANDOM_REPEATS };

struct world {
  struct flash flash;
  struct dice dice;
  enum world_random random;
  uint8_t last_random[PFC_CHALLENGE_BYTES];
  uint32_t seconds;  ///< Time of the platform's clock
  struct issuer issuer;
  struct pfc_hardware hardware;
  struct pfc_platform platform;
  struct pfc_verifier verifier;
  struct pfc_session links[2];
  struct pfc_session *link;    ///< The one in use; one of `links`
  struct pfc_outcome outcome;  ///< Outcome of the last message
  struct pfc_answer answer;    ///< The last VERDICT
  uint64_t highest_counter;    ///< Highest counter of all challenges so far
};

/// An app instance as the hardware meets it.
struct app {
  struct pfc_token token;          ///< Token that the backend grants with the next `app_issue`
  uint8_t bytes[PFC_TOKEN_BYTES];  ///< The token issued last
  uint8_t digest[PFC_TOKEN_DIGEST_BYTES];
  struct pfc_challenge challenge;    ///< Answered last
  uint8_t message[PFC_MESSAGE_MAX];  ///< The command made last
  size_t size;
  uint8_t nonce[PFC_NONCE_BYTES];
  uint8_t ratchet[PFC_RATCHET_BYTES];  ///< As `app_present` and `app_follow` leave it
  uint32_t known;                      ///< The last accepted counter, low bits
};

/// When the tests' backend issues its first token, in Unix seconds.
#define WORLD_BEGIN UINT64_C(1700000000)

/// Production hardware, provisioned, started, one link up, no clock (`world_clock`), challenges live 30 seconds.
void world_make(struct world *world, uint64_t seed);
/// Gives the hardware a factory secret, and provisions it anew.
void world_factory(struct world *world);
/// Gives the platform a clock, or takes it away, and restarts.
void world_clock(struct world *world, bool present);
/// The power comes back. Answers as `pfc_verifier_init`; both links are new.
int world_restart(struct world *world);

/// Sends one message over the link in use and answers with the verdict, 0 where the reply is none. Checks what must
/// hold for every answer to every message.
uint8_t world_send(struct world *world, uint8_t type, const uint8_t *message, size_t size);
/// Asks for a challenge; false if the hardware gave none.
bool world_ask(struct world *world, struct pfc_challenge *challenge);
struct pfc_status world_status(struct world *world);
/// Sends an order of the world's issuer.
uint8_t world_order(struct world *world, uint8_t type, uint64_t issued, const uint8_t *instance_id,
                    uint32_t generation);

/// Every permission, 3 attempts, uses without limit, generation 1, no end; secrets made from `seed`.
void app_make(struct app *app, const struct world *world, uint64_t seed);
/// Has the backend grant version 2, its base the generation that the token has now.
void app_renew(struct app *app);
/// Has the backend grant the next generation as an upcoming one, with secrets of another measurement.
void app_update(struct app *app);
/// Has the backend grant version 2 with this policy.
void app_ratchet(struct app *app, uint8_t policy);
/// Moves the app's ratchet as the verdict on its last command says.
void app_follow(struct app *app, uint8_t verdict);
/// Has the backend make a token of `app->token`.
void app_issue(struct app *app, const struct world *world);
/// Presents the token issued last.
uint8_t app_present(struct app *app, struct world *world);
/// Makes a command under `app->challenge`.
void app_command(struct app *app, const struct world *world, uint8_t kind, uint8_t class_, const char *text);
/// Sends the command made last.
uint8_t app_send(struct app *app, struct world *world);
/// Asks, makes, sends; checks the receipt of whatever verdict has one.
uint8_t app_do(struct app *app, struct world *world, uint8_t kind, uint8_t class_, const char *text);
/// Whether the last answer carries the receipt of the app's last command.
bool app_believes(const struct app *app, const struct world *world);
/// Recalls the app's last command; checks the receipt of whatever answer has one.
uint8_t app_recall(struct app *app, struct world *world);

#endif
