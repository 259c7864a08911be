// SPDX-License-Identifier: Apache-2.0

/// The hardware's judgement: challenge, verdict, receipt.
///
/// The caller owns all memory: one `pfc_verifier` for the hardware, one `pfc_session` for each link. Time, randomness
/// and persistence are callbacks. Nothing allocates, recurses, or loops on a bound that an attacker chooses. Not
/// thread-safe: one caller at a time.
///
///     pfc_verifier_provision(...)            once, in the factory
///     pfc_verifier_init(...)                 at each start
///     pfc_verifier_keep_log(...)             then, on hardware that keeps a log
///     pfc_verifier_take_grants(...)          then, on hardware that takes grants
///     pfc_verifier_prepare(...)              then and while idle, on hardware that answers sealed commands
///     pfc_verifier_keep_channels(...)        then, on hardware that opens channels
///     pfc_session_init(&session)             at each connection
///     pfc_verifier_receive(...)              for each message; do `outcome.command` if the outcome says so
///     pfc_session_close(&session)            at each disconnection
///
/// Guarantees. A challenge is judged at most once, also across a power cut. Uses and attempts only go down, and
/// generations only go up. A refused message changes nothing but the challenge, which is spent, and the attempts. An
/// attempt is counted only if the device proof was right and the integrity proof was not. A stranger has no right
/// device proof and so cannot spend an owner's attempts.
///
/// One skipped instruction, as a glitch of the supply or the clock makes it, accepts nothing that is to be refused:
/// what is accepted was judged twice (verifier_review.c). The firmware does its part by asking twice as well, see
/// PFC_EXECUTE.

#ifndef PFC_VERIFIER_H
#define PFC_VERIFIER_H

#include <stddef.h>
#include <stdint.h>

#include "grant_record.h"
#include "hardware.h"
#include "ledger.h"
#include "logbook_ring.h"
#include "message.h"
#include "record.h"
#include "result.h"
#include "wire.h"

