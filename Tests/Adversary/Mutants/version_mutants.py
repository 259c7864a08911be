# SPDX-License-Identifier: Apache-2.0

"""The rules of version 2, each taken out once: tokens, factory secret, stored records; as in mutants.py."""

TOKEN = "token.c"
SLOT = "slot.c"
RECORD = "record.c"

VERSION_MUTANTS = [
    # 13. Where there is a factory secret, no token is opened that was made without it.
    (13, "suite 1 is taken where there is a factory secret", "version",
     [(TOKEN, "if (bytes[AT_SUITE] != PFC_SUITE_FACTORY && hardware->has_factory_secret != 0) "
       "return PFC_E_MODE;", "")]),
    (13, "suite 2 is taken where there is no factory secret", "version",
     [(TOKEN, "return hardware->has_factory_secret == 1;", "return 1;")]),
    (13, "version 1 may have suite 2", "hostile",
     [(TOKEN, "if (version == PFC_TOKEN_VERSION_2 && suite == PFC_SUITE_FACTORY)", "if (suite == PFC_SUITE_FACTORY)")]),
    (13, "the box's key does not need the factory secret", "version",
     [(TOKEN, "memcpy(input + 32, seal->factory_secret, PFC_FACTORY_SECRET_BYTES);",
       "memset(input + 32, 0, PFC_FACTORY_SECRET_BYTES);")]),
    (13, "the box's key does not need X25519", "vectors",
     [(TOKEN, "  memcpy(input + 32, seal->factory", "  memset(input, 0, 32);\n  memcpy(input + 32, seal->factory")]),
    (13, "the box's key does not name the hardware", "hostile",
     [(TOKEN, "memcpy(info + 2 * PFC_PUBLIC_KEY_BYTES, seal->hardware_id, PFC_ID_BYTES);",
       "memset(info + 2 * PFC_PUBLIC_KEY_BYTES, 0, PFC_ID_BYTES);")]),
    (13, "the box's key does not cover the header", "vectors",
     [(TOKEN, "memcpy(info + 2 * PFC_PUBLIC_KEY_BYTES + PFC_ID_BYTES, head, PFC_TOKEN_HEAD_BYTES);",
       "memset(info + 2 * PFC_PUBLIC_KEY_BYTES + PFC_ID_BYTES, 0 * head[0], PFC_TOKEN_HEAD_BYTES);")]),
    (13, "the box's key does not name the recipient", "vectors",
     [(TOKEN, "memcpy(info + PFC_PUBLIC_KEY_BYTES, seal->recipient, PFC_PUBLIC_KEY_BYTES);",
       "memset(info + PFC_PUBLIC_KEY_BYTES, 0, PFC_PUBLIC_KEY_BYTES);")]),
    (13, "a zero result of X25519 seals by suite 2", "hostile",
     [(TOKEN, "seal->other) == PFC_OK ? PFC_OK : PFC_E_RECIPIENT;", "seal->other) == PFC_OK ? PFC_OK : PFC_OK;")]),
    (13, "a box's authenticator is not compared", "version",
     [("crypto.c", "if (crypto_secretbox_open_easy(message, boxed, size, box_nonce, key) == 0) return PFC_OK;",
       "if (crypto_secretbox_open_easy(message, boxed, size, box_nonce, key) <= 0) return PFC_OK;")]),
    (13, "literal secrets are taken by suite 2", "hostile",
     [(TOKEN, "if (token->form == PFC_FORM_LITERAL && head[AT_SUITE] == PFC_SUITE_FACTORY) return PFC_E_MODE;", "")]),
    (13, "hardware starts with a factory secret of zeros, or unmarked", "version",
     [("hardware.c", "    if (pfc_is_zero(hardware->factory_secret, PFC_FACTORY_SECRET_BYTES) == "
       "hardware->has_factory_secret) {\n      return PFC_E_ARGUMENT;\n    }\n", "")]),
    (13, "all hardware of a factory has one secret", "version",
     [("hardware.c", "drawn, PFC_FACTORY_SECRET_BYTES, hardware_id, PFC_ID_BYTES);",
       "drawn, PFC_FACTORY_SECRET_BYTES, hardware_id, 0);")]),
    (13, "a downgrade is told without its reason", "version",
     [(TOKEN, "  if (result == PFC_E_MODE) return PFC_TOLD(PFC_DETAIL_SUITE);\n", "")]),
    # 14. Version 2 is signed for one piece of hardware, and what it says and this build does not know is refused.
    (14, "version 2 signs no hardware id", "hostile",
     [(TOKEN, "    memcpy(at, hardware_id, PFC_ID_BYTES);\n", "    memset(at, 0 * hardware_id[0], PFC_ID_BYTES);\n")]),
    (14, "both versions are signed under one label", "vectors",
     [(TOKEN, "second ? PFC_LABEL_TOKEN_SIGN_2 : PFC_LABEL_TOKEN_SIGN", "PFC_LABEL_TOKEN_SIGN")]),
    (14, "a policy that is not carried out is taken", "hostile",
     [(TOKEN, "unknown = unknown_policy(token->policy) | body[AT_ZERO];", "unknown = body[AT_ZERO];")]),
    (14, "the reserved policy 3 is taken", "hostile",
     [(TOKEN, "(uint8_t)((policy << 1) & policy & PFC_RATCHET_REFUSE);", "0;")]),
    (14, "the byte behind the policy may be anything", "hostile",
     [(TOKEN, "unknown = unknown_policy(token->policy) | body[AT_ZERO];",
       "unknown = unknown_policy(token->policy);")]),
    (14, "the extension may be anything", "hostile",
     [(TOKEN, "for (size_t i = AT_EXTENSION; i < AT_INSTANCE; i++) unknown |= body[i];", "")]),
    (14, "an unknown bit is told as malformed", "hostile", [(TOKEN, "if (unknown != 0) return PFC_E_TOO_NEW;",
                                                           "if (unknown != 0) return PFC_E_MALFORMED;")]),
    (14, "classes may be passed on that the token has not", "hostile",
     [(TOKEN, "((token->device_classes | token->delegable_classes) &", "((token->device_classes) &")]),
    (14, "a base above the generation is taken", "hostile", [(TOKEN, " || token->base > token->generation)", ")")]),
    (14, "a base of 0 is taken", "hostile", [(TOKEN, "(token->base == 0 || token->base", "(token->base")]),
    (14, "the creator puts fields of version 2 into version 1", "version",
     [(TOKEN, "return token->version == PFC_VERSION && token->policy == 0 && token->delegable_classes == 0 &&\n"
       "         token->base == 0;", "return token->version == PFC_VERSION;")]),
    (14, "delegable classes are not stored", "version",
     [(SLOT, "pfc_put16(bytes + AT_DELEGABLE, slot->delegable_classes);", "")]),
    # 15. Records of version 1 are read once, and never counted again.
    (15, "a copy of version 1 is left beside the new one", "upgrade",
     [("ledger.c", "for (unsigned copies = 0; copies < PFC_RECORD_COPIES && result == PFC_OK; copies++) {\n"
       "      result = pfc_ledger_store(ledger, i);",
       "for (unsigned copies = 0; copies < 1 && result == PFC_OK; copies++) {\n"
       "      result = pfc_ledger_store(ledger, i);")]),
    (15, "a global copy of version 1 is left", "upgrade",
     [("ledger.c", "  if (ledger->global.has_old) result = put_global(ledger, ledger->counter_end, ledger->epoch, "
       "ledger->floor);\n", "")]),
    (15, "only a current copy of version 1 is renewed", "upgrade",
     [("ledger.c", "if (!ledger->records[i].has_old) continue;", "if (!ledger->records[i].is_old) continue;")]),
    (15, "a slot of version 1 is taken as it stands", "upgrade",
     [("ledger.c", "if (result == PFC_OK && record->is_old) pfc_slot_upgrade(bytes + PFC_RECORD_HEAD_BYTES);", "")]),
    (15, "what stood behind a slot of version 1 is kept", "upgrade",
     [(SLOT, "  memset(bytes + AT_RATCHET, 0, PFC_SLOT_BYTES - AT_RATCHET);\n}", "}")]),
    (15, "a slot of later firmware is taken without its ratchet", "upgrade",
     [(SLOT, "if (is_later(bytes)) return PFC_E_TOO_NEW;", "(void)is_later;")]),
    (15, "a recall compares no nonce", "script",
     [("verifier_judgement.c", "memcmp(recall->nonce, slot->last.nonce, PFC_LAST_NONCE_BYTES) == 0", "1")]),
]
