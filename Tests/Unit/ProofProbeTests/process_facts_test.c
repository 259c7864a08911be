// SPDX-License-Identifier: Apache-2.0

/// Facts about environment and watchers: the record of the page for each, and its words. The environment at the start
/// is a file that the test writes.

#define _GNU_SOURCE
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/personality.h>
#include <unistd.h>

#include "process/watch.h"
#include "process_suites.h"
#include "process_words.h"
#include "sources.h"

// Watchers -------------------------------------------------------------------------------------------------------

static const struct pfp_sight NOTHING_WATCHES = {
    .every_tracer = 1, .breakpoints = PFP_BREAKPOINTS_FREE, .personality_told = 1};

/// F(`pfp1.fact.......`, text); NULL: absent.
static void check_fact(uint8_t number, const char *name, const char *fact, unsigned alarm, const char *told) {
  uint8_t digest[PFC_DIGEST_BYTES];
  page_begin();
  if (fact != NULL) page_text(fact);
  page_digest(digest, "pfp1.fact.......");
  evidence_check(PFC_CLASS_ENVIRONMENT, number, name, fact != NULL ? digest : NULL, alarm, told);
}

static void check_watchers(const struct pfp_sight *sight, const char *name, const char *fact, unsigned alarm,
                           const char *told) {
  evidence_begin();
  pfp_watch_report(&evidence, sight);
  CHECK_COUNT(evidence.count, 3);
  check_fact(PFP_ENVIRONMENT_TRACER, name, fact, alarm, told);
  pfp_evidence_free(&evidence);
}

static void tracers_are_told(void) {
  struct pfp_sight sight = NOTHING_WATCHES;
  check_watchers(&sight, "tracer", "none", 0, NULL);
  sight.every_tracer = 0;
  check_watchers(&sight, "tracer", "none in this process namespace", 0, NULL);
  sight.tracer = -1;
  check_watchers(&sight, "tracer", NULL, 0, NULL);
}

static void a_tracer_is_an_alarm(void) {
  struct pfp_sight sight = NOTHING_WATCHES;
  const struct pfp_record *record;
  uint8_t none[PFC_DIGEST_BYTES];
  sight.tracer = 1;
  evidence_begin();
  pfp_watch_report(&evidence, &sight);
  record = evidence_record(PFC_CLASS_ENVIRONMENT, PFP_ENVIRONMENT_TRACER, "tracer");
  page_begin();
  page_text("none");
  page_digest(none, "pfp1.fact.......");
  if (CHECK(record != NULL && record->present && record->alarm == 1)) {
    CHECK_DIFFER(record->digest, none, sizeof none);
    CHECK(record->note != NULL && strcmp(record->note, "debugger attached") == 0);
  }
  pfp_evidence_free(&evidence);
}

static void breakpoints_are_told(void) {
  struct pfp_sight sight = NOTHING_WATCHES;
  check_watchers(&sight, "hardware breakpoints", "none", 0, NULL);
  sight.breakpoints = PFP_BREAKPOINTS_IN_USE;
  check_watchers(&sight, "hardware breakpoints", "in use", 1, "another program holds breakpoints of the processor");
  sight.breakpoints = PFP_BREAKPOINTS_UNTOLD;
  check_watchers(&sight, "hardware breakpoints", "cannot be asked", 0, NULL);
  sight.breakpoints = PFP_BREAKPOINTS_COUNTED;
  sight.free_code = 6;
  sight.free_data = 4;
  check_watchers(&sight, "free breakpoints", "6 for code and 4 for data are free", 0, NULL);
}

static void personalities_are_told(void) {
  struct pfp_sight sight = NOTHING_WATCHES;
  check_watchers(&sight, "personality", "none", 0, NULL);
  sight.personality = ADDR_NO_RANDOMIZE;
  check_watchers(&sight, "personality", "00040000", 0, "addresses are not randomised");
  sight.personality = 1;
  check_watchers(&sight, "personality", "00000001", 0, NULL);
  sight.personality_told = 0;
  sight.personality = 0;
  check_watchers(&sight, "personality", NULL, 0, NULL);
}

// Variables ------------------------------------------------------------------------------------------------------

