// SPDX-License-Identifier: Apache-2.0

#define _GNU_SOURCE
#include <sched.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "ProofProbe.h"
#include "probe/parts.h"
#include "process_place.h"
#include "process_suites.h"
#include "evidence/transcript.h"

static struct listing listings[2];

/// Computed by Python's hashlib from docs/PROBE.md, *Digests*.
static void digests_are_those_of_the_page(void) {
  static const uint8_t short_fact[PFC_DIGEST_BYTES] = {
      0x95, 0x62, 0x16, 0x45, 0xb5, 0x8a, 0x61, 0x8d, 0xfd, 0xc3, 0xa9, 0xa7, 0x2e, 0xe5, 0x32, 0x17,
      0xea, 0xd4, 0x95, 0x30, 0x53, 0x17, 0x27, 0x03, 0x52, 0x3a, 0xbc, 0x70, 0xb3, 0xfa, 0x6b, 0x51};
  static const uint8_t long_fact[PFC_DIGEST_BYTES] = {
      0x32, 0xdd, 0xd7, 0x72, 0x2a, 0x8c, 0x9c, 0xc5, 0x94, 0xa5, 0x58, 0xe2, 0xa9, 0x77, 0x25, 0xf1,
      0x4a, 0xac, 0x03, 0x79, 0xf2, 0xae, 0xa0, 0xb5, 0xe0, 0x81, 0x47, 0x75, 0x9a, 0x1b, 0xc0, 0x80};
  static const uint8_t several[PFC_DIGEST_BYTES] = {
      0xbe, 0x0f, 0xe6, 0xed, 0x7d, 0x6c, 0x5f, 0x54, 0x18, 0x31, 0x36, 0x49, 0x56, 0x18, 0x08, 0xd6,
      0x68, 0x2b, 0x95, 0x29, 0x29, 0xc7, 0x05, 0xae, 0x33, 0x98, 0xbb, 0x35, 0x98, 0x24, 0x1c, 0x0f};
  struct pfp_transcript transcript;
  uint8_t digest[PFC_DIGEST_BYTES], bytes[300] = {0};
  pfp_fact(digest, "proofkit", 8);
  CHECK_BYTES(digest, short_fact, sizeof digest);
  for (unsigned i = 0; i < 256; i++) bytes[i] = (uint8_t)i;
  pfp_fact(digest, bytes, sizeof bytes);
  CHECK_BYTES(digest, long_fact, sizeof digest);
  pfp_transcript_init(&transcript, "pfp1.process....");
  pfp_transcript_text(&transcript, "a text");
  pfp_transcript_number(&transcript, UINT64_C(0x0102030405060708));
  pfp_transcript_text(&transcript, "");
  pfp_transcript_final(digest, &transcript);
  CHECK_BYTES(digest, several, sizeof digest);
}

static void every_way_gives_the_same(void) {
  struct pfp_probe *probe;
  REQUIRE(place_begin());
  probe = place_probe();
  REQUIRE(probe != NULL);
  REQUIRE(listing_collect(&listings[0], probe, PFC_POLICY_FULL));
  for (int i = 0; i < 8; i++) {
    test_case("round %d", i);
    probe->process.no_query = i / 2 % 2;
    if (i == 6) pfp_probe_forget(probe);
    if (listing_collect(&listings[1], probe, (uint8_t)(1 + i % 3))) {
      (void)listing_same(&listings[1], &listings[0]);
    }
  }
  for (int i = 0; i < 50; i++) {
    test_case("warm round %d", i);
    if (listing_collect(&listings[1], probe, PFC_POLICY_TRUSTING)) (void)listing_same(&listings[1], &listings[0]);
  }
  pfp_probe_free(probe);
  place_finish();
}

