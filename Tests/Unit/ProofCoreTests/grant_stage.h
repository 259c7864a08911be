// SPDX-License-Identifier: Apache-2.0

/// A lock that takes grants, an owner who may lend one class, a member who may ring. For tests of grants.

#ifndef GRANT_STAGE_H
#define GRANT_STAGE_H

#include "world.h"

#if PFC_GRANTS

enum { OPEN = 0, RING = 1, SETTINGS = 2 };

#define GRANT_END (WORLD_BEGIN + 1000)

struct grant_stage {
  struct world world;
  struct app owner, member;
  struct pfc_grant grant;          ///< The one made last
  uint8_t bytes[PFC_GRANT_BYTES];  ///< With its tag
};

extern struct grant_stage stage;

/// Starts again, and takes grants.
int stage_start(void);
/// The owner's token has the given uses. Both tokens are held.
void stage_begin(uint32_t uses);
/// Issues the app's token and presents it.
uint8_t stage_hold(struct app *app);

/// Makes `stage.grant`: of one use until GRANT_END, from `from` to `to`.
void stage_fill(const struct app *from, const struct app *to, uint32_t serial, uint16_t classes, uint16_t uses);
/// Makes the bytes of `stage.grant` with the secrets and the token of `from`.
void stage_sign(const struct app *from);
/// Presents the bytes; checks the receipt of whatever answer has one, against the key of `to`.
uint8_t stage_present(const struct app *to);
/// The owner lends OPEN to the member, presented.
uint8_t stage_lend(uint32_t serial, uint16_t uses);
/// The owner takes back, presented.
uint8_t stage_take_back(uint32_t serial);

/// An integrity command.
uint8_t stage_do(struct app *app, uint8_t class_);
/// The detail of the last answer.
unsigned stage_detail(void);
struct pfc_slot *stage_slot(const struct app *app);
struct pfc_grant_row *stage_row(const struct app *app);

#endif

#endif