static struct pfp_process process;

/// A process that was started with this environment; size 0 and NULL: it cannot be read.
static void begin(const char *block, size_t size) {
  process = (struct pfp_process){.maps = -1, .pagemap = -1, .status = -1, .initial = -1};
  if (block != NULL) {
    process.initial = memfd_create("environment", MFD_CLOEXEC);
    CHECK(write(process.initial, block, size) == (ssize_t)size);
  }
  evidence_begin();
}

static void finish(void) {
  pfp_evidence_free(&evidence);
  pfp_process_close(&process);
}

#define BEGIN(block) begin((block), sizeof(block) - 1)

static void page_value(const char *value) {
  page_number(value != NULL);
  if (value != NULL) page_text(value);
}

static void check_preload(const char *name, const char *first, const char *now) {
  uint8_t digest[PFC_DIGEST_BYTES];
  bool is_set = first != NULL || now != NULL;
  page_begin();
  page_value(first);
  page_value(now);
  page_digest(digest, "pfp1.fact.......");
  evidence_check(PFC_CLASS_ENVIRONMENT, PFP_ENVIRONMENT_PRELOAD, name, digest, is_set, is_set ? "is set" : NULL);
}

/// Names that are longer, shorter or without a value are other names; the last string may lack its end.
static void preloading_is_told_as_at_the_start_and_now(void) {
  static const char BLOCK[] = "XLD_PRELOAD=a\0LD_PRELOADX=b\0LD_PRELOA=c\0LD_PRELOAD\0LD_AUDIT=\0LD_PRELOAD=d=e";
  BEGIN(BLOCK);
  (void)setenv("LD_LIBRARY_PATH", "/now", 1);
  pfp_environment_report(&evidence, &process);
  (void)unsetenv("LD_LIBRARY_PATH");
  check_preload("LD_AUDIT", "", NULL);
  check_preload("LD_LIBRARY_PATH", NULL, "/now");
  check_preload("LD_PRELOAD", "d=e", NULL);
  finish();
  BEGIN("A=b");
  pfp_environment_report(&evidence, &process);
  check_preload("LD_AUDIT", NULL, NULL);
  finish();
}

static void an_environment_that_cannot_be_read_is_absent(void) {
  static const char *const NAMES[] = {"LD_AUDIT", "LD_LIBRARY_PATH", "LD_PRELOAD"};
  begin(NULL, 0);
  pfp_environment_report(&evidence, &process);
  pfp_variables_report(&evidence, &process);
  for (size_t i = 0; i < 3; i++) {
    evidence_check(PFC_CLASS_ENVIRONMENT, PFP_ENVIRONMENT_PRELOAD, NAMES[i], NULL, 0, NULL);
  }
  evidence_check(PFC_CLASS_ENVIRONMENT, PFP_ENVIRONMENT_VARIABLES, "variables", NULL, 0, NULL);
  finish();
}

/// A named variable at the start and now; the number of those that are set.
static void page_variable(const char *name, const char *first, const char *now) {
  page_text(name);
  page_value(first);
  page_value(now);
}

static void check_variables(uint64_t count, const char *told) {
  uint8_t digest[PFC_DIGEST_BYTES];
  page_number(count);
  page_digest(digest, "pfp1.variables..");
  pfp_variables_report(&evidence, &process);
  evidence_check(PFC_CLASS_ENVIRONMENT, PFP_ENVIRONMENT_VARIABLES, "variables", digest, 0, told);
  finish();
}

static void variables_are_told_in_the_order_of_the_page(void) {
  page_begin();
  BEGIN("A=b\0PERL5LIBS=x\0PERL5LI=x");
  check_variables(0, NULL);
  page_begin();
  BEGIN("PERL5LIB");
  check_variables(0, NULL);
  page_begin();
  BEGIN("PERL5LIB=a");
  page_variable("PERL5LIB", "a", NULL);
  check_variables(1, "PERL5LIB is set");
  // The first of two values of one name counts. The last one of the list is the first set.
  page_begin();
  BEGIN("_JAVA_OPTIONS=\0PERL5LIB=a\0PERL5LIB=b\0");
  (void)setenv("PERL5LIB", "c", 1);
  (void)setenv("CLASSPATH", "d", 1);
  page_variable("CLASSPATH", NULL, "d");
  page_variable("PERL5LIB", "a", "c");
  page_variable("_JAVA_OPTIONS", "", NULL);
  check_variables(3, "CLASSPATH and 2 more are set");
  (void)unsetenv("PERL5LIB");
  (void)unsetenv("CLASSPATH");
}