static void only_im_follows_the_bundle(void) {
  struct pfp_probe *probe;
  struct baseline baseline;
  struct pfc_measured before, after;
  for (uint8_t policy = PFC_POLICY_FULL; policy <= PFC_POLICY_TRUSTING; policy++) {
    test_case("policy %u", policy);
    REQUIRE(place_begin());
    probe = place_probe();
    REQUIRE(probe != NULL && baseline_take(&baseline, probe, policy, 1));
    CHECK_NUMBER(baseline_measure(&before, probe, &baseline), PFP_OK);
    CHECK_NUMBER(baseline_measure(&after, probe, &baseline), PFP_OK);
    CHECK_BYTES(after.integrity, before.integrity, sizeof after.integrity);
    place_write("two", "2?\n");
    CHECK_NUMBER(baseline_measure(&after, probe, &baseline), PFP_OK);
    CHECK_DIFFER(after.integrity, before.integrity, sizeof after.integrity);
    CHECK_BYTES(after.device, before.device, sizeof after.device);
    place_write("two", "22\n");
    CHECK_NUMBER(baseline_measure(&after, probe, &baseline), PFP_OK);
    CHECK_BYTES(after.integrity, before.integrity, sizeof after.integrity);
    pfp_probe_free(probe);
    place_finish();
  }
}

