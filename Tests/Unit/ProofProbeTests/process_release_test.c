// SPDX-License-Identifier: Apache-2.0

/// The second look that releases a proof, and what a call leaves in memory.

#define _GNU_SOURCE
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/personality.h>
#include <sys/prctl.h>
#include <sys/ptrace.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include "ProofProbe.h"
#include "process_place.h"
#include "process_sight.h"
#include "process_suites.h"
#include "sanitized.h"

// Memory ---------------------------------------------------------------------------------------------------------

/// How often 32 bytes stand in writable memory. They are given under a mask, or this would find the question.
static int find_in_memory(const uint8_t masked[PFC_DIGEST_BYTES]) {
  FILE *maps = fopen("/proc/self/maps", "re");
  char line[512];
  int found = 0;
  while (maps != NULL && fgets(line, sizeof line, maps) != NULL) {
    unsigned long start, end;
    const volatile uint8_t *byte;
    char rights[8];
    if (sscanf(line, "%lx-%lx %7s", &start, &end, rights) != 3 || rights[0] != 'r' || rights[1] != 'w') continue;
    byte = (const volatile uint8_t *)start;
    for (unsigned long i = 0; i + PFC_DIGEST_BYTES <= end - start; i++) {
      unsigned j = 0;
      while (j < PFC_DIGEST_BYTES && (uint8_t)(byte[i + j] ^ 0x5A) == masked[j]) j++;
      if (j == PFC_DIGEST_BYTES) fprintf(stderr, "%#lx %s", start + i, line);
      found += j == PFC_DIGEST_BYTES;
    }
  }
  if (maps != NULL) (void)fclose(maps);
  return found;
}

static int keep_masked(void *context, uint8_t class_, uint8_t number, const uint8_t *name, size_t name_size,
                       const uint8_t *digest) {
  uint8_t *masked = context;
  (void)name;
  (void)name_size;
  if (class_ == PFC_CLASS_DEVICE && number == PFP_DEVICE_SECRET && digest != NULL) {
    for (unsigned i = 0; i < PFC_DIGEST_BYTES; i++) masked[i] = digest[i] ^ 0x5A;
  }
  return 0;
}

/// In a process of its own, which has measured nothing else.
static int nothing_left(struct pfp_probe *probe) {
  static uint8_t secret[PFC_DIGEST_BYTES], integrity[PFC_DIGEST_BYTES];
  static struct baseline baseline;
  static struct pfc_measured measured;
  struct pfc_config draft = place_draft(PFC_POLICY_FULL, 1);
  uint8_t planted[PFC_DIGEST_BYTES];
  if (pfp_probe_collect(probe, &draft, keep_masked, secret) != PFP_OK) return 2;
  if (find_in_memory(secret) != 0) return 3;
  if (!baseline_take(&baseline, probe, PFC_POLICY_FULL, 9)) return 4;
  if (baseline_measure(&measured, probe, &baseline) != PFP_OK) return 5;
  for (unsigned i = 0; i < PFC_DIGEST_BYTES; i++) integrity[i] = measured.integrity[i] ^ 0x5A;
  pfc_wipe(&measured, sizeof measured);
  if (find_in_memory(secret) != 0 || find_in_memory(integrity) != 0) return 6;
  (void)baseline_diagnose(probe, &baseline);
  if (find_in_memory(secret) != 0 || find_in_memory(integrity) != 0) return 7;
  // A planted copy is found.
  for (unsigned i = 0; i < PFC_DIGEST_BYTES; i++) ((volatile uint8_t *)planted)[i] = secret[i] ^ 0x5A;
  return find_in_memory(secret) >= 1 ? 0 : 8;
}

static void nothing_is_left_in_memory(void) {
  if (SANITIZED) {
    test_note("    skipped: a sanitizer keeps copies of its own, and maps memory that cannot be read");
    return;
  }
  REQUIRE(place_begin());
  CHECK_NUMBER(sight_in_child(nothing_left), 0);
  place_finish();
}

// Release --------------------------------------------------------------------------------------------------------

static const uint8_t PROOF[PFC_PROOF_BYTES] = {1, 2, 3, 4, 5, 6, 7, 8, 9};