#ifdef __cplusplus
extern "C" {
#endif

/// Functions that the firmware provides.
struct pfc_platform {
  void *context;
  /// Fills with random bytes; 0, or anything else on failure. Must be a good generator: challenges come from it.
  int (*random)(void *context, uint8_t *bytes, size_t size);
  /// Seconds since start, never going back. NULL if there is no clock.
  uint32_t (*seconds)(void *context);
  struct pfc_storage storage;
};

#if PFC_CHANNEL
/// A channel that waits for its next command (channel.h). Secret; all zeros where there is none.
struct pfc_channel {
  /// First, so that a copy of the whole ends with what is public: compilers leave its last bytes in a register.
  uint8_t chain[PFC_CHANNEL_KEY_BYTES];
  uint64_t next;    ///< Counter of the next command; never 0
  uint64_t before;  ///< Counter of the command before: the instance's last accepted one
  uint32_t opened;  ///< Platform seconds
  uint32_t sum;     ///< Checksum of `chain`
  uint8_t slot;
  uint8_t kind;  ///< That of the command that opened it
  uint8_t left;  ///< Commands, this one included
  uint8_t token_digest[PFC_TOKEN_DIGEST_BYTES];
};
#endif

#if PFC_SEALS_COMMANDS
/// The hardware's X25519 key for the next sealed command. Secret.
struct pfc_seal_key {
  uint8_t on;     ///< 1: this hardware answers sealed commands
  uint8_t ready;  ///< 1: `secret` is there
  uint32_t number;  ///< The pair's, from 1; 0 before the first
  uint32_t made;    ///< Platform seconds
  uint8_t secret[PFC_SECRET_KEY_BYTES];      ///< e_lock
  uint8_t public_key[PFC_PUBLIC_KEY_BYTES];  ///< E_lock
};
#endif

/// The verifier's state. Secret. Its fields are the core's own business.
struct pfc_verifier {
  const struct pfc_hardware *hardware;
  struct pfc_platform platform;
  uint8_t ready;
  uint64_t epoch;          ///< It was at least this late …
  uint32_t epoch_seconds;  ///< … when the platform's clock showed this
  uint8_t last_random[PFC_CHALLENGE_BYTES];
  /// Challenges before this counter are dead for the slot's instance: it has recalled one, or a later one was answered.
  uint64_t alive_from[PFC_SLOTS];
#if PFC_RATCHETS
  uint32_t unsure;  ///< Bit i: storage failed while a command of slot i was accepted. What it holds is not known.
  uint32_t noted;   ///< Bit i: slot i has stored a refused copy since the start.
#endif
#if PFC_KEEPS_LOG
  struct pfc_log_ring *log;  ///< NULL: this hardware keeps no log.
#endif
#if PFC_SEALS_COMMANDS
  struct pfc_seal_key seal;
  uint8_t opened[PFC_SEALED_PLAIN_MAX];  ///< Content of the last sealed command; wiped with the next message
#endif
#if PFC_CHANNEL
  uint8_t channels;  ///< 1: this hardware opens channels
#endif
#if PFC_GRANTS
  struct pfc_grants grants;
#endif
  uint64_t swept_from;             ///< The highest of these when a floor last freed slots: new instances start here.
  struct pfc_ledger ledger;
};

/// One link. Owned by the caller. Secret where the build opens tokens.
struct pfc_session {
  struct pfc_challenge challenge;
  uint32_t asked;     ///< Platform seconds when the challenge was made
  uint8_t live;       ///< 1 while the challenge may be answered
  uint8_t openings;   ///< Tokens and orders that cost public-key work and failed
  uint8_t refusals;   ///< Commands and recalls whose device proof was wrong
#if PFC_SEALS_COMMANDS
  uint32_t seal_number;  ///< The number of the E_lock that came with the challenge; 0 if none did
#endif
#if PFC_CHANNEL
  struct pfc_channel channel;  ///< At most one for each link and for each instance
#endif
#if PFC_OPENS_TOKENS
  /// The upcoming token that was presented on this link last, or a free slot. In memory only: it replaces the
  /// instance's slot when a command proves its generation, and is gone at the disconnection.
  struct pfc_slot candidate;
#endif
};

/// Seconds by which one signature can move the hardware's time: 400 days. A token or an order that was issued later
/// than this beyond the known time is refused, so that an issuer whose clock was wrong once ends no token for good.
/// A lock that was without power for longer is brought up by several epoch orders, each within the step.
#define PFC_EPOCH_STEP 34560000u

#define PFC_SESSION_OPENINGS_MAX 4
#define PFC_SESSION_REFUSALS_MAX 16
#define PFC_SESSION_WAIT_SECONDS 5

/// Value of `outcome.execute` when the command is to be done, in many bits. The firmware compares with it before the
/// call that executes a command, and again inside that function. It clears the outcome before it lends it and after the
/// command, so that no earlier message's outcome is taken for this one's.
#define PFC_EXECUTE 0x5ac39a66u

/// Outcome of a message.
struct pfc_outcome {
  uint8_t verdict;        ///< enum pfc_verdict; PFC_VERDICT_NONE when a challenge or status is the reply
  uint32_t execute;       ///< PFC_EXECUTE if `command` is to be done now; 0 otherwise
  uint8_t command_class;  ///< Valid if `execute`
  uint8_t kind;           ///< enum pfc_kind; valid if `execute`
  /// Leads into the message; for a sealed command into the verifier, until the next message. Valid if `execute`
  const uint8_t *command;
  size_t command_size;
  uint64_t counter;  ///< Counter of the challenge it answers; valid if `execute`
#if PFC_RATCHETS
  uint32_t known;  ///< Kinds with a ratchet: the last accepted counter as the app knows it. 0 otherwise. For the log
#endif
  /// Leads into the message, or into the slot of a sealed command, for the log; NULL where the message names none
  const uint8_t *instance_id;
#if PFC_SEALS_COMMANDS
  uint16_t sealed_detail;  ///< The detail within a SEALED-DOWN, for the log; 0 otherwise
#endif
  uint8_t reply_type;          ///< enum pfc_message_type
  uint8_t reply[PFC_REPLY_MAX];
  size_t reply_size;
};

/// Formats the storage: no slots. It is at least `epoch` (Unix seconds): pass the time of provisioning. With 0 and a
/// floor of 0 the time is unknown, and the first signature sets it to anything. Tokens issued before `floor` (0 for
/// none) will be
/// refused: pass the time of provisioning when hardware that lost its storage comes back, so that what was revoked or
/// superseded before stays so. The challenge counter starts at `counter`: pass 0 the first time, and later a value no
/// challenge had before, if one is known.
PFC_MUST_USE int pfc_verifier_provision(const struct pfc_hardware *hardware, const struct pfc_platform *platform,
                                        uint64_t epoch, uint64_t floor, uint64_t counter);

/// Starts: loads every record, reserves challenge counters. `hardware` is borrowed, `platform` is copied.
/// PFC_E_DAMAGED if a record has no intact copy: the hardware then refuses everything until it is provisioned again.
/// PFC_E_STORAGE if storage does not answer. PFC_E_ARGUMENT if `hardware` or `platform` cannot be right.
PFC_MUST_USE int pfc_verifier_init(struct pfc_verifier *verifier, const struct pfc_hardware *hardware,
                                   const struct pfc_platform *platform);

#if PFC_KEEPS_LOG
/// Starts the log in this flash (docs/SPEC.md, section 17), before the first message. `ring` and `flash` are borrowed.
/// From then on a command, a token or an order has its entry before it is carried out, and is answered with *fault* if
/// the entry cannot be written. Answers as `pfc_log_ring_start`; PFC_E_ARGUMENT if the verifier has not started. On
/// failure the hardware refuses everything: hardware that is to keep a log opens nothing without one.
PFC_MUST_USE int pfc_verifier_keep_log(struct pfc_verifier *verifier, struct pfc_log_ring *ring,
                                       const struct pfc_log_flash *flash);
#endif

#if PFC_GRANTS
/// Loads the loans, and takes grants from then on (docs/SPEC.md, section 19), before the first message. Call it at
/// every start once it was called: firmware that stops must format the records (`pfc_grants_format`). Answers as
/// `pfc_grants_load`; PFC_E_ARGUMENT if the verifier has not started. On failure the hardware refuses everything.
PFC_MUST_USE int pfc_verifier_take_grants(struct pfc_verifier *verifier);
#endif

#if PFC_SEALS_COMMANDS
/// Makes the key of the next sealed command, unless one is there that is younger than PFC_SEAL_SECONDS: one X25519.
/// Call it at the start and then while idle, at best each second: without a key, who asks for one is told to wait.
/// The first call makes the hardware answer sealed commands, and tell so in its capabilities. PFC_E_ARGUMENT if the
/// verifier has not started, PFC_E_RANDOM if the generator fails or repeats itself: call it again later.
PFC_MUST_USE int pfc_verifier_prepare(struct pfc_verifier *verifier);
#endif

#if PFC_CHANNEL
/// Opens channels from then on, and tells so in the capabilities where sealed commands are answered.
/// PFC_E_ARGUMENT if the verifier has not started.
PFC_MUST_USE int pfc_verifier_keep_channels(struct pfc_verifier *verifier);
#endif

/// Wipes the state, and that of the log.
void pfc_verifier_wipe(struct pfc_verifier *verifier);

/// Begins a link: no live challenge, nothing refused yet. Call it at each connection.
void pfc_session_init(struct pfc_session *session);
/// Kills the live challenge and wipes the channel. The next link needs a new one.
void pfc_session_close(struct pfc_session *session);

/// Judges one message. Always fills `*outcome`, whose reply is to be sent. Never fails otherwise: refusal is a verdict.
void pfc_verifier_receive(struct pfc_verifier *verifier, struct pfc_session *session, uint8_t type,
                          const uint8_t *message, size_t size, struct pfc_outcome *outcome);

/// It is at least this late, as far as the hardware knows. Unix seconds, 0 if it knows nothing.
uint64_t pfc_verifier_epoch(const struct pfc_verifier *verifier);

/// Public facts, for a status characteristic.
void pfc_verifier_status(const struct pfc_verifier *verifier, struct pfc_status *status);

#if PFC_OPENS_TOKENS
/// Public facts, for the characteristic 000A. Hardware that did not start tells no feature and an id of zeros.
void pfc_verifier_capabilities(const struct pfc_verifier *verifier, struct pfc_capabilities *capabilities);
#endif

#ifdef __cplusplus
}
#endif

#endif