static void diagnosis_names_what_changed(void) {
  struct pfp_probe *probe;
  struct baseline baseline;
  const struct pfp_diagnosis *diagnosis;
  void *code, *heap;
  REQUIRE(place_begin());
  probe = place_probe();
  REQUIRE(probe != NULL && baseline_take(&baseline, probe, PFC_POLICY_INCREMENTAL, 1));
  diagnosis = baseline_diagnose(probe, &baseline);
  CHECK_COUNT(diagnosis->count, 0);
  CHECK_NUMBER(diagnosis->app_comparable, 1);
  CHECK_NUMBER(diagnosis->device_comparable, 1);

  place_write("two", "2?\n");
  diagnosis = baseline_diagnose(probe, &baseline);
  REQUIRE(CHECK_COUNT(diagnosis->count, 1));
  CHECK_NUMBER(diagnosis->findings[0].class_, PFC_CLASS_APP);
  CHECK_NUMBER(diagnosis->findings[0].number, PFP_APP_BUNDLE);
  CHECK_NUMBER(diagnosis->findings[0].certain, 1);
  CHECK(strcmp(diagnosis->findings[0].name, "two") == 0);
  place_write("two", "22\n");

  code = mmap(NULL, 4096, PROT_READ | PROT_EXEC, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  diagnosis = baseline_diagnose(probe, &baseline);
  REQUIRE(CHECK_COUNT(diagnosis->count, 1));
  CHECK_NUMBER(diagnosis->findings[0].kind, PFP_FINDING_SUSPICIOUS);
  CHECK_NUMBER(diagnosis->findings[0].number, PFP_ENVIRONMENT_MAPPINGS);
  CHECK(strcmp(diagnosis->findings[0].text, "memory of no file is executable") == 0);
  // Beside it, memory that has a name.
  heap = sbrk(3 * 4096);
  heap = (char *)heap + (4096 - (uintptr_t)heap % 4096);
  CHECK_NUMBER(mprotect(heap, 4096, PROT_READ | PROT_EXEC), 0);
  diagnosis = baseline_diagnose(probe, &baseline);
  REQUIRE(CHECK_COUNT(diagnosis->count, 1));
  CHECK(strcmp(diagnosis->findings[0].text, "memory of no file and 1 more is executable") == 0);
  CHECK_NUMBER(mprotect(heap, 4096, PROT_READ | PROT_WRITE), 0);
  (void)munmap(code, 4096);
  CHECK_COUNT(baseline_diagnose(probe, &baseline)->count, 0);

  CHECK_NUMBER(chmod(place.storage, 0755), 0);
  diagnosis = baseline_diagnose(probe, &baseline);
  CHECK_NUMBER(diagnosis->app_comparable, 0);
  REQUIRE(CHECK_COUNT(diagnosis->count, 1));
  CHECK_NUMBER(diagnosis->findings[0].number, PFP_DEVICE_SECRET);
  CHECK(strcmp(diagnosis->findings[0].text, "secret: is open to others") == 0);
  pfp_probe_free(probe);
  place_finish();
}

static void leaves_of_two_baselines_share_nothing(void) {
  struct pfp_probe *probe;
  static struct baseline one, other;
  unsigned equal = 0, bits = 0, differing = 0;
  REQUIRE(place_begin());
  probe = place_probe();
  REQUIRE(probe != NULL && baseline_take(&one, probe, PFC_POLICY_FULL, 1) &&
          baseline_take(&other, probe, PFC_POLICY_FULL, 2));
  REQUIRE(CHECK_NUMBER(one.config.leaf_count, other.config.leaf_count));
  for (unsigned i = 0; i < one.config.leaf_count; i++) {
    for (unsigned j = 0; j < other.config.leaf_count; j++) {
      equal += memcmp(one.config.leaves[i], other.config.leaves[j], PFC_CONFIG_LEAF_BYTES) == 0;
    }
    // The same holds within one baseline: two sources with the same digest have leaves of their own.
    for (unsigned j = 0; j < i; j++) {
      equal += memcmp(one.config.leaves[i], one.config.leaves[j], PFC_CONFIG_LEAF_BYTES) == 0;
    }
  }
  CHECK_COUNT(equal, 0);
  // The same evidence twice differs like chance: half of the bits, within six standard deviations (sqrt(bits) / 2).
  for (unsigned i = 0; i < one.config.leaf_count; i++) {
    for (unsigned j = 0; j < PFC_CONFIG_LEAF_BYTES; j++, bits += 8) {
      unsigned both = one.config.leaves[i][j] ^ other.config.leaves[i][j];
      for (; both != 0; both &= both - 1) differing++;
    }
  }
  test_case("%u of %u bits differ", differing, bits);
  CHECK(bits > 3000);
  {
    unsigned twice = 2 * differing, off = twice > bits ? twice - bits : bits - twice;
    CHECK((uint64_t)off * off < (uint64_t)36 * bits);
  }
  pfp_probe_free(probe);
  place_finish();
}

/// A configuration chooses its records; their content does not depend on the choice.
static void each_source_stands_alone(void) {
  struct pfp_probe *probe;
  struct pfc_config draft = place_draft(PFC_POLICY_FULL, 1);
  const struct pfc_config all = draft;
  size_t at = 0;
  REQUIRE(place_begin());
  probe = place_probe();
  REQUIRE(probe != NULL && listing_collect(&listings[0], probe, PFC_POLICY_FULL));
  for (unsigned i = 0; i < all.source_count; i++) {
    struct listing *one = &listings[1];
    test_case("source %u/%u", all.sources[i].class_, all.sources[i].number);
    draft.source_count = 1;
    draft.sources[0] = all.sources[i];
    memset(one, 0, sizeof *one);
    if (!CHECK_NUMBER(pfp_probe_collect(probe, &draft, listing_add, one), PFP_OK)) break;
    CHECK(one->size != 0 && at + one->size <= listings[0].size);
    CHECK_BYTES(one->bytes, listings[0].bytes + at, one->size);
    at += one->size;
  }
  CHECK_COUNT(at, listings[0].size);
  pfp_probe_free(probe);
  place_finish();
}

/// A version is a promise: a configuration that names it gets the same records from each probe that has it.
static void sources_have_the_versions_of_the_page(void) {
  static const uint8_t PAGE[][3] = {
      {1, 1, 1}, {1, 2, 1}, {1, 3, 1}, {1, 4, 2}, {1, 5, 1}, {2, 1, 1}, {2, 2, 1}, {2, 3, 1}, {2, 4, 1}, {3, 1, 2},
      {3, 2, 1}, {3, 3, 1}, {3, 4, 1}, {3, 5, 1}, {3, 6, 2}, {3, 7, 1}, {3, 8, 1}, {3, 9, 1}, {3, 10, 1},
  };
  const struct pfc_config draft = place_draft(PFC_POLICY_FULL, 1);
  REQUIRE(CHECK_COUNT(draft.source_count, sizeof PAGE / sizeof PAGE[0]));
  for (size_t i = 0; i < draft.source_count; i++) {
    const struct pfc_source *source = &draft.sources[i];
    test_case("source %u/%u", PAGE[i][0], PAGE[i][1]);
    CHECK(source->class_ == PAGE[i][0] && source->number == PAGE[i][1] && source->version == PAGE[i][2]);
  }
}

static void what_cannot_be_collected_is_said_first(void) {
  struct pfp_probe *probe;
  struct pfc_config draft = place_draft(PFC_POLICY_FULL, 1);
  REQUIRE(place_begin());
  probe = place_probe();
  REQUIRE(probe != NULL);
  draft.sources[draft.source_count - 1].version = 2;
  memset(&listings[0], 0, sizeof listings[0]);
  CHECK_NUMBER(pfp_probe_collect(probe, &draft, listing_add, &listings[0]), PFP_E_UNSUPPORTED);
  CHECK_COUNT(listings[0].size, 0);
  {
    const struct pfc_source *last = &draft.sources[draft.source_count - 1];
    CHECK(strcmp(pfp_probe_failure(probe)->path, pfp_source_name(last->class_, last->number)) == 0);
  }
  draft.sources[draft.source_count - 1].number = 200;
  CHECK_NUMBER(pfp_probe_collect(probe, &draft, listing_add, &listings[0]), PFP_E_UNSUPPORTED);
  CHECK(strcmp(pfp_probe_failure(probe)->path, "a source unknown to this version") == 0);
  pfp_probe_free(probe);
  place_finish();
}

static int stop_at_once(void *user, const struct pfp_progress *progress) {
  (void)progress;
  return ++*(int *)user;
}

static int only_count(void *user, const struct pfp_progress *progress) {
  struct pfp_progress *last = user;
  // Progress never goes back.
  CHECK(progress->bytes >= last->bytes && progress->files >= last->files);
  *last = *progress;
  return 0;
}

static void progress_grows_and_can_stop(void) {
  struct pfp_progress last = {0, 0};
  struct pfp_probe_options own = {.progress = only_count, .user = &last};
  struct pfp_probe *probe;
  int calls = 0;
  REQUIRE(place_begin());
  own.bundle = place.bundle;
  own.storage = place.storage;
  REQUIRE(CHECK_NUMBER(pfp_probe_create(&probe, &own), PFP_OK));
  REQUIRE(listing_collect(&listings[0], probe, PFC_POLICY_FULL));
  CHECK(last.bytes > 1000000 && last.files >= 4);

  probe->options.progress = stop_at_once;
  probe->options.user = &calls;
  {
    struct pfc_config draft = place_draft(PFC_POLICY_FULL, 1);
    memset(&listings[1], 0, sizeof listings[1]);
    CHECK_NUMBER(pfp_probe_collect(probe, &draft, listing_add, &listings[1]), PFP_E_CANCELLED);
    CHECK_COUNT(listings[1].size, 0);
    CHECK(calls >= 1);
    probe->options.progress = NULL;
    pfp_probe_cancel(probe);
    CHECK_NUMBER(pfp_probe_collect(probe, &draft, listing_add, &listings[1]), PFP_E_CANCELLED);
  }
  // Having been stopped leaves no trace.
  REQUIRE(listing_collect(&listings[1], probe, PFC_POLICY_FULL));
  (void)listing_same(&listings[1], &listings[0]);
  pfp_probe_free(probe);
  place_finish();
}

/// The one record of the variables, or zeros.
static int add_variables(void *context, uint8_t class_, uint8_t number, const uint8_t *name, size_t name_size,
                         const uint8_t *digest) {
  (void)name;
  (void)name_size;
  if (class_ == PFC_CLASS_ENVIRONMENT && number == PFP_ENVIRONMENT_VARIABLES && digest != NULL) {
    memcpy(context, digest, PFC_DIGEST_BYTES);
  }
  return 0;
}

static void doors_of_interpreters_are_seen(void) {
  static const char *const DOORS[] = {"PYTHONPATH", "NODE_OPTIONS", "OPENSSL_CONF", "GCONV_PATH", "JAVA_TOOL_OPTIONS",
                                      "_JAVA_OPTIONS", "CLASSPATH", "GLIBC_TUNABLES", "PERL5OPT", "RUBYOPT"};
  struct pfc_config draft = place_draft(PFC_POLICY_FULL, 1);
  uint8_t before[PFC_DIGEST_BYTES], after[PFC_DIGEST_BYTES];
  struct pfp_probe *probe;
  REQUIRE(place_begin());
  probe = place_probe();
  REQUIRE(probe != NULL);
  memset(before, 0, sizeof before);
  CHECK_NUMBER(pfp_probe_collect(probe, &draft, add_variables, before), PFP_OK);
  for (size_t i = 0; i < sizeof DOORS / sizeof DOORS[0]; i++) {
    const char *value = getenv(DOORS[i]);
    char *own = value != NULL ? strdup(value) : NULL;
    // Set to nothing is set, and is not what it is set to otherwise.
    for (int set = 0; set < 2; set++) {
      test_case("%s, %d", DOORS[i], set);
      CHECK_NUMBER(setenv(DOORS[i], set == 0 ? "" : "/evil", 1), 0);
      CHECK_NUMBER(pfp_probe_collect(probe, &draft, add_variables, after), PFP_OK);
      CHECK_DIFFER(before, after, sizeof before);
    }
    CHECK_NUMBER(own != NULL ? setenv(DOORS[i], own, 1) : unsetenv(DOORS[i]), 0);
    free(own);
    CHECK_NUMBER(pfp_probe_collect(probe, &draft, add_variables, after), PFP_OK);
    CHECK_BYTES(after, before, sizeof before);
  }
  CHECK_NUMBER(setenv("PROOFKIT_UNLISTED", "1", 1), 0);
  CHECK_NUMBER(pfp_probe_collect(probe, &draft, add_variables, after), PFP_OK);
  CHECK_BYTES(after, before, sizeof before);
  CHECK_NUMBER(unsetenv("PROOFKIT_UNLISTED"), 0);
  pfp_probe_free(probe);
  place_finish();
}

static void nothing_given_is_absent(void) {
  struct pfp_probe_options own = {0};
  struct pfp_probe *probe;
  REQUIRE(CHECK_NUMBER(pfp_probe_create(&probe, &own), PFP_OK));
  // No bundle: all its shards; no storage: the secret. Board serials are this machine's affair.
  if (listing_collect(&listings[0], probe, PFC_POLICY_FULL)) {
    CHECK(listings[0].absent >= PFP_BUNDLE_SHARDS + 1 && listings[0].absent <= PFP_BUNDLE_SHARDS + 5);
  }
  pfp_probe_free(probe);
}

/// Runs a function in a child; its answer is the child's exit code.
static int in_child(int (*run)(struct pfp_probe *), struct pfp_probe *probe) {
  int status = -1;
  pid_t child = fork();
  if (child == 0) _exit(run(probe));
  (void)waitpid(child, &status, 0);
  return WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
}

static struct baseline common;

static int child_differs(struct pfp_probe *probe) {
  struct pfc_measured before, after;
  if (baseline_measure(&before, probe, &common) != PFP_OK) return 2;
  if (mmap(NULL, 4096, PROT_READ | PROT_EXEC, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0) == MAP_FAILED) return 3;
  if (baseline_measure(&after, probe, &common) != PFP_OK) return 4;
  return memcmp(before.integrity, after.integrity, sizeof before.integrity) != 0 ? 0 : 1;
}

static void a_child_measures_itself(void) {
  struct pfp_probe *probe;
  struct pfc_measured before, after;
  REQUIRE(place_begin());
  probe = place_probe();
  REQUIRE(probe != NULL && baseline_take(&common, probe, PFC_POLICY_INCREMENTAL, 1));
  CHECK_NUMBER(baseline_measure(&before, probe, &common), PFP_OK);
  CHECK_NUMBER(in_child(child_differs, probe), 0);
  CHECK_NUMBER(baseline_measure(&after, probe, &common), PFP_OK);
  CHECK_BYTES(after.integrity, before.integrity, sizeof after.integrity);
  pfp_probe_free(probe);
  place_finish();
}

/// A new probe in a place without /proc: it answers, and everything that /proc would have told is absent.
static int without_proc(struct pfp_probe *probe) {
  struct pfp_probe_options own = {.bundle = place.bundle, .storage = place.storage};
  struct pfp_probe *second;
  struct pfc_measured with, without;
  struct pfc_config draft = place_draft(PFC_POLICY_FULL, 1);
  if (baseline_measure(&with, probe, &common) != PFP_OK) return 2;
  if (unshare(CLONE_NEWNS | (geteuid() != 0 ? CLONE_NEWUSER : 0)) != 0) return 3;
  if (mount(NULL, "/", NULL, MS_REC | MS_PRIVATE, NULL) != 0) return 4;
  if (mount("none", "/proc", "tmpfs", 0, NULL) != 0) return 5;
  if (pfp_probe_create(&second, &own) != PFP_OK) return 6;
  if (baseline_measure(&without, second, &common) != PFP_OK) return 7;
  if (memcmp(with.integrity, without.integrity, sizeof with.integrity) == 0) return 8;
  memset(&listings[0], 0, sizeof listings[0]);
  if (pfp_probe_collect(second, &draft, listing_add, &listings[0]) != PFP_OK) return 9;
  // Executable, processor, tracer, three variables, seven kinds of mapping, pages, views.
  return listings[0].absent >= 15 ? 0 : 10;
}

static void no_proc_is_an_observation(void) {
  struct pfp_probe *probe;
  REQUIRE(place_begin());
  probe = place_probe();
  REQUIRE(probe != NULL && baseline_take(&common, probe, PFC_POLICY_FULL, 1));
  CHECK_NUMBER(in_child(without_proc, probe), 0);
  pfp_probe_free(probe);
  place_finish();
}

static int hardened_as_other_user(struct pfp_probe *probe) {
  struct pfp_probe_options own = {.bundle = place.bundle, .harden = 1};
  struct pfp_probe *plain, *second;
  struct pfc_config draft = place_draft(PFC_POLICY_INCREMENTAL, 1);
  (void)probe;
  if (geteuid() == 0 && (setgid(65534) != 0 || setuid(65534) != 0)) return 2;
  // Changing the user has made the process undumpable already; as after a login, it starts out dumpable.
  own.harden = 0;
  if (pfp_probe_create(&plain, &own) != PFP_OK) return 3;
  own.harden = 1;
  memset(listings, 0, sizeof listings);
  if (pfp_probe_collect(plain, &draft, listing_add, &listings[0]) != PFP_OK) return 4;
  if (pfp_probe_create(&second, &own) != PFP_OK) return 5;
  if (pfp_probe_collect(second, &draft, listing_add, &listings[1]) != PFP_OK) return 6;
  if (listings[0].size != listings[1].size) return 7;
  return memcmp(listings[0].bytes, listings[1].bytes, listings[0].size) == 0 ? 0 : 8;
}

static void hardening_changes_no_evidence(void) {
  REQUIRE(place_begin());
  CHECK_NUMBER(chmod(place.folder, 0755), 0);
  CHECK_NUMBER(in_child(hardened_as_other_user, NULL), 0);
  place_finish();
}

static const struct test tests[] = {
    TEST("a variable that brings code into an interpreter is seen, set to nothing too", doors_of_interpreters_are_seen),
    TEST("digests are those of the page", digests_are_those_of_the_page),
    TEST("every policy, every way to read, cold or warm, gives the same evidence", every_way_gives_the_same),
    TEST("a changed file changes IM and leaves DM, and putting it back restores IM", only_im_follows_the_bundle),
    TEST("diagnosis is silent when nothing changed and names what did", diagnosis_names_what_changed),
    TEST("leaves of two baselines of one app share nothing", leaves_of_two_baselines_share_nothing),
    TEST("a source asked for alone gives the records it gives among all", each_source_stands_alone),
    TEST("sources have the versions of the page", sources_have_the_versions_of_the_page),
    TEST("a source this probe cannot collect is named before anything is measured",
         what_cannot_be_collected_is_said_first),
    TEST("progress only grows, and can stop a measurement without a trace", progress_grows_and_can_stop),
    TEST("sources of a missing bundle and storage are absent", nothing_given_is_absent),
    TEST("a child measures itself, not its parent", a_child_measures_itself),
    TEST("a missing /proc changes the measurement, without a crash", no_proc_is_an_observation),
    TEST("a hardened process gives the same evidence", hardening_changes_no_evidence),
};

const struct suite process_probe_suite = SUITE("probe", tests);