/// The result of releasing PROOF; `*same` is whether it is still what it was, `*zero` whether nothing is left of it.
static int release(struct pfp_probe *probe, int *same, int *zero) {
  uint8_t proof[PFC_PROOF_BYTES];
  int result;
  memcpy(proof, PROOF, sizeof proof);
  result = pfp_probe_release(probe, proof);
  *same = memcmp(proof, PROOF, sizeof proof) == 0;
  *zero = pfc_is_zero(proof, sizeof proof);
  return result;
}

/// Attaches to the calling process, from a child of it. The child, or -1.
static pid_t attach(void) {
  pid_t self = getpid(), tracer;
  int ready[2];
  char byte = 'n';
  if (pipe2(ready, O_CLOEXEC) != 0) return -1;
  (void)prctl(PR_SET_PTRACER, PR_SET_PTRACER_ANY, 0, 0, 0);
  tracer = fork();
  if (tracer == 0) {
    byte = prctl(PR_SET_PDEATHSIG, SIGKILL) == 0 && ptrace(PTRACE_SEIZE, self, NULL, NULL) == 0 ? 'y' : 'n';
    (void)!write(ready[1], &byte, 1);
    for (;;) (void)pause();
  }
  if (read(ready[0], &byte, 1) != 1 || byte != 'y') return -1;
  (void)close(ready[0]);
  (void)close(ready[1]);
  return tracer;
}

static int attached_between(struct pfp_probe *probe) {
  struct sight_record record;
  uint8_t one[PFC_PROOF_BYTES], other[PFC_PROOF_BYTES];
  int same, zero;
  pid_t tracer;
  if (sight_look(&record, probe, "tracer") != PFP_OK) return 2;
  if (release(probe, &same, &zero) != PFP_OK || !same) return 3;
  tracer = attach();
  if (tracer < 0) return 4;
  if (release(probe, &same, &zero) != PFP_OK || same || zero) return 5;
  // Twice the same proof and the same two looks: what comes out tells nothing of the proof.
  memcpy(one, PROOF, sizeof one);
  memcpy(other, PROOF, sizeof other);
  if (pfp_probe_release(probe, one) != PFP_OK || pfp_probe_release(probe, other) != PFP_OK) return 6;
  if (memcmp(one, other, sizeof one) == 0) return 7;
  // The second proof of that message is right, and the first of the next message is as wrong as before.
  memcpy(one, PROOF, sizeof one);
  if (pfp_probe_release_next(probe, one) != PFP_OK || memcmp(one, PROOF, sizeof one) != 0) return 9;
  if (release(probe, &same, &zero) != PFP_OK || same) return 10;
  (void)kill(tracer, SIGKILL);
  (void)waitpid(tracer, NULL, 0);
  return release(probe, &same, &zero) == PFP_OK && same ? 0 : 8;
}

static int watched_between(struct pfp_probe *probe) {
  struct sight_record record;
  int same, zero;
  if (sight_look(&record, probe, "tracer") != PFP_OK) return 2;
  if (sight_breakpoint() < 0) return 3;
  if (release(probe, &same, &zero) != PFP_OK) return 4;
  return !same && !zero ? 0 : 5;
}

static int personality_between(struct pfp_probe *probe) {
  struct sight_record record;
  int same, zero;
  if (sight_look(&record, probe, "tracer") != PFP_OK) return 2;
  if (personality(ADDR_NO_RANDOMIZE | READ_IMPLIES_EXEC) == -1) return 2;
  return release(probe, &same, &zero) == PFP_OK && !same && !zero ? 0 : 3;
}

/// Nothing was measured on this thread, so no look is the same as the first.
static int never_measured(struct pfp_probe *probe) {
  int same, zero;
  return release(probe, &same, &zero) == PFP_OK && !same && !zero ? 0 : 2;
}

static int not_asked_for(struct pfp_probe *probe) {
  struct sight_record record = {.name = "tracer"};
  struct pfc_config draft = sight_draft(PFP_ENVIRONMENT_KERNEL);
  int same, zero;
  if (pfp_probe_collect(probe, &draft, sight_keep, &record) != PFP_OK || attach() < 0) return 2;
  return release(probe, &same, &zero) == PFP_OK && same ? 0 : 3;
}

