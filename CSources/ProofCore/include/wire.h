// SPDX-License-Identifier: Apache-2.0

/// The whole wire in one view: every length, tag, label and limit, once.
///
/// All integers are little-endian. All lengths are in bytes. docs/SPEC.md explains each of them; if the two differ,
/// docs/SPEC.md is right and this file has a defect.

#ifndef PFC_WIRE_H
#define PFC_WIRE_H

// A build for a small machine names its configuration header: -DPFC_PROFILE='"symmetric.h"' (docs/FIRMWARE.md).
#ifdef PFC_PROFILE
#include PFC_PROFILE
#endif

#ifndef PFC_OPENS_TOKENS
/// 0: tokens and orders are opened elsewhere, and hardware is provisioned there. No public-key arithmetic is linked;
/// the functions that open, that verify with an issuer's key and that provision a unit are not there.
#define PFC_OPENS_TOKENS 1
#endif

#ifndef PFC_RATCHETS
/// 0: slots have no ratchet. Tokens, stored slots and commands with one are *too new*.
#define PFC_RATCHETS PFC_OPENS_TOKENS
#endif

#ifndef PFC_KEEPS_LOG
/// 0: the verifier writes no log (section 17), and its functions for that are not there. 1: it writes one where the
/// firmware says so, with `pfc_verifier_keep_log`.
#define PFC_KEEPS_LOG PFC_OPENS_TOKENS
#endif

#ifndef PFC_SEALS_COMMANDS
/// 0: sealed commands (section 18) and the functions for them are not there. 1: the verifier answers them where the
/// firmware says so, with `pfc_verifier_prepare`.
#define PFC_SEALS_COMMANDS (PFC_OPENS_TOKENS && PFC_RATCHETS)
#endif
#if PFC_SEALS_COMMANDS && !(PFC_OPENS_TOKENS && PFC_RATCHETS)
#error "PFC_SEALS_COMMANDS needs PFC_OPENS_TOKENS and PFC_RATCHETS"
#endif

#ifndef PFC_CHANNEL
/// 0: channels (section 20) and the functions for them are not there; tokens that permit one are *too new*. 1: the
/// verifier opens them where the firmware says so, with `pfc_verifier_keep_channels`.
#define PFC_CHANNEL PFC_SEALS_COMMANDS
#endif
#if PFC_CHANNEL && !PFC_SEALS_COMMANDS
#error "PFC_CHANNEL needs PFC_SEALS_COMMANDS"
#endif

#ifndef PFC_GRANTS
/// 0: grants (section 19) and the verifier's functions for them are not there. 1: the verifier takes them where the
/// firmware says so, with `pfc_verifier_take_grants`.
#define PFC_GRANTS PFC_OPENS_TOKENS
#endif
#if PFC_GRANTS && !PFC_OPENS_TOKENS
#error "PFC_GRANTS needs PFC_OPENS_TOKENS"
#endif

#ifndef PFC_TELLS_DETAILS
/// 0: the detail of a refusal is 0 in every VERDICT, but for attempts left and seconds to wait. For hardware without
/// room for more.
#define PFC_TELLS_DETAILS 1
#endif

// Formats ------------------------------------------------------------------------------------------------------

#ifndef PFC_READS_VERSION_1
/// 1: stored records of version 1 are read at the start, and written anew in version 2. Hardware whose pages another
/// system writes gets pages of version 2 from there.
#define PFC_READS_VERSION_1 PFC_OPENS_TOKENS
#endif

#define PFC_VERSION 1  ///< Version of every structure below, but for the two that have a second one.
#define PFC_SUITE 1    ///< HMAC-SHA-256, HKDF-SHA-256, X25519-XSalsa20-Poly1305 sealed box, Ed25519.

