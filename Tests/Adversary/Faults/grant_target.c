// SPDX-License-Identifier: Apache-2.0

// Grants, and commands of classes that are lent or no more (docs/SPEC.md, section 19), for target.c.

#include "target.h"

#include <string.h>

enum { OPEN = 0, RING = 1, SETTINGS = 2 };

uint8_t grant_class;
static struct app owner;

/// Owner and member hold tokens; `app` is the member.
static void begin_grants(void) {
  begin();
  CHECK_NUMBER(pfc_verifier_take_grants(&world.verifier), PFC_OK);
  app_renew(&app);
  app.token.delegable_classes = 1u << OPEN;
  hold();
  owner = app;
  app_make(&app, &world, 7);
  app_renew(&app);
  app.token.integrity_classes = 1u << RING;
  app.token.device_classes = 0;
  hold();
  grant_class = OPEN;
}

static void make_with(uint32_t serial, uint16_t classes, uint16_t uses, uint32_t generation, const uint8_t *member) {
  struct pfc_grant grant = {.generation = generation,
                            .serial = serial,
                            .classes = classes,
                            .uses = uses,
                            .end = classes != 0 ? WORLD_BEGIN + 50 : 0};
  memcpy(grant.hardware_id, world.hardware.id, PFC_ID_BYTES);
  memcpy(grant.owner, owner.token.instance_id, PFC_ID_BYTES);
  memcpy(grant.member, member, PFC_TOKEN_DIGEST_BYTES);
  CHECK_NUMBER(pfc_grant_create(message, &grant, &owner.token.secrets, owner.digest), PFC_OK);
  message_size = PFC_GRANT_BYTES;
}

static void make(uint32_t serial, uint16_t classes, uint16_t uses) {
  make_with(serial, classes, uses, 1, app.digest);
}

/// The member has a loan of so many uses, and sends a command of the class.
static void borrow(uint16_t uses) {
  begin_grants();
  make(1, 1u << OPEN, uses);
  CHECK_NUMBER(world_send(&world, PFC_MESSAGE_GRANT, message, message_size), PFC_VERDICT_DONE);
}

// Grants ---------------------------------------------------------------------------------------------------------

static void changed_app(void) {
  begin_grants();
  owner.token.secrets.integrity[0] ^= 1;
  make(1, 1u << OPEN, 3);
}

static void altered(void) {
  begin_grants();
  make(1, 1u << OPEN, 3);
  message[50] ^= 8;
}

static void wider(void) {
  begin_grants();
  make(1, 1u << OPEN | 1u << SETTINGS, 3);
  grant_class = SETTINGS;
}

static void generation(void) {
  begin_grants();
  make_with(1, 1u << OPEN, 3, 2, app.digest);
}

/// For the token of another phone.
static void other_member(void) {
  uint8_t digest[PFC_TOKEN_DIGEST_BYTES];
  begin_grants();
  memcpy(digest, app.digest, sizeof digest);
  digest[15] ^= 1;
  make_with(1, 1u << OPEN, 3, 1, digest);
}

/// The serial of a loan that is used up.
static void serial(void) {
  borrow(1);
  prove(PFC_KIND_INTEGRITY, OPEN);
  CHECK_NUMBER(send(), PFC_VERDICT_ACCEPTED);
  make(1, 1u << OPEN, 9);
}

/// The very grant again, when its loan is used up.
static void again(void) {
  borrow(1);
  prove(PFC_KIND_INTEGRITY, OPEN);
  CHECK_NUMBER(send(), PFC_VERDICT_ACCEPTED);
  make(1, 1u << OPEN, 1);
}

static void takes_back(void) {
  borrow(3);
  make(2, 0, 0);
}

/// The owner is told nothing of a loan that stands.
static void takes_back_late(void) {
  borrow(3);
  make(1, 0, 0);
}

// Commands -------------------------------------------------------------------------------------------------------

static void not_lent(void) {
  begin_grants();
  prove(PFC_KIND_INTEGRITY, OPEN);
}

static void spent(void) {
  borrow(1);
  prove(PFC_KIND_INTEGRITY, OPEN);
  CHECK_NUMBER(send(), PFC_VERDICT_ACCEPTED);
  prove(PFC_KIND_INTEGRITY, OPEN);
}

static void over(void) {
  borrow(3);
  CHECK_NUMBER(world_order(&world, PFC_ORDER_EPOCH, WORLD_BEGIN + 100, NULL, 0), PFC_VERDICT_DONE);
  prove(PFC_KIND_INTEGRITY, OPEN);
}

static void taken_back(void) {
  takes_back();
  CHECK_NUMBER(world_send(&world, PFC_MESSAGE_GRANT, message, message_size), PFC_VERDICT_DONE);
  prove(PFC_KIND_INTEGRITY, OPEN);
}

static void owner_revoked(void) {
  borrow(3);
  CHECK_NUMBER(world_order(&world, PFC_ORDER_REVOKE, WORLD_BEGIN + 1, owner.token.instance_id, 1), PFC_VERDICT_DONE);
  prove(PFC_KIND_INTEGRITY, OPEN);
}

static void owner_lends_no_more(void) {
  struct app member;
  borrow(3);
  member = app;
  app = owner;
  app.token.generation = 2;
  app.token.delegable_classes = 0;
  hold();
  app = member;
  prove(PFC_KIND_INTEGRITY, OPEN);
}

static void device_match(void) {
  borrow(3);
  prove(PFC_KIND_DEVICE, OPEN);
}

static void members_changed_app(void) {
  borrow(3);
  app.token.secrets.integrity[0] ^= 1;
  prove(PFC_KIND_INTEGRITY, OPEN);
}

const struct scenario grant_scenarios[] = {
    {"grant-changed-app", changed_app, PFC_VERDICT_DEVICE_DIFFERS, THEN_BORROW},
    {"grant-altered", altered, PFC_VERDICT_DEVICE_DIFFERS, THEN_BORROW},
    {"grant-wider", wider, PFC_VERDICT_NOT_PERMITTED, THEN_BORROW},
    {"grant-generation", generation, PFC_VERDICT_SUPERSEDED, THEN_BORROW},
    {"grant-other-member", other_member, PFC_VERDICT_UNKNOWN, THEN_BORROW},
    {"grant-serial", serial, PFC_VERDICT_NOT_PERMITTED, THEN_BORROW},
    {"grant-again", again, PFC_VERDICT_DONE, THEN_BORROW},
    {"grant-takes-back", takes_back, PFC_VERDICT_DONE, THEN_LOSE},
    {"grant-takes-back-late", takes_back_late, PFC_VERDICT_NOT_PERMITTED, THEN_LOSE},
    {"lent-not", not_lent, PFC_VERDICT_NOT_PERMITTED, ONCE},
    {"lent-spent", spent, PFC_VERDICT_NOT_PERMITTED, ONCE},
    {"lent-over", over, PFC_VERDICT_NOT_PERMITTED, ONCE},
    {"lent-taken-back", taken_back, PFC_VERDICT_NOT_PERMITTED, ONCE},
    {"lent-owner-revoked", owner_revoked, PFC_VERDICT_NOT_PERMITTED, ONCE},
    {"lent-owner-lends-no-more", owner_lends_no_more, PFC_VERDICT_NOT_PERMITTED, ONCE},
    {"lent-device-match", device_match, PFC_VERDICT_NOT_PERMITTED, ONCE},
    {"lent-changed-app", members_changed_app, PFC_VERDICT_INTEGRITY_DIFFERS, ONCE},
    {NULL, NULL, 0, ONCE},
};