/// A command of either kind is all zeros, and has no size.
static bool commands_nothing(struct pfp_probe *probe) {
  struct pfc_request request = {.command = (const uint8_t *)"open", .command_size = 4};
  struct pfc_secrets secrets;
  bool nothing = true;
  memset(&secrets, 7, sizeof secrets);
  for (request.kind = PFC_KIND_INTEGRITY; request.kind <= PFC_KIND_DEVICE; request.kind++) {
    uint8_t message[PFC_MESSAGE_MAX] = {0}, nonce[PFC_NONCE_BYTES];
    size_t size = 9;
    int result = pfp_probe_command(message, sizeof message, &size, nonce, probe, &request, &secrets);
    nothing = nothing && result == PFP_E_RESOURCE && size == 0 && pfc_is_zero(message, sizeof message);
  }
  return nothing;
}

static int without_descriptors(struct pfp_probe *probe) {
  struct sight_record record;
  struct rlimit limit;
  int same, zero, next;
  if (sight_look(&record, probe, "tracer") != PFP_OK || getrlimit(RLIMIT_NOFILE, &limit) != 0) return 2;
  next = dup(0);
  (void)close(next);
  limit.rlim_cur = (rlim_t)next;
  if (setrlimit(RLIMIT_NOFILE, &limit) != 0) return 3;
  if (!commands_nothing(probe)) return 5;
  return release(probe, &same, &zero) == PFP_E_RESOURCE && zero ? 0 : 4;
}

static void a_second_look_releases(void) {
  static const struct {
    const char *what;
    int (*run)(struct pfp_probe *);
    int needs_breakpoints;
  } cases[] = {
      {"a debugger attached between", attached_between, 0},
      {"a breakpoint set between", watched_between, 1},
      {"the personality changed between", personality_between, 0},
      {"nothing measured", never_measured, 0},
      {"the source is not asked for", not_asked_for, 0},
      {"no descriptor left", without_descriptors, 0},
  };
  struct pfp_probe *probe;
  struct sight_record record;
  REQUIRE(place_begin());
  // The children inherit what their parent remembers, and must not release by it.
  probe = place_probe();
  CHECK_NUMBER(sight_look(&record, probe, "tracer"), PFP_OK);
  pfp_probe_free(probe);
  for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
    if (cases[i].needs_breakpoints && !sight_can_ask()) continue;
    test_case("%s", cases[i].what);
    CHECK_NUMBER(sight_in_child(cases[i].run), 0);
  }
  place_finish();
}

static void a_released_command_is_the_core_s(void) {
  struct pfc_request request = {.command = (const uint8_t *)"open", .command_size = 4};
  struct pfc_secrets secrets;
  struct pfp_probe *probe;
  struct sight_record record;
  REQUIRE(place_begin());
  probe = place_probe();
  memset(&secrets, 7, sizeof secrets);
  CHECK_NUMBER(sight_look(&record, probe, "tracer"), PFP_OK);
  for (uint8_t kind = PFC_KIND_INTEGRITY; kind <= PFC_KIND_DEVICE; kind++) {
    uint8_t own[PFC_MESSAGE_MAX], released[PFC_MESSAGE_MAX], nonce[PFC_NONCE_BYTES], other[PFC_NONCE_BYTES];
    size_t size, released_size;
    request.kind = kind;
    REQUIRE(CHECK_NUMBER(pfc_command_create(own, sizeof own, &size, nonce, &request, &secrets), PFC_OK));
    REQUIRE(CHECK_NUMBER(
        pfp_probe_command(released, sizeof released, &released_size, other, probe, &request, &secrets), PFP_OK));
    CHECK_COUNT(released_size, size);
    CHECK_BYTES(released, own, size);
    CHECK_BYTES(other, nonce, sizeof nonce);
    CHECK_NUMBER(pfp_probe_command(released, 8, &released_size, other, probe, &request, &secrets), PFP_E_CORE);
    CHECK_COUNT(released_size, 0);
  }
  pfp_probe_free(probe);
  place_finish();
}

static const struct test tests[] = {
    TEST("no call leaves a digest of the device or IM in memory", nothing_is_left_in_memory),
    TEST("a proof is released by a second look that says what the first said", a_second_look_releases),
    TEST("a released command is byte for byte the core's", a_released_command_is_the_core_s),
};

const struct suite process_release_suite = SUITE("release", tests);