#define PFC_TOKEN_VERSION_2 2  ///< Measurement tokens with policy, delegable classes, base; the hardware id is signed.
#define PFC_SUITE_FACTORY 2    ///< Tokens of version 2: the key of the box comes from X25519 and the factory secret.
#define PFC_RECORD_VERSION 2   ///< Stored records: slots of 208 bytes.

#define PFC_CONFIG_MAGIC "PKMC"
#define PFC_TOKEN_MAGIC "PT"
#define PFC_ORDER_MAGIC "PO"
#define PFC_RECORD_MAGIC "PS"
#define PFC_LOG_MAGIC "PL"

// Values ---------------------------------------------------------------------------------------------------------

#define PFC_KEY_BYTES 16          ///< A measurement proof key (MPK), a device proof key (DPK).
#define PFC_KEY_ID_BYTES 8        ///< Mode byte, then seven derived bytes.
#define PFC_SALT_BYTES 16         ///< Chosen by the service, fresh for each configuration.
#define PFC_DIGEST_BYTES 32       ///< A source's digest.
#define PFC_MEASUREMENT_BYTES 32  ///< IM, DM.
#define PFC_NONCE_BYTES 16
#define PFC_LAST_NONCE_BYTES 8  ///< The part of the last nonce that a slot keeps.
#define PFC_PROOF_BYTES 32
#define PFC_RECEIPT_BYTES 32
#define PFC_CHALLENGE_BYTES 32
#define PFC_ID_BYTES 16  ///< A hardware id, an instance id.
#define PFC_ISSUER_ID_BYTES 8
#define PFC_TOKEN_DIGEST_BYTES 16
#define PFC_RATCHET_BYTES 16
#define PFC_RATCHET_TAG_BYTES 8
#define PFC_FACTORY_SECRET_BYTES 32  ///< Drawn by the factory (F), and derived from it (S).

#define PFC_PUBLIC_KEY_BYTES 32   ///< X25519 (hardware) and Ed25519 (issuer) public keys.
#define PFC_SECRET_KEY_BYTES 32   ///< X25519 secret key.
#define PFC_SIGNING_KEY_BYTES 64  ///< Ed25519 secret key, in libsodium's form: seed, then public key.
#define PFC_SIGNATURE_BYTES 64
#define PFC_SEAL_BYTES 48  ///< Bytes that sealing adds: a public key of 32 and an authenticator of 16.

// Measurement configuration (docs/SPEC.md, section 5) ------------------------------------------------------------

#define PFC_CONFIG_HEAD_BYTES 60
#define PFC_CONFIG_SOURCE_BYTES 4
#define PFC_CONFIG_LEAF_BYTES 4
#define PFC_CONFIG_TAG_BYTES 16
#define PFC_CONFIG_SOURCES_MAX 24
#define PFC_CONFIG_LEAVES_MAX 128
#define PFC_CONFIG_GROUPS_LOG2_MAX 6
#define PFC_CONFIG_LIMIT_LOG2_MIN 16
#define PFC_CONFIG_LIMIT_LOG2_MAX 50
#define PFC_CONFIG_BYTES_MAX                                                             \
  (PFC_CONFIG_HEAD_BYTES + PFC_CONFIG_SOURCE_BYTES * PFC_CONFIG_SOURCES_MAX +            \
   PFC_CONFIG_LEAF_BYTES * PFC_CONFIG_LEAVES_MAX + PFC_CONFIG_TAG_BYTES)

// Evidence -------------------------------------------------------------------------------------------------------

#define PFC_NAME_MAX 255  ///< A source's name, in bytes; at least 1.

// Measurement token and orders (sections 8 and 9) ----------------------------------------------------------------

#define PFC_TOKEN_HEAD_BYTES 8
#define PFC_TOKEN_BODY_BYTES 168
#define PFC_TOKEN_BYTES (PFC_TOKEN_HEAD_BYTES + PFC_SEAL_BYTES + PFC_TOKEN_BODY_BYTES + PFC_SIGNATURE_BYTES)

