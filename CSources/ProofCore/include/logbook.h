// SPDX-License-Identifier: Apache-2.0

/// The log of the hardware: sealed entries in flash, which any app may carry to the backend unread.
///
///     L_0     = KDF("pfc2.factory-l..", F, hardware id)
///     L_(i+1) = KDF("pfc2.log-step...", L_i, "")
///     k       = KDF("pfc2.log-entry..", L_i, u64(i))
///     tag     = HMAC(k, 0x02 || u64(i) || hardware id || content)[0..16)
///     cipher  = content XOR HMAC(k, 0x01 || tag)[0..16)
///     head    = HMAC(KDF("pfc2.log-head...", L_next, ""), nonce || the bytes of the LOG before)[0..16)
///
/// Entry i is cipher and tag. The key moves after each entry, and the hardware forgets the keys before. The backend
/// has F and computes them all. The cipher depends on the tag, so two contents under one number, after flash was put
/// back, do not give away their difference.
///
/// The file is not called log.h, because firmware often has a header of that name.
///
/// Order on the hardware for a proved event: `pfc_log_note` and, if one is due, a note; `pfc_log_put`; the port's
/// write; `pfc_log_written`, or `pfc_log_failed`; then the slot, the answer and the command. Before the first entry of
/// a block (`pfc_log_turns`) the port writes a key record, and makes the key in the copy before unreadable.

#ifndef PFC_LOGBOOK_H
#define PFC_LOGBOOK_H

#include <stddef.h>
#include <stdint.h>

#include "result.h"
#include "wire.h"