// Device ---------------------------------------------------------------------------------------------------------

/// F(`pfp1.fact.......`, text), or absent and with these words.
static void check_device(uint8_t number, const char *name, const char *fact, unsigned alarm, const char *told) {
  uint8_t digest[PFC_DIGEST_BYTES];
  page_begin();
  if (fact != NULL) page_text(fact);
  page_digest(digest, "pfp1.fact.......");
  evidence_check(PFC_CLASS_DEVICE, number, name, fact != NULL ? digest : NULL, alarm, told);
}

/// The lines of the first processor that tell maker, family, model and stepping.
static bool read_processor(char text[2000]) {
  static const char NAMES[] = "|vendor_id|cpu family|model|model name|stepping|CPU implementer|CPU variant|CPU part|"
                              "CPU revision|Hardware|Serial|cpu|machine|";
  char line[4096], name[128];
  FILE *file = fopen("/proc/cpuinfo", "re");
  if (!CHECK(file != NULL)) return false;
  text[0] = 0;
  while (fgets(line, sizeof line, file) != NULL && line[0] != '\n') {
    (void)snprintf(name, sizeof name, "|%.*s", (int)strcspn(line, "\t:"), line);
    (void)strcat(name, "|");
    line[strcspn(line, "\n")] = 0;
    if (strstr(NAMES, name) != NULL) (void)strcat(strcat(text, line), "\n");
  }
  return fclose(file) == 0 && text[0] != 0;
}

static void the_processor_is_told_by_its_lines(void) {
  char text[2000];
  const uint8_t kept[PFC_DIGEST_BYTES] = {7};
  begin(NULL, 0);
  if (!read_processor(text)) return;
  pfp_device_report(&evidence, NULL, &process, 1);
  check_device(PFP_DEVICE_PROCESSOR, "processor", text, 0, NULL);
  CHECK_NUMBER(process.knows_processor, 1);
  pfp_evidence_free(&evidence);
  // The incremental policy asks once, any other each time.
  memcpy(process.processor, kept, sizeof kept);
  evidence_begin();
  pfp_device_report(&evidence, NULL, &process, 1);
  evidence_check(PFC_CLASS_DEVICE, PFP_DEVICE_PROCESSOR, "processor", kept, 0, NULL);
  pfp_evidence_free(&evidence);
  evidence_begin();
  pfp_device_report(&evidence, NULL, &process, 0);
  check_device(PFP_DEVICE_PROCESSOR, "processor", text, 0, NULL);
  finish();
}

static void the_device_is_told_by_its_files(void) {
  char text[256] = {0};
  FILE *file = fopen("/etc/machine-id", "re");
  bool known = file != NULL && fgets(text, sizeof text, file) != NULL;
  if (file != NULL) (void)fclose(file);
  text[strcspn(text, "\n")] = 0;
  known = known && text[0] != 0;
  begin(NULL, 0);
  pfp_device_report(&evidence, NULL, &process, 0);
  check_device(PFP_DEVICE_MACHINE, "machine-id", known ? text : NULL, 0, known ? NULL : "cannot be read");
  check_device(PFP_DEVICE_SECRET, "secret", NULL, 1, "is not there");
  finish();
}

// Evidence -------------------------------------------------------------------------------------------------------

static void add(uint8_t class_, uint8_t number, const char *name) {
  CHECK(pfp_evidence_add(&evidence, class_, number, name, NULL) != NULL);
}