#define PFC_ORDER_BODY_BYTES 60
#define PFC_ORDER_BYTES (PFC_ORDER_BODY_BYTES + PFC_SIGNATURE_BYTES)

#define PFC_POLICY_UPCOMING 0x20u  ///< Policy bit: the token replaces a held one when its generation first proves.
#define PFC_POLICY_RATCHET 0x03u  ///< Bits of a token's policy byte: enum pfc_ratchet_policy, whose 3 is reserved.
#define PFC_POLICY_CHANNEL 0x04u  ///< Policy bit: a sealed command of the slot may open a channel.
#define PFC_POLICY_SEALED 0x08u   ///< Policy bit: the slot takes sealed commands only.
/// The bits of a policy that a slot keeps.
#define PFC_SLOT_POLICY                                                                         \
  ((PFC_RATCHETS ? PFC_POLICY_RATCHET : 0u) | (PFC_SEALS_COMMANDS ? PFC_POLICY_SEALED : 0u) |   \
   (PFC_CHANNEL ? PFC_POLICY_CHANNEL : 0u))
/// The policy bits that this build carries out. Others are *too new*.
#define PFC_TOKEN_POLICY (PFC_POLICY_UPCOMING | PFC_SLOT_POLICY)

#define PFC_USES_UNLIMITED 0xFFFFFFFFu
#define PFC_GENERATION_ALL 0xFFFFFFFFu
#define PFC_CLASSES 16  ///< Command classes 0 to 15, one bit each.
#define PFC_ISSUERS_MAX 4

// Messages (section 10) ------------------------------------------------------------------------------------------

#ifndef PFC_COMMAND_MAX
#define PFC_COMMAND_MAX 256  ///< The command's own bytes. A profile may take less, never more.
#endif
#define PFC_ASK_BYTES 1
#define PFC_CHALLENGE_MESSAGE_BYTES (8 + PFC_CHALLENGE_BYTES)
#define PFC_COMMAND_HEAD_BYTES (1 + 1 + PFC_ID_BYTES + 8)
#define PFC_COMMAND_INTEGRITY_BYTES (PFC_COMMAND_HEAD_BYTES + 2 * PFC_PROOF_BYTES)  ///< Before the command.
#define PFC_COMMAND_DEVICE_BYTES (PFC_COMMAND_HEAD_BYTES + PFC_PROOF_BYTES)         ///< Before the command.
#define PFC_COMMAND_RATCHET_BYTES (PFC_RATCHET_TAG_BYTES + 4)  ///< Kinds 3 and 4: before the device proof.
#define PFC_VERDICT_MESSAGE_BYTES (1 + 2 + 8 + PFC_RECEIPT_BYTES)
#define PFC_RECALL_BYTES (PFC_ID_BYTES + 8 + PFC_NONCE_BYTES + PFC_PROOF_BYTES)
#define PFC_STATUS_BYTES 28
#define PFC_CAPABILITIES_BYTES 40  ///< The value of a characteristic; no message.
#define PFC_MESSAGE_MAX \
  (PFC_COMMAND_INTEGRITY_BYTES + (PFC_RATCHETS ? PFC_COMMAND_RATCHET_BYTES : 0) + PFC_COMMAND_MAX)

// Frames (section 11) --------------------------------------------------------------------------------------------

#define PFC_PACKET_MIN 20
#define PFC_PACKET_MAX 514
#define PFC_FRAME_HEAD_BYTES 2
#define PFC_FRAME_LENGTH_BYTES 2  ///< In the first fragment only.
#define PFC_FRAME_CHECK_BYTES 2   ///< After the message's last byte.

// State of the hardware (section 12) -----------------------------------------------------------------------------

