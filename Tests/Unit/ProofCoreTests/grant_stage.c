// SPDX-License-Identifier: Apache-2.0

#include "grant_stage.h"

#include <string.h>

#if PFC_GRANTS

struct grant_stage stage;

int stage_start(void) {
  CHECK_NUMBER(world_restart(&stage.world), PFC_OK);
  return pfc_verifier_take_grants(&stage.world.verifier);
}

uint8_t stage_hold(struct app *app) {
  app_issue(app, &stage.world);
  return app_present(app, &stage.world);
}

void stage_begin(uint32_t uses) {
  memset(&stage, 0, sizeof stage);
  world_make(&stage.world, 200);
  CHECK_NUMBER(stage_start(), PFC_OK);
  app_make(&stage.owner, &stage.world, 201);
  app_renew(&stage.owner);
  stage.owner.token.integrity_classes = 1u << OPEN | 1u << RING | 1u << SETTINGS;
  stage.owner.token.device_classes = 1u << OPEN;
  stage.owner.token.delegable_classes = 1u << OPEN;
  stage.owner.token.uses = uses;
  app_make(&stage.member, &stage.world, 202);
  app_renew(&stage.member);
  stage.member.token.integrity_classes = 1u << RING;
  stage.member.token.device_classes = 0;
  CHECK_NUMBER(stage_hold(&stage.owner), PFC_VERDICT_HELD);
  CHECK_NUMBER(stage_hold(&stage.member), PFC_VERDICT_HELD);
}

void stage_fill(const struct app *from, const struct app *to, uint32_t serial, uint16_t classes, uint16_t uses) {
  struct pfc_grant *grant = &stage.grant;
  memset(grant, 0, sizeof *grant);
  memcpy(grant->hardware_id, stage.world.hardware.id, PFC_ID_BYTES);
  memcpy(grant->owner, from->token.instance_id, PFC_ID_BYTES);
  memcpy(grant->member, to->digest, PFC_TOKEN_DIGEST_BYTES);
  grant->generation = from->token.generation;
  grant->serial = serial;
  grant->classes = classes;
  grant->uses = uses;
  grant->end = classes != 0 ? GRANT_END : 0;
}

void stage_sign(const struct app *from) {
  CHECK_NUMBER(pfc_grant_create(stage.bytes, &stage.grant, &from->token.secrets, from->digest), PFC_OK);
}

uint8_t stage_present(const struct app *to) {
  uint8_t digest[PFC_NONCE_BYTES];
  uint8_t verdict = world_send(&stage.world, PFC_MESSAGE_GRANT, stage.bytes, sizeof stage.bytes);
  pfc_grant_digest(digest, stage.bytes);
  if (verdict == PFC_VERDICT_DONE) {
    CHECK_NUMBER(pfc_receipt_check(stage.world.answer.receipt, to->token.secrets.device_key, digest, verdict,
                                   stage.world.answer.detail, 0),
                 PFC_OK);
  }
  return verdict;
}

uint8_t stage_lend(uint32_t serial, uint16_t uses) {
  stage_fill(&stage.owner, &stage.member, serial, 1u << OPEN, uses);
  stage_sign(&stage.owner);
  return stage_present(&stage.member);
}

uint8_t stage_take_back(uint32_t serial) {
  stage_fill(&stage.owner, &stage.member, serial, 0, 0);
  stage_sign(&stage.owner);
  return stage_present(&stage.owner);
}

uint8_t stage_do(struct app *app, uint8_t class_) {
  uint8_t policy = app->token.policy & PFC_POLICY_RATCHET;
  uint8_t verdict = app_do(app, &stage.world, policy != 0 ? PFC_KIND_INTEGRITY_RATCHET : PFC_KIND_INTEGRITY, class_,
                           "open");
  if (policy != 0) app_follow(app, verdict);
  return verdict;
}

unsigned stage_detail(void) { return stage.world.answer.detail; }

struct pfc_slot *stage_slot(const struct app *app) {
  struct pfc_ledger *ledger = &stage.world.verifier.ledger;
  return &ledger->slots[pfc_ledger_find(ledger, app->token.instance_id)];
}

struct pfc_grant_row *stage_row(const struct app *app) {
  return &stage.world.verifier.grants.rows[stage_slot(app) - stage.world.verifier.ledger.slots];
}

#endif
