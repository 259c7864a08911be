// SPDX-License-Identifier: Apache-2.0

/// The backend's end of the hardware's log: reads the LOGs that couriers bring, one after the other, and tells its
/// findings.
///
/// A reader judges the head first. Only bytes under a right head are the hardware's. Only there an entry that does not
/// open says something about the hardware: *torn* if the hardware itself tells that the write was cut, otherwise
/// *changed*. A LOG without a right head says nothing: a courier has changed it, or answers another nonce.
///
/// Memory is the caller's, and the reader keeps no entries: the caller stores the 32 bytes of each under its number.

#ifndef PFC_LOGBOOK_READER_H
#define PFC_LOGBOOK_READER_H

#include <stddef.h>
#include <stdint.h>

#include "logbook.h"
#include "result.h"
#include "wire.h"

#ifdef __cplusplus
extern "C" {
#endif

/// Findings. Each is one bit, so that a reader can tell all that it has found.
enum pfc_log_finding_kind {
  PFC_LOG_ENTRY = 1u << 0,     ///< The entry opens: `content`. Told once for each.
  PFC_LOG_UNKNOWN = 1u << 1,   ///< The entry opens, and a later version has written it.
  PFC_LOG_UNDONE = 1u << 2,    ///< These entries did not happen, says the hardware. It may say so again.
  PFC_LOG_TORN = 1u << 3,      ///< These do not open, and the hardware says that their write was cut.
  PFC_LOG_MISSING = 1u << 4,   ///< The hardware has these, no courier has brought them: a gap or a truncated log.
  PFC_LOG_OVERWRITTEN = 1u << 5,  ///< The hardware has these no more, and no courier brought them in time.
  PFC_LOG_UNCLEAR = 1u << 6,   ///< These do not open, and the entry that may tell why has not come.
  PFC_LOG_CHANGED = 1u << 7,   ///< These do not open, and the hardware does not say that their write was cut.
  PFC_LOG_FORKED = 1u << 8,    ///< Two different entries of this number, both of the hardware: its flash was put back.
  PFC_LOG_SHORTER = 1u << 9    ///< The log ends before these, which it had. Flash was put back, or the LOG is an old
                               ///< one: a nonce of the backend's own rules that out.
};

/// One finding: entries `first` to `first` + `count` - 1.
struct pfc_log_finding {
  unsigned kind;  ///< enum pfc_log_finding_kind
  uint64_t first;
  uint64_t count;
  const struct pfc_log_content *content;  ///< PFC_LOG_ENTRY only, otherwise NULL. Ends with the call
};

/// The caller's end. Both functions are needed.
struct pfc_log_listener {
  void *context;
  /// The stored 32 bytes of this entry, or NULL if it is not stored.
  const uint8_t *(*stored)(void *context, uint64_t number);
  void (*found)(void *context, const struct pfc_log_finding *finding);
};

/// Judgement of a whole log, the worst that applies.
enum pfc_log_outcome {
  PFC_LOG_WHOLE = 0,       ///< Each entry is there, and opens or is told of as torn.
  PFC_LOG_INCOMPLETE = 1,  ///< Entries are missing, overwritten or unclear.
  PFC_LOG_ALTERED = 2      ///< An entry is changed, the log is forked, or became shorter.
};

/// A reader. Secret: it has keys of the log. `pfc_log_reader_end` wipes it.
struct pfc_log_reader {
  uint8_t first_key[PFC_LOG_KEY_BYTES];
  uint8_t key[PFC_LOG_KEY_BYTES];  ///< L_next
  uint8_t hardware_id[PFC_ID_BYTES];
  uint64_t first;    ///< The reader reads nothing before this entry
  uint64_t next;     ///< The entry that is due
  uint64_t end;      ///< The highest `next` under a right head
  uint64_t oldest;   ///< The highest `oldest` under a right head
  uint64_t unopened; ///< So many entries directly before `next` do not open and are not told of yet
  uint64_t absent;   ///< Entries before `next` that did not come when they were due, nor since
  unsigned found;    ///< enum pfc_log_finding_kind, or-ed; those that did not come are counted instead
};

/// Begins at entry `first` with L_first: 0 and L_0 (`pfc_log_first_key`), or `next` and `key` of an earlier reader.
void pfc_log_reader_begin(struct pfc_log_reader *reader, const uint8_t key[PFC_LOG_KEY_BYTES], uint64_t first,
                          const uint8_t hardware_id[PFC_ID_BYTES]);

/// Takes a LOG that answers `nonce`. LOGs may come in any order, repeated, and over any number of couriers. On PFC_OK
/// the caller stores the message's entries, opened or not; on any other result the reader is as it was and has told
/// nothing. `pfc_log_message_decode` then gives refusals and flags of the LOG. LOGs in the order of their entries give
/// the clearest findings: an entry that comes late no longer explains the ones before it.
///
/// PFC_E_MALFORMED, PFC_E_TOO_NEW: as `pfc_log_message_decode`. PFC_E_TOO_FAR: to check the head takes more than
/// `steps` key steps (PFC_LOG_STEPS_MAX where the caller has no other bound), or the message begins before the reader's
/// first entry. It is no sign of forgery. PFC_E_DIFFERS: the head is wrong.
PFC_MUST_USE int pfc_log_reader_take(struct pfc_log_reader *reader, const uint8_t nonce[PFC_NONCE_BYTES],
                                     const uint8_t *message, size_t size, uint64_t steps,
                                     const struct pfc_log_listener *listener);

/// Tells what is still open: a truncated log, entries that nothing has explained. Answers enum pfc_log_outcome for all
/// that was found, and wipes the reader.
PFC_MUST_USE int pfc_log_reader_end(struct pfc_log_reader *reader, const struct pfc_log_listener *listener);

#ifdef __cplusplus
}
#endif

#endif