#ifndef PFC_SLOTS
#define PFC_SLOTS 8  ///< Instances one piece of hardware serves. 1 to 32, set when the core is built.
#endif
#define PFC_RECORD_HEAD_BYTES 8
#define PFC_RECORD_TAG_BYTES 16
#define PFC_RECORD_PAYLOAD_MAX 208
#define PFC_RECORD_PAYLOAD_MAX_1 196  ///< In version 1, whose slots had 12 bytes less.
#define PFC_RECORD_BYTES_MAX (PFC_RECORD_HEAD_BYTES + PFC_RECORD_PAYLOAD_MAX + PFC_RECORD_TAG_BYTES)
#define PFC_COUNTER_BLOCK 65536u  ///< Challenge counters reserved by one write.

// Log of the hardware (section 17) --------------------------------------------------------------------------------

#define PFC_LOG_KEY_BYTES 32
#define PFC_LOG_TAG_BYTES 16      ///< Tag of an entry, a page head, a key record; and the head of a LOG.
#define PFC_LOG_CONTENT_BYTES 16  ///< An entry before it is sealed.
#define PFC_LOG_ENTRY_BYTES (PFC_LOG_CONTENT_BYTES + PFC_LOG_TAG_BYTES)
#define PFC_LOG_BLOCK 16u            ///< Entries whose key one key record gives.
#define PFC_LOG_UNDONE_MAX 15u       ///< Entries that a note may say did not happen.
#define PFC_LOG_PAGE_HEAD_BYTES 32   ///< The beginning of a page of flash.
#define PFC_LOG_KEY_RECORD_BYTES 80
#define PFC_LOG_ASK_BYTES (8 + PFC_NONCE_BYTES)
#define PFC_LOG_FIELDS_BYTES 32      ///< A LOG before its entries.
#define PFC_LOG_ENTRIES_MAX 9u       ///< Entries of one LOG.
/// A LOG with this many entries.
#define PFC_LOG_BYTES(entries) (PFC_LOG_FIELDS_BYTES + PFC_LOG_ENTRY_BYTES * (entries) + PFC_LOG_TAG_BYTES)
#define PFC_LOG_STEPS_MAX (1u << 20)  ///< Key steps that a reader takes for one LOG, unless its caller says otherwise.

// Sealed commands (section 18) -------------------------------------------------------------------------------------

#define PFC_SEAL_HINT_BYTES 8
#define PFC_SEAL_TAG_BYTES 16  ///< Authenticator of a box, before its ciphertext.
#define PFC_SEAL_SECONDS 600u  ///< The hardware's key of a challenge serves at most so long, where there is a clock.
#define PFC_SEALED_CHALLENGE_BYTES (PFC_CHALLENGE_MESSAGE_BYTES + PFC_PUBLIC_KEY_BYTES)
#define PFC_SEALED_HEAD_BYTES (1 + PFC_SEAL_HINT_BYTES + 8 + PFC_PUBLIC_KEY_BYTES)
/// Where the integrity proof stands before a command is sealed.
#define PFC_SEALED_INTEGRITY_PROOF (PFC_SEALED_HEAD_BYTES + PFC_SEAL_TAG_BYTES + 1)
/// A sealed COMMAND of kind 6 without its command, and one of kind 5.
#define PFC_SEALED_DEVICE_BYTES \
  (PFC_SEALED_HEAD_BYTES + PFC_SEAL_TAG_BYTES + 1 + PFC_COMMAND_RATCHET_BYTES + PFC_PROOF_BYTES)
#define PFC_SEALED_INTEGRITY_BYTES (PFC_SEALED_DEVICE_BYTES + PFC_PROOF_BYTES)
/// The command's own bytes, so that no message is longer than before.
#define PFC_SEALED_COMMAND_MAX (PFC_MESSAGE_MAX - PFC_SEALED_INTEGRITY_BYTES)
#define PFC_SEALED_PLAIN_MAX (PFC_MESSAGE_MAX - PFC_SEALED_HEAD_BYTES - PFC_SEAL_TAG_BYTES)
#define PFC_SEALED_DOWN_BYTES (8 + PFC_SEAL_TAG_BYTES + 1 + 2 + 8)
/// The longest reply of the verifier.
#define PFC_REPLY_MAX (PFC_SEALS_COMMANDS ? PFC_SEALED_CHALLENGE_BYTES : PFC_VERDICT_MESSAGE_BYTES)

