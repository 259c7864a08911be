// SPDX-License-Identifier: Apache-2.0

/// Shared by the lists of scenarios: one device, its owner's app, and the message that is judged.

#ifndef TARGET_H
#define TARGET_H

#include <stddef.h>
#include <stdint.h>

#include "ProofCore.h"
#include "device.h"
#include "world.h"

struct scenario {
  const char *name;
  void (*make)(void);
  uint8_t verdict;  ///< Expected verdict if no fault is injected
  /// After the walk: nothing, the message again, a command, a copy's command of a class that is refused to copies; or,
  /// where the message is a GRANT, a command of `grant_class`, which is not lent, or must not be if the owner was told
  /// also; or, behind a sealed command that opens no channel, the channel's first command
  enum { ONCE, TWICE, THEN_ACT, THEN_USE, THEN_BORROW, THEN_LOSE, THEN_GO_ON } then;
};

extern struct world world;
extern struct app app;
extern uint8_t message[PFC_MESSAGE_MAX];
extern size_t message_size;
extern uint8_t message_type;  ///< COMMAND unless a scenario says otherwise

/// A device with a clock, and an app whose token is not yet issued.
void begin(void);
/// Has the app's token issued and held.
void hold(void);
/// A right command in the clear, to be spoilt.
void prove(uint8_t kind, uint8_t class_);
/// Sends the message as the device does it: with the stack as deep, and what it leaves there in the same places.
/// The verdict, however it is told.
uint8_t send(void);

/// Ends with an entry without a name.
extern const struct scenario sealed_scenarios[];
extern const struct scenario grant_scenarios[];
extern const struct scenario channel_scenarios[];
extern uint8_t grant_class;

/// A device with a key for the next sealed command, and a held token of this policy.
void sealed_begin(uint8_t policy);
/// Makes a right sealed command.
void sealed_make(uint8_t kind, uint8_t class_);
/// The app's part of it.
const struct pfc_sealed_sent *sealed_last(void);
/// Behind a sealed command: what would be the first command of its channel.
void channel_go_on(void);
/// As `sealed_answer`, to the last SEALED-UP.
int channel_answer(struct pfc_answer *answer, const uint8_t *reply);
/// Opens the answer to the last sealed command; PFC_OK, or why it does not open.
int sealed_answer(struct pfc_answer *answer, const uint8_t *reply);
/// A sealed command of the copy that forked the ratchet with its last one.
void sealed_use(void);

#endif
