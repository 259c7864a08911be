// SPDX-License-Identifier: Apache-2.0

/// The core's grants, for Tests/Vectors/check.py to read.

#include "emit.h"
#include "grant_stage.h"

#if PFC_GRANTS

static void emit_one(const struct app *owner, const struct app *member) {
  const struct pfc_grant *grant = &stage.grant;
  uint8_t digest[PFC_NONCE_BYTES];
  stage_sign(owner);
  CHECK_NUMBER(stage_present(grant->classes != 0 ? member : owner), PFC_VERDICT_DONE);
  pfc_grant_digest(digest, stage.bytes);
  begin_block("made_grant", grant->classes != 0 ? "a grant that lends, and its answer" : "one that takes back");
  field_bytes("hint", grant->hardware_id, 4);
  field_bytes("token_digest", owner->digest, 16);
  field_bytes("k", owner->token.secrets.integrity_key, 16);
  field_bytes("im", owner->token.secrets.integrity, 32);
  field_bytes("dpk", owner->token.secrets.device_key, 16);
  field_bytes("dm", owner->token.secrets.device, 32);
  field_bytes("owner", grant->owner, 16);
  field_bytes("member", grant->member, 16);
  field_number("generation", grant->generation);
  field_number("serial", grant->serial);
  field_number("classes", grant->classes);
  field_number("uses", grant->uses);
  field_number("end", grant->end);
  field_bytes("grant", stage.bytes, sizeof stage.bytes);
  field_bytes("digest", digest, sizeof digest);
  field_bytes("member_dpk", member->token.secrets.device_key, 16);
  field_bytes("answer", stage.world.outcome.reply, stage.world.outcome.reply_size);
}

void emit_grants(void) {
  stage_begin(PFC_USES_UNLIMITED);
  for (uint32_t serial = 1; serial < 5; serial++) {
    int back = serial == 3;
    stage_fill(&stage.owner, &stage.member, serial, (uint16_t)(back ? 0 : 1u << OPEN),
               (uint16_t)(back ? 0 : serial * 11));
    emit_one(&stage.owner, &stage.member);
  }
}

#endif