/// By class, number and name; a prefix comes before its extensions.
static void records_are_in_the_order_of_a_measurement(void) {
  static const char *const SORTED[] = {"z", "b", "a", "ab", "b", "a"};
  evidence_begin();
  add(PFC_CLASS_ENVIRONMENT, PFP_ENVIRONMENT_KERNEL, "a");
  add(PFC_CLASS_APP, PFP_APP_SDK, "b");
  add(PFC_CLASS_APP, PFP_APP_SDK, "ab");
  add(PFC_CLASS_APP, PFP_APP_CODE, "b");
  add(PFC_CLASS_APP, PFP_APP_SDK, "a");
  add(PFC_CLASS_DEVICE, PFP_DEVICE_SECRET, "z");
  pfp_evidence_sort(&evidence);
  for (size_t i = 0; i < 6; i++) CHECK(strcmp(evidence.records[i]->name, SORTED[i]) == 0);
  CHECK_NUMBER(evidence.records[0]->class_, PFC_CLASS_DEVICE);
  CHECK_NUMBER(evidence.records[1]->number, PFP_APP_CODE);
  pfp_evidence_free(&evidence);
  CHECK(evidence.records == NULL && evidence.count == 0 && evidence.capacity == 0);
}

static void records_have_what_they_were_given(void) {
  const uint8_t digest[PFC_DIGEST_BYTES] = {1, 2, 3};
  char name[PFC_NAME_MAX + 10];
  struct pfp_record *record;
  memset(name, 'n', sizeof name);
  name[sizeof name - 1] = 0;
  evidence_begin();
  record = pfp_evidence_add(&evidence, PFC_CLASS_APP, PFP_APP_SDK, name, digest);
  REQUIRE(CHECK(record != NULL));
  CHECK_NUMBER(record->name_size, PFC_NAME_MAX);
  CHECK_COUNT(strlen(record->name), PFC_NAME_MAX);
  CHECK_BYTES(record->digest, digest, sizeof digest);
  CHECK(record->present == 1 && record->alarm == 0 && record->note == NULL);
  pfp_record_note(record, 1, "%u of them", 3u);
  pfp_record_note(record, 2, "%u of them", 4u);
  CHECK(record->alarm == 2 && strcmp(record->note, "4 of them") == 0);
  pfp_record_note(NULL, 1, "no record, no words");
  // Not asked for, or memory was out before.
  CHECK(pfp_evidence_add(&evidence, PFC_CLASS_APP, 99, "x", digest) == NULL);
  evidence.failed = 1;
  CHECK(pfp_evidence_add(&evidence, PFC_CLASS_APP, PFP_APP_SDK, "x", digest) == NULL);
  CHECK_COUNT(evidence.count, 1);
  pfp_evidence_free(&evidence);
}

static void hundreds_of_records_are_kept(void) {
  evidence_begin();
  for (unsigned i = 0; i < 600; i++) {
    const char name[] = {(char)('a' + i / 100), (char)('0' + i / 10 % 10), (char)('0' + i % 10), 0};
    add(PFC_CLASS_APP, PFP_APP_SDK, name);
  }
  CHECK_COUNT(evidence.count, 600);
  CHECK(strcmp(evidence.records[0]->name, "a00") == 0 && strcmp(evidence.records[599]->name, "f99") == 0);
  pfp_evidence_free(&evidence);
}

static const struct test tests[] = {
    TEST("tracers are told, and where they may be out of sight", tracers_are_told),
    TEST("a tracer is an alarm", a_tracer_is_an_alarm),
    TEST("hardware breakpoints are told", breakpoints_are_told),
    TEST("personalities are told", personalities_are_told),
    TEST("preloading is told as at the start and as it is now", preloading_is_told_as_at_the_start_and_now),
    TEST("an environment that cannot be read is absent", an_environment_that_cannot_be_read_is_absent),
    TEST("variables are told in the order of the page", variables_are_told_in_the_order_of_the_page),
    TEST("the processor is told by its own lines", the_processor_is_told_by_its_lines),
    TEST("the device is told by its files", the_device_is_told_by_its_files),
    TEST("records are in the order of a measurement", records_are_in_the_order_of_a_measurement),
    TEST("a record has what it was given", records_have_what_they_were_given),
    TEST("hundreds of records are kept", hundreds_of_records_are_kept),
};

const struct suite process_facts_suite = SUITE("facts", tests);
