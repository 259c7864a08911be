// SPDX-License-Identifier: Apache-2.0

/// One world with one app, for the tests of orders: those of time and floors, and those of revocations.

#ifndef ORDER_STAGE_H
#define ORDER_STAGE_H

#include "world.h"

extern struct world world;
extern struct app app;

/// Makes both anew.
void begin(uint64_t seed);

/// Issues a token of this generation and time, and presents it. The verdict.
uint8_t hold(uint32_t generation, uint64_t issued);

/// Orders the app's tokens up to a generation revoked. The verdict.
uint8_t revoke(uint32_t generation, uint64_t issued);

/// Raises the floor. The verdict.
uint8_t floor_at(uint64_t issued);

/// Sends a command with integrity proof. The verdict.
uint8_t act(void);

/// The link's budget of openings is another test's subject.
void new_link(void);

#endif