// Channel (section 20) ---------------------------------------------------------------------------------------------

#define PFC_CHANNEL_KEY_BYTES 32
#define PFC_CHANNEL_UP_BYTES (8 + PFC_SEAL_TAG_BYTES + 1)  ///< A SEALED-UP without its command.
#define PFC_CHANNEL_COMMANDS 16u       ///< Further commands of one channel, where there is a clock …
#define PFC_CHANNEL_COMMANDS_BLIND 4u  ///< … and where there is none.
#define PFC_CHANNEL_SECONDS 30u        ///< A channel's life, where there is a clock.

// Grants (section 19) ----------------------------------------------------------------------------------------------

#define PFC_GRANT_MAGIC "PD"
#define PFC_GRANT_TAG_BYTES 32
#define PFC_GRANT_BYTES (64 + PFC_GRANT_TAG_BYTES)  ///< 128 characters of base64url
#define PFC_GRANT_USES_MAX 65534u

// Gates: tokens, compact tokens, beacons (section 15) -------------------------------------------------------------

#define PFC_GATE_TOKEN_MAGIC "PG"
#define PFC_GATE_FORM 3  ///< Beside enum pfc_form: no lock accepts it.
#define PFC_GATE_SECRET_BYTES 32
#define PFC_GATE_KEYS_MAX 2  ///< X25519 keys that one gate holds while it rotates.
#define PFC_GATE_KEY_BYTES 32
#define PFC_GATE_TOKEN_HEAD_BYTES 8
#define PFC_GATE_TOKEN_BODY_BYTES 168
#define PFC_GATE_TOKEN_BYTES \
  (PFC_GATE_TOKEN_HEAD_BYTES + PFC_SEAL_BYTES + PFC_GATE_TOKEN_BODY_BYTES + PFC_SIGNATURE_BYTES)
#define PFC_GATE_LIFE_SECONDS 86400u  ///< A gate token's longest life.
#define PFC_GATE_AHEAD_SECONDS 300u   ///< The most by which `issued` is ahead of the gate's time.
#define PFC_ARC_BYTES 10              ///< A response code (docs/MANAGEMENT.md).
#define PFC_FINDINGS_MAX 16           ///< Findings that a gate token names.
#define PFC_APP_BYTES 16              ///< The first bytes of an app digest (docs/SERVICE.md, section 7).

#define PFC_HANDLE_BYTES 16
#define PFC_COMPACT_VERSION 1
#define PFC_COMPACT_HEAD_BYTES (2 + PFC_HANDLE_BYTES)
#define PFC_COMPACT_PLAIN_BYTES 24
#define PFC_COMPACT_TAG_BYTES 24
#define PFC_COMPACT_BYTES (PFC_COMPACT_HEAD_BYTES + PFC_COMPACT_PLAIN_BYTES + PFC_COMPACT_TAG_BYTES)
#define PFC_COMPACT_TEXT_BYTES 88  ///< In base64url, without a terminator.
#define PFC_COMPACT_WINDOW_SECONDS 60u  ///< The window before and after `created`, unless a rule says otherwise.
#define PFC_COMPACT_COUNTS_KEPT 64u     ///< A token with a count this far behind the newest was kept.
#define PFC_REPLAY_KEY_BYTES (PFC_HANDLE_BYTES + 4 + 4)
#define PFC_ACCOUNT_MAX 128  ///< A user account's name, in bytes; at least 1.

