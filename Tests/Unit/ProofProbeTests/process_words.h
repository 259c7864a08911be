// SPDX-License-Identifier: Apache-2.0

/// Records byte by byte as PROBE.md has them, and checks against them: of a made object's links, and of a report.

#ifndef PROCESS_WORDS_H
#define PROCESS_WORDS_H

#include "evidence/evidence.h"
#include "process_made.h"

enum { NOTHING = 0, OUTSIDE = 1, SYMBOL = 2, PLACE = 3, CHOSEN = 4 };

/// Symbols that MADE_OWN asks for: MADE_OTHER has the first two, nothing has the third.
struct words {
  uint32_t one, choice, nowhere;
  uintptr_t at_one, at_two, at_choice;
  uintptr_t outside;  ///< In no object
};

extern struct words words;

/// Objects anew, and an empty record. MADE_OTHER defines a function, one of another name, and one that its resolver
/// chooses.
void words_begin(void);
void words_set(size_t word, uintptr_t value);
/// Reads the links of MADE_OWN and compares them with the record. Also how many words are suspicious, in which words
/// the first is told, how many are not what the file has, and how many the raw digest does not cover.
void words_check(unsigned astray, const char *told, unsigned moved, unsigned loose);
/// The sentence for a word of this name.
const char *words_lead(const char *name, uintptr_t value);

/// A record of another source: its parts, and its digest by the label.
void page_begin(void);
void page_text(const char *text);
void page_digest(uint8_t digest[PFC_DIGEST_BYTES], const char label[17]);

/// A word without what its kind has.
void page_word(size_t word, uint64_t kind);
void page_object(size_t object);
void page_number(uint64_t number);
void page_place(size_t word, uintptr_t value);
void page_symbol(size_t word, size_t object, const char *name, const char *version, uint64_t addend);

/// Records that a report adds to. `evidence_begin` forgets, and asks for all sources.
extern struct pfp_evidence evidence;
void evidence_begin(void);
/// The one record of this name, or NULL.
const struct pfp_record *evidence_record(uint8_t class_, uint8_t number, const char *name);
/// A record with this digest, NULL if it is absent, and with these words, NULL if it has none.
void evidence_check(uint8_t class_, uint8_t number, const char *name, const uint8_t *digest, unsigned alarm,
                    const char *told);

#endif
