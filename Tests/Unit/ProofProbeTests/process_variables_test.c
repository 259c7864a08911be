// SPDX-License-Identifier: Apache-2.0

/// Variables of interpreters: their record has the values at the start and now, as the page says.

#define _GNU_SOURCE
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "evidence/evidence.h"
#include "evidence/transcript.h"
#include "process/process.h"
#include "process_suites.h"
#include "sources.h"

/// A variable that is set: its name, its value at the start or NULL, its value now or NULL.
struct set {
  const char *name, *start, *now;
};

enum { SETS = 3 };

/// A process whose first environment has these bytes.
static struct pfp_process started_with(const char *block, size_t size) {
  struct pfp_process process = {.maps = -1, .pagemap = -1, .status = -1};
  process.initial = memfd_create("environ", MFD_CLOEXEC);
  CHECK(process.initial >= 0 && write(process.initial, block, size) == (ssize_t)size);
  return process;
}

static void part(struct pfp_transcript *transcript, const char *value) {
  pfp_transcript_number(transcript, value != NULL);
  if (value != NULL) pfp_transcript_text(transcript, value);
}

/// The digest of the page.
static void digest_of(uint8_t digest[PFC_DIGEST_BYTES], const struct set sets[SETS]) {
  struct pfp_transcript transcript;
  size_t count = 0;
  pfp_transcript_init(&transcript, PFP_LABEL_VARIABLES);
  for (; count < SETS && sets[count].name != NULL; count++) {
    pfp_transcript_text(&transcript, sets[count].name);
    part(&transcript, sets[count].start);
    part(&transcript, sets[count].now);
  }
  pfp_transcript_number(&transcript, count);
  pfp_transcript_final(digest, &transcript);
}

/// The record of a process, and the note that it must have.
static void expect(const struct pfp_process *process, const struct set sets[SETS], const char *note) {
  struct pfc_config asked = {0};
  struct pfp_evidence evidence = {.asked = &asked};
  uint8_t digest[PFC_DIGEST_BYTES];
  pfp_sources_propose(&asked);
  pfp_variables_report(&evidence, process);
  CHECK_NUMBER(evidence.failed, 0);
  if (CHECK_COUNT(evidence.count, 1)) {
    const struct pfp_record *record = evidence.records[0];
    CHECK_NUMBER(record->class_, PFC_CLASS_ENVIRONMENT);
    CHECK_NUMBER(record->number, PFP_ENVIRONMENT_VARIABLES);
    CHECK_NUMBER(record->alarm, PFP_ALARM_NONE);
    CHECK_COUNT(record->name_size, strlen("variables"));
    CHECK_BYTES(record->name, "variables", strlen("variables"));
    CHECK_NUMBER(record->present, sets != NULL);
    if (sets != NULL) {
      digest_of(digest, sets);
      CHECK_BYTES(record->digest, digest, sizeof digest);
    }
    CHECK(note != NULL ? record->note != NULL && strcmp(record->note, note) == 0 : record->note == NULL);
  }
  pfp_evidence_free(&evidence);
}

static const char *const NAMES[] = {"CLASSPATH", "LUA_PATH", "_JAVA_OPTIONS"};

static void forget_all(void) {
  for (size_t i = 0; i < sizeof NAMES / sizeof NAMES[0]; i++) CHECK_NUMBER(unsetenv(NAMES[i]), 0);
}

static void both_times(void) {
#define BLOCK(text) text, sizeof text - 1
  static const struct {
    const char *what, *block;
    size_t size;
    struct set sets[SETS];
    const char *note;
  } ROWS[] = {
      {"none", BLOCK("HOME=/root\0"), {{0}}, NULL},
      {"at the start alone", BLOCK("HOME=/root\0LUA_PATH=/a\0"), {{"LUA_PATH", "/a", NULL}}, "LUA_PATH is set"},
      {"now alone", BLOCK(""), {{"LUA_PATH", NULL, "/b"}}, "LUA_PATH is set"},
      {"another value now", BLOCK("LUA_PATH=/a\0"), {{"LUA_PATH", "/a", "/b"}}, "LUA_PATH is set"},
      {"set to nothing", BLOCK("LUA_PATH=\0"), {{"LUA_PATH", "", ""}}, "LUA_PATH is set"},
      {"twice: the first counts", BLOCK("LUA_PATH=/a\0LUA_PATH=/c\0"), {{"LUA_PATH", "/a", NULL}}, "LUA_PATH is set"},
      {"a value with =", BLOCK("LUA_PATH=a=b\0"), {{"LUA_PATH", "a=b", NULL}}, "LUA_PATH is set"},
      {"no value, and names that are longer or shorter", BLOCK("LUA_PATH\0LUA_PATH_=1\0LUA_PAT=1\0=LUA_PATH\0"), {{0}},
       NULL},
      {"the last without an end", BLOCK("LUA_PATH=/a"), {{"LUA_PATH", "/a", NULL}}, "LUA_PATH is set"},
      {"two", BLOCK("LUA_PATH=/a\0CLASSPATH=/c\0"), {{"CLASSPATH", "/c", NULL}, {"LUA_PATH", "/a", NULL}},
       "CLASSPATH and 1 more are set"},
      {"the first and the last of the list", BLOCK("_JAVA_OPTIONS=/a\0"),
       {{"CLASSPATH", NULL, "/b"}, {"LUA_PATH", NULL, "/b"}, {"_JAVA_OPTIONS", "/a", "/b"}},
       "CLASSPATH and 2 more are set"},
  };
#undef BLOCK
  for (size_t i = 0; i < sizeof ROWS / sizeof ROWS[0]; i++) {
    struct pfp_process process = started_with(ROWS[i].block, ROWS[i].size);
    test_case("%s", ROWS[i].what);
    forget_all();
    for (size_t j = 0; j < SETS && ROWS[i].sets[j].name != NULL; j++) {
      if (ROWS[i].sets[j].now != NULL) CHECK_NUMBER(setenv(ROWS[i].sets[j].name, ROWS[i].sets[j].now, 1), 0);
    }
    expect(&process, ROWS[i].sets, ROWS[i].note);
    (void)close(process.initial);
  }
  forget_all();
}

static void unreadable_start(void) {
  struct pfp_process process = {.maps = -1, .pagemap = -1, .status = -1, .initial = -1};
  forget_all();
  expect(&process, NULL, NULL);
  CHECK_NUMBER(setenv("LUA_PATH", "/b", 1), 0);
  expect(&process, NULL, "LUA_PATH is set");
  forget_all();
}

static void not_asked_for(void) {
  struct pfc_config asked = {0};
  struct pfp_evidence evidence = {.asked = &asked};
  struct pfp_process process = started_with("LUA_PATH=/a", 11);
  pfp_variables_report(&evidence, &process);
  CHECK_COUNT(evidence.count, 0);
  CHECK_NUMBER(evidence.failed, 0);
  (void)close(process.initial);
}

static const struct test tests[] = {
    TEST("the record has each listed variable's value at the start and now", both_times),
    TEST("a start that cannot be read makes the record absent", unreadable_start),
    TEST("a configuration without the source has no record", not_asked_for),
};

const struct suite process_variables_suite = SUITE("variables", tests);