#define PFC_BEACON_BYTES 4
#define PFC_BEACON_MESSAGE_BYTES 9  ///< Version and kind, interval, beacon: 12 characters of base64url.
#define PFC_BEACON_SECONDS 300u     ///< An interval.
#define PFC_BEACONS_VALID 4         ///< The next interval, the present one, the two before.

#define PFC_CHALLENGE_ID_BYTES 60  ///< A gate's challenge over HTTP (section 16). Hardware's has PFC_CHALLENGE_BYTES.

#define PFC_PUZZLES 16               ///< Puzzles of one challenge of kind work (a)
#define PFC_PUZZLE_SEED_BYTES 28
#define PFC_PUZZLE_LEVEL_MAX 24      ///< Zero bits that each puzzle's hash begins with
#define PFC_PUZZLE_SOLUTION_BYTES (4 * PFC_PUZZLES)

#define PFC_PAIRING_DIGIT_BITS 18    ///< Puzzle of kind work (b): bits that collide in each round
#define PFC_PAIRING_ROUNDS 4
#define PFC_PAIRING_LEAVES (2u << PFC_PAIRING_DIGIT_BITS)
#define PFC_PAIRING_CHOSEN (1 << PFC_PAIRING_ROUNDS)  ///< Leaves of a solution
#define PFC_PAIRING_LEVEL_MAX 7      ///< Puzzles of one challenge
#define PFC_PAIRING_SOLUTION_BYTES (2 + 5 * PFC_PAIRING_CHOSEN / 2)  ///< For one puzzle

#define PFC_HTTP_METHOD_MAX 32
#define PFC_HTTP_AUTHORITY_MAX 255

// Labels ---------------------------------------------------------------------------------------------------------
// 16 ASCII characters each, no terminator on the wire. One use, one label: no two uses can be swapped.

#define PFC_LABEL_BYTES 16

#define PFC_LABEL_KEY_ID "pfc1.key-id....."
#define PFC_LABEL_IM_KEY "pfc1.im-key....."
#define PFC_LABEL_DEVICE_KEY "pfc1.device-key."
#define PFC_LABEL_DM_KEY "pfc1.dm-key....."
#define PFC_LABEL_WRAP_KEY "pfc1.wrap-key..."
#define PFC_LABEL_LEAF_KEY "pfc1.leaf-key..."
#define PFC_LABEL_DEVICE_LEAF_KEY "pfc1.dleaf-key.."
#define PFC_LABEL_CONFIG_TAG "pfc1.config-tag."
#define PFC_LABEL_HARDWARE_KEY "pfc1.hw-key....."
#define PFC_LABEL_HARDWARE_IM "pfc1.hw-im......"
#define PFC_LABEL_HARDWARE_DEVICE_KEY "pfc1.hw-dkey...."
#define PFC_LABEL_HARDWARE_DM "pfc1.hw-dm......"
#define PFC_LABEL_RECEIPT_KEY "pfc1.receipt-key"
#define PFC_LABEL_RECALL_KEY "pfc1.recall-key."
#define PFC_LABEL_RECORD_KEY "pfc1.record-key."