#ifdef __cplusplus
extern "C" {
#endif

// Keys -----------------------------------------------------------------------------------------------------------

/// L_0, from what was drawn in the factory (F). Secret. Provisioning and the backend compute it.
void pfc_log_first_key(uint8_t key[PFC_LOG_KEY_BYTES], const uint8_t drawn[PFC_FACTORY_SECRET_BYTES],
                       const uint8_t hardware_id[PFC_ID_BYTES]);

/// Turns L_i into L_(i+1), in place.
void pfc_log_step(uint8_t key[PFC_LOG_KEY_BYTES]);

/// The key of the tags of page heads and key records. Secret.
void pfc_log_store_key(uint8_t key[32], const uint8_t hardware_secret_key[PFC_SECRET_KEY_BYTES]);

// Entries --------------------------------------------------------------------------------------------------------

/// Events. The numbers are stored and never reused.
enum pfc_log_event {
  PFC_LOG_COMMAND = 1,  ///< A COMMAND whose device proof is right. The verdict tells what became of it.
  PFC_LOG_TOKEN = 2,    ///< A TOKEN that an issuer signed.
  PFC_LOG_ORDER = 3,    ///< An ORDER that an issuer signed. `kind` is its type.
  PFC_LOG_GRANT = 4,    ///< A GRANT that an owner made. `kind` is enum pfc_log_grant_kind, `who` the member.
  PFC_LOG_NOTE = 5      ///< Tells what happened without a proof since the entry before: starts, refusals, cut writes.
};

/// Kinds of a grant's entry.
enum pfc_log_grant_kind { PFC_LOG_LENDS = 1, PFC_LOG_TAKES_BACK = 2 };

/// Bits of `flags`. Bits that this version does not know are *too new*.
enum pfc_log_flag {
  PFC_LOG_STARTED = 1u << 0  ///< The hardware has started since the entry before, once or more.
};

#define PFC_LOG_GROUPS 4  ///< Groups of verdicts in which refusals are counted.

/// Content of an entry, 16 bytes when encoded. What an event does not use is zero.
struct pfc_log_content {
  uint8_t event;    ///< enum pfc_log_event
  uint8_t verdict;  ///< enum pfc_verdict. 0 in a note
  uint8_t undone;   ///< Notes: so many entries directly before this one did not happen; at most PFC_LOG_UNDONE_MAX,
                    ///< because an attacker with a stolen key could explain away as many. 0 otherwise
  uint8_t command_class;     ///< Commands: 0 to PFC_CLASSES - 1
  uint8_t kind;              ///< Commands: the kind; orders: the type. At most 15
  uint8_t flags;             ///< enum pfc_log_flag, notes only
  uint8_t who[4];            ///< The first bytes of the instance id
  uint8_t refused[PFC_LOG_GROUPS];  ///< Notes, in place of `who`: refusals by group, see `pfc_log_refuse`
  uint32_t epoch;            ///< Low 32 bits of the hardware's time: it was at least that late
  uint32_t counter;          ///< Low 32 bits: of the command's challenge, or of the next one
};

/// Seals entry `number` under L_number. PFC_E_ARGUMENT for a content out of range; the entry is then zeroed.
PFC_MUST_USE int pfc_log_seal(uint8_t entry[PFC_LOG_ENTRY_BYTES], const struct pfc_log_content *content,
                              const uint8_t key[PFC_LOG_KEY_BYTES], uint64_t number,
                              const uint8_t hardware_id[PFC_ID_BYTES]);

/// Opens it. PFC_E_DIFFERS if it is not the entry of this number, key and hardware, found in constant time.
/// PFC_E_TOO_NEW if it is, and a later version has written it. The content is all zeros in both cases.
PFC_MUST_USE int pfc_log_open(struct pfc_log_content *content, const uint8_t entry[PFC_LOG_ENTRY_BYTES],
                              const uint8_t key[PFC_LOG_KEY_BYTES], uint64_t number,
                              const uint8_t hardware_id[PFC_ID_BYTES]);

// Flash ----------------------------------------------------------------------------------------------------------
//
// The log stands in a ring of at least two pages that are erased apart. A page is its head, then entries.

/// Encodes the head of a page whose first entry has this number.
void pfc_log_page_encode(uint8_t bytes[PFC_LOG_PAGE_HEAD_BYTES], uint64_t number, const uint8_t store_key[32]);

/// PFC_E_DAMAGED unless it is the head of a page, PFC_E_TOO_NEW if it is one of a later version. `*number` is then 0.
PFC_MUST_USE int pfc_log_page_decode(uint64_t *number, const uint8_t bytes[PFC_LOG_PAGE_HEAD_BYTES],
                                     const uint8_t store_key[32]);

/// The key record: from where the hardware finds its place again after a start. Secret. It has two copies, each in an
/// area of its own. The intact copy with the higher sequence is the record.
///
/// Contract of the port: after the copy for a new block is durable, the 32 bytes of the key in the other copy (offset
/// PFC_LOG_KEY_RECORD_KEY_AT, a multiple of 32) are programmed to zeros. Flash that cannot program a word twice, for
/// its error correction, erases the area of the other copy instead. A port that does neither leaves keys of the past
/// behind: who reads the flash then opens and changes entries of earlier blocks.
struct pfc_log_key_record {
  uint32_t sequence;      ///< One more with each write
  uint64_t number;        ///< The block's first entry: a multiple of PFC_LOG_BLOCK
  uint64_t acknowledged;  ///< The backend has all entries below this one
  uint8_t undone;         ///< The next note is to say so of the entries before the block
  uint8_t flags;          ///< The same
  uint8_t key[PFC_LOG_KEY_BYTES];  ///< L_number
};

#define PFC_LOG_KEY_RECORD_KEY_AT 32  ///< Where the key stands in the encoded record.

/// PFC_E_ARGUMENT if a field is out of range or the key is all zeros; the output is then zeroed.
PFC_MUST_USE int pfc_log_key_record_encode(uint8_t bytes[PFC_LOG_KEY_RECORD_BYTES],
                                           const struct pfc_log_key_record *record, const uint8_t store_key[32]);

/// PFC_E_DAMAGED unless it is a key record, with a key that is not zeros; PFC_E_TOO_NEW if a later version has written
/// it. `*record` is then all zeros.
PFC_MUST_USE int pfc_log_key_record_decode(struct pfc_log_key_record *record,
                                           const uint8_t bytes[PFC_LOG_KEY_RECORD_BYTES],
                                           const uint8_t store_key[32]);

// The hardware's end ---------------------------------------------------------------------------------------------

/// Where the log ends. Secret: it has the key of the next entry. Wipe it when done.
struct pfc_log {
  uint8_t key[PFC_LOG_KEY_BYTES];  ///< L_next
  uint64_t next;                   ///< Number of the next entry
  uint8_t refused[PFC_LOG_GROUPS];
  uint8_t undone;
  uint8_t flags;
};

/// Begins at a key record, which is that of a new log or the one found at a start. Then comes one
/// `pfc_log_resume_entry` for each place behind the block's first that is not erased, in order, then
/// `pfc_log_resume_end`.
void pfc_log_resume(struct pfc_log *log, const struct pfc_log_key_record *record);

/// Takes one entry found in flash, and steps. Answers as `pfc_log_open`: PFC_E_DIFFERS if the entry's write was cut.
PFC_MUST_USE int pfc_log_resume_entry(struct pfc_log *log, struct pfc_log_content *content,
                                      const uint8_t entry[PFC_LOG_ENTRY_BYTES],
                                      const uint8_t hardware_id[PFC_ID_BYTES]);

/// Ends the start. `is_undone` is 1 if the last entry that opened is a command that no slot knows as its last one:
/// power was cut between entry and slot.
void pfc_log_resume_end(struct pfc_log *log, int is_undone);

/// Counts a refusal of a message without a valid proof, and writes nothing. Groups: verdicts 16 to 31, 32 to 47, 48
/// to 63, and *busy*. A count stays at 255; verdicts that refuse nothing are not counted.
void pfc_log_refuse(struct pfc_log *log, uint8_t verdict);

/// 1 if a note is due before the next entry. `*content` is the note, else all zeros. A note is written with a proved
/// event only. So an attacker without a proof writes nothing, however often power goes or messages are refused, and at
/// least half of the entries are proved events.
PFC_MUST_USE int pfc_log_note(const struct pfc_log *log, struct pfc_log_content *content, uint64_t epoch,
                              uint64_t counter);

/// 1 if the next entry begins a block: write its key record first.
PFC_MUST_USE int pfc_log_turns(const struct pfc_log *log);

/// The key record of the block that begins. Secret.
void pfc_log_turn(struct pfc_log_key_record *record, const struct pfc_log *log, uint32_t sequence,
                  uint64_t acknowledged);

/// Seals the next entry and changes nothing. PFC_E_ARGUMENT as `pfc_log_seal`, and for any other content where a note
/// is due.
PFC_MUST_USE int pfc_log_put(uint8_t entry[PFC_LOG_ENTRY_BYTES], const struct pfc_log *log,
                             const struct pfc_log_content *content, const uint8_t hardware_id[PFC_ID_BYTES]);

/// The entry is durable. Steps; a note has told what was to tell.
void pfc_log_written(struct pfc_log *log, const struct pfc_log_content *content);

/// The entry's write failed: it may have arrived, whole or in part. Steps, and the next note tells of it.
void pfc_log_failed(struct pfc_log *log);

/// The entry written last did not happen: its slot could not be stored. The next note tells of it.
void pfc_log_undo(struct pfc_log *log);

// Messages -------------------------------------------------------------------------------------------------------

/// A LOG-ASK, parsed. Pointers lead into the message.
struct pfc_log_ask {
  uint64_t from;         ///< Number of the first entry asked for
  const uint8_t *nonce;  ///< The head answers it: the backend's where a fresh answer matters, else the courier's
};

/// Courier side.
void pfc_log_ask_encode(uint8_t message[PFC_LOG_ASK_BYTES], uint64_t from, const uint8_t nonce[PFC_NONCE_BYTES]);
/// Hardware side. PFC_E_MALFORMED for any other size.
PFC_MUST_USE int pfc_log_ask_decode(struct pfc_log_ask *ask, const uint8_t *message, size_t size);

/// Fields of a LOG, beside its entries.
struct pfc_log_fields {
  uint64_t first;   ///< Number of its first entry
  uint64_t oldest;  ///< The oldest entry that the hardware still has; at most `first`
  uint64_t next;    ///< The number that the next entry will have
  uint8_t refused[PFC_LOG_GROUPS];  ///< Since the last note
  uint8_t flags;                    ///< As the next note will say
  uint8_t undone;                   ///< As the next note will say, of the entries directly before `next`
  uint8_t count;                    ///< Entries in the message, 0 to PFC_LOG_ENTRIES_MAX
};

/// Hardware side: makes a LOG around the entries that the caller has put at `message` + PFC_LOG_FIELDS_BYTES.
/// `refused`, `flags`, `undone` and `next` come from the log. PFC_E_ARGUMENT unless oldest <= first, first + count <=
/// next, and first = next where there are no entries; PFC_E_SPACE if `capacity` is too small. `*size` is then 0.
PFC_MUST_USE int pfc_log_message_make(uint8_t *message, size_t capacity, size_t *size, const struct pfc_log *log,
                                      uint64_t oldest, uint64_t first, uint8_t count,
                                      const uint8_t nonce[PFC_NONCE_BYTES]);

/// Backend side: the shape alone; believe it when its head was checked. PFC_E_MALFORMED if it is none, PFC_E_TOO_NEW if
/// a reserved bit is set. `*fields` is then all zeros.
PFC_MUST_USE int pfc_log_message_decode(struct pfc_log_fields *fields, const uint8_t *message, size_t size);

/// PFC_OK or PFC_E_DIFFERS, in constant time. `key` is L_next, `size` at least PFC_LOG_BYTES(0).
PFC_MUST_USE int pfc_log_message_check(const uint8_t *message, size_t size, const uint8_t key[PFC_LOG_KEY_BYTES],
                                       const uint8_t nonce[PFC_NONCE_BYTES]);

#ifdef __cplusplus
}
#endif

#endif