#define PFC_LABEL_INTEGRITY "pfc1.integrity.."
#define PFC_LABEL_DEVICE "pfc1.device....."
#define PFC_LABEL_DEVICE_SET "pfc1.device-set."
#define PFC_LABEL_ABSENT "pfc1.absent....."
#define PFC_LABEL_LEAF "pfc1.leaf......."
#define PFC_LABEL_NONCE "pfc1.nonce......"
#define PFC_LABEL_ESCORT "pfc1.escort....."
#define PFC_LABEL_TOKEN_SIGN "pfc1.token-sign."
#define PFC_LABEL_TOKEN_ID "pfc1.token-id..."
#define PFC_LABEL_ORDER_SIGN "pfc1.order-sign."
#define PFC_LABEL_ISSUER_ID "pfc1.issuer-id.."
#define PFC_LABEL_TOKEN_SIGN_2 "pfc2.token-sign."
#define PFC_LABEL_TOKEN_SEAL "pfc2.token-seal."
#define PFC_LABEL_FACTORY_SECRET "pfc2.factory-s.."
#define PFC_LABEL_ESCORT_2 "pfc2.escort....."
#define PFC_LABEL_RATCHET_0 "pfc2.ratchet-0.."
#define PFC_LABEL_RATCHET_TAG "pfc2.ratchet-tag"
#define PFC_LABEL_RATCHET_UP "pfc2.ratchet-up."
#define PFC_LABEL_RATCHET_FORK "pfc2.ratchet-fk."
#define PFC_LABEL_LOG_FIRST "pfc2.factory-l.."
#define PFC_LABEL_LOG_STEP "pfc2.log-step..."
#define PFC_LABEL_LOG_ENTRY "pfc2.log-entry.."
#define PFC_LABEL_LOG_HEAD "pfc2.log-head..."
#define PFC_LABEL_LOG_STORE "pfc2.log-store.."
#define PFC_LABEL_SEAL_HINT "pfc2.hint-key..."
#define PFC_LABEL_SEAL_ID "pfc2.channel-id."
#define PFC_LABEL_SEAL_FIRST "pfc2.chan-first."
#define PFC_LABEL_SEAL_TRANSCRIPT "pfc2.transcript."
#define PFC_LABEL_SEAL_DOWN "pfc2.chan-down.."
#define PFC_LABEL_SEAL_STEP "pfc2.chan-step.."
#define PFC_LABEL_SEAL_NONCE "pfc2.nonce......"
#define PFC_LABEL_CHANNEL_KEY "pfc2.chan-key..."
#define PFC_LABEL_CHANNEL_UP "pfc2.chan-up...."
#define PFC_LABEL_CHANNEL_BACK "pfc2.chan-back.."
#define PFC_LABEL_CHANNEL_NEXT "pfc2.chan-next.."
#define PFC_LABEL_CHANNEL_NONCE "pfc2.chan-nonce."
#define PFC_LABEL_GRANT_KEY "pfc2.grant-key.."
#define PFC_LABEL_GRANT_ID "pfc2.grant-id..."

#define PFC_LABEL_GATE_KEY "pfc1.gate-key..."
#define PFC_LABEL_GATE_IM "pfc1.gate-im...."
#define PFC_LABEL_GATE_SECRET "pfc1.gate-secret"
#define PFC_LABEL_GATE_HANDLE "pfc1.gate-handle"
#define PFC_LABEL_REQUEST_KEY "pfc1.request-key"
#define PFC_LABEL_COMPACT_KEY "pfc1.compact-key"
#define PFC_LABEL_EVENT_KEY "pfc1.event-key.."
#define PFC_LABEL_MASK_KEY "pfc1.mask-key..."
#define PFC_LABEL_GATE_PROOF_KEY "pfc1.gproof-key."
#define PFC_LABEL_BEACON_KEY "pfc1.beacon-key."
#define PFC_LABEL_GATE_SIGN "pfc1.gate-sign.."
#define PFC_LABEL_COMPACT_REQUEST "pfc1.mac-request"
#define PFC_LABEL_COMPACT_BODY "pfc1.mac-body..."
#define PFC_LABEL_COMPACT_EVENT "pfc1.mac-event.."
#define PFC_LABEL_MASK "pfc1.mask......."
#define PFC_LABEL_ACCOUNT "pfc1.account...."
#define PFC_LABEL_BEACON "pfc1.beacon....."
#define PFC_LABEL_GATE_PROOF "pfc1.gate-proof."
#define PFC_LABEL_GATE_PROOF_MAC "pfc1.mac-gproof."
#define PFC_LABEL_PUZZLE_SEED "pfc1.puzzle-seed"
#define PFC_LABEL_PUZZLE "pfc1.puzzle....."
#define PFC_LABEL_PAIRING "pfc1.pairing...."

#endif
