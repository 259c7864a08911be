/// The look at what can watch this process: breakpoints in debug registers, personality, and the second look that
/// releases a proof.

#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <linux/audit.h>
#include <linux/filter.h>
#include <linux/hw_breakpoint.h>
#include <linux/perf_event.h>
#include <linux/seccomp.h>
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>
#include <sched.h>
#include <sys/mount.h>
#include <sys/personality.h>
#include <sys/prctl.h>
#include <sys/ptrace.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "ProofProbe.h"
#include "process_place.h"
#include "process_suites.h"
#include "sanitized.h"
#include "transcript.h"
#include "watch.h"

#define BREAKPOINTS "hardware breakpoints"

struct record {
  const char *name;
  int seen, present;
  uint8_t digest[PFC_DIGEST_BYTES];
};

static int keep(void *context, uint8_t class_, uint8_t number, const uint8_t *name, size_t name_size,
                const uint8_t *digest) {
  struct record *record = context;
  if (class_ != PFC_CLASS_ENVIRONMENT || number != PFP_ENVIRONMENT_TRACER) return 0;
  if (name_size != strlen(record->name) || memcmp(name, record->name, name_size) != 0) return 0;
  record->seen++;
  record->present = digest != NULL;
  if (digest != NULL) memcpy(record->digest, digest, sizeof record->digest);
  return 0;
}

static struct pfc_config draft_of(uint8_t number) {
  struct pfc_config draft = place_draft(PFC_POLICY_FULL, 1);
  for (size_t i = 0; i < draft.source_count; i++) {
    if (draft.sources[i].class_ == PFC_CLASS_ENVIRONMENT && draft.sources[i].number == number) {
      draft.sources[0] = draft.sources[i];
    }
  }
  draft.source_count = 1;
  return draft;
}

/// One record of the debugger's source, from one measurement.
static int look(struct record *record, struct pfp_probe *probe, const char *name) {
  struct pfc_config draft = draft_of(PFP_ENVIRONMENT_TRACER);
  *record = (struct record){.name = name};
  return pfp_probe_collect(probe, &draft, keep, record);
}

static int says(const struct record *record, const char *fact) {
  uint8_t digest[PFC_DIGEST_BYTES];
  pfp_fact(digest, fact, strlen(fact));
  return record->present && memcmp(record->digest, digest, sizeof digest) == 0;
}

static int in_child(int (*run)(struct pfp_probe *)) {
  int status = -1;
  pid_t child;
  (void)fflush(stdout);
  child = fork();
  if (child == 0) _exit(run(place_probe()));
  (void)waitpid(child, &status, 0);
  return WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
}

/// A hardware breakpoint of the calling thread, as perf sets it on a program before it executes it.
static int set_breakpoint(void) {
  struct perf_event_attr event;
  memset(&event, 0, sizeof event);
  event.type = PERF_TYPE_BREAKPOINT;
  event.size = sizeof event;
  event.bp_type = HW_BREAKPOINT_X;
  event.bp_addr = 4096;
  event.bp_len = sizeof(long);
  event.exclude_kernel = 1;
  return (int)syscall(SYS_perf_event_open, &event, 0, -1, -1, PERF_FLAG_FD_CLOEXEC);
}

/// Whether this kernel lets a process ask for breakpoints at all; containers and some distributions do not.
static int can_ask(void) {
  int breakpoint = set_breakpoint();
  if (breakpoint < 0) {
    printf("skipped: hardware breakpoints: %s\n", strerror(errno));
    return 0;
  }
  return close(breakpoint) == 0;
}

// Breakpoints ----------------------------------------------------------------------------------------------------

static int with_breakpoint(struct pfp_probe *probe) {
  struct record before, during, after;
  int breakpoint;
  if (look(&before, probe, BREAKPOINTS) != PFP_OK || before.seen != 1 || !before.present) return 2;
  breakpoint = set_breakpoint();
  if (breakpoint < 0) return 3;
  if (look(&during, probe, BREAKPOINTS) != PFP_OK || !during.present) return 4;
  if (memcmp(during.digest, before.digest, sizeof before.digest) == 0) return 5;
#if defined(__x86_64__)
  if (!says(&before, "none") || !says(&during, "in use")) return 6;
#endif
  if (close(breakpoint) != 0 || look(&after, probe, BREAKPOINTS) != PFP_OK) return 7;
  return memcmp(after.digest, before.digest, sizeof before.digest) == 0 ? 0 : 8;
}

static void a_breakpoint_is_an_observation(void) {
  if (!can_ask()) return;
  REQUIRE(place_begin());
  CHECK_NUMBER(in_child(with_breakpoint), 0);
  place_finish();
}

/// A child holds breakpoints of its own while its parent looks.
static int beside_a_debugged_process(struct pfp_probe *probe) {
  struct record before, during;
  int ready[2];
  char byte = 'n';
  pid_t other;
  if (look(&before, probe, BREAKPOINTS) != PFP_OK || pipe2(ready, O_CLOEXEC) != 0) return 2;
  other = fork();
  if (other == 0) {
    byte = prctl(PR_SET_PDEATHSIG, SIGKILL) == 0 && set_breakpoint() >= 0 && set_breakpoint() >= 0 ? 'y' : 'n';
    (void)!write(ready[1], &byte, 1);
    for (;;) (void)pause();
  }
  if (read(ready[0], &byte, 1) != 1 || byte != 'y') return 3;
  for (int i = 0; i < 50; i++) {
    if (look(&during, probe, BREAKPOINTS) != PFP_OK) return 4;
    if (memcmp(during.digest, before.digest, sizeof before.digest) != 0) return 5;
  }
  (void)kill(other, SIGKILL);
  return 0;
}

static void anothers_breakpoints_do_not_count(void) {
  if (!can_ask()) return;
  REQUIRE(place_begin());
  CHECK_NUMBER(in_child(beside_a_debugged_process), 0);
  place_finish();
}

static atomic_int forking;

/// Children that inherit every descriptor of this process and stay.
static void *fork_on(void *count) {
  while (forking) {
    pid_t child = fork();
    if (child == 0) {
      if (prctl(PR_SET_PDEATHSIG, SIGKILL) != 0) _exit(1);
      for (;;) (void)pause();
    }
    if (child > 0 && ++*(int *)count == 300) return NULL;
  }
  return NULL;
}

static int beside_forks(struct pfp_probe *probe) {
  struct record before, now;
  pthread_t thread;
  int count = 0;
  if (look(&before, probe, BREAKPOINTS) != PFP_OK) return 2;
  forking = 1;
  if (pthread_create(&thread, NULL, fork_on, &count) != 0) return 3;
  for (int i = 0; i < 1000; i++) {
    if (look(&now, probe, BREAKPOINTS) != PFP_OK) return 4;
    if (memcmp(now.digest, before.digest, sizeof before.digest) != 0) return 5;
  }
  forking = 0;
  (void)pthread_join(thread, NULL);
  return count > 0 ? 0 : 6;
}

static void no_child_keeps_a_breakpoint(void) {
  REQUIRE(place_begin());
  CHECK_NUMBER(in_child(beside_forks), 0);
  place_finish();
}

struct looker {
  pthread_t thread;
  struct pfp_probe *probe;
  const struct record *first;
  int odd;
};

static void *look_on(void *user) {
  struct looker *looker = user;
  struct record now;
  for (int i = 0; i < 500; i++) {
    pfp_probe_hold();
    if (look(&now, looker->probe, BREAKPOINTS) != PFP_OK ||
        memcmp(now.digest, looker->first->digest, sizeof now.digest) != 0) {
      looker->odd++;
    }
    pfp_probe_let_go();
  }
  return NULL;
}

static void threads_hold_their_own(void) {
  struct looker lookers[3];
  struct record before;
  REQUIRE(place_begin());
  for (int i = 0; i < 3; i++) lookers[i] = (struct looker){.probe = place_probe(), .first = &before};
  CHECK_NUMBER(look(&before, lookers[0].probe, BREAKPOINTS), PFP_OK);
  for (int i = 0; i < 3; i++) REQUIRE(pthread_create(&lookers[i].thread, NULL, look_on, &lookers[i]) == 0);
  for (int i = 0; i < 3; i++) {
    (void)pthread_join(lookers[i].thread, NULL);
    CHECK_NUMBER(lookers[i].odd, 0);
    pfp_probe_free(lookers[i].probe);
  }
  place_finish();
}

/// As a container's filter of system calls answers.
static int without_perf(struct pfp_probe *probe) {
  struct sock_filter code[] = {
      BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)),
      BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_perf_event_open, 0, 1),
      BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | EPERM),
      BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
  };
  struct sock_fprog program = {sizeof code / sizeof code[0], code};
  struct record record;
  if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) != 0 ||
      prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program) != 0) {
    return 2;
  }
  for (int i = 0; i < 1000; i++) {
    if (look(&record, probe, BREAKPOINTS) != PFP_OK) return 3;
    if (!says(&record, "cannot be asked")) return 4;
  }
  return 0;
}

static void a_container_cannot_ask(void) {
  REQUIRE(place_begin());
  CHECK_NUMBER(in_child(without_perf), 0);
  place_finish();
}

/// While a thread holds its breakpoints, a debugger gets none.
static int held(struct pfp_probe *probe) {
  struct record record;
  int breakpoint;
  pfp_probe_hold();
  breakpoint = set_breakpoint();
  if (breakpoint >= 0 || errno != ENOSPC) return 2;
  // One that cannot be set is not one that is: the thread's own are no observation.
  if (look(&record, probe, BREAKPOINTS) != PFP_OK || says(&record, "in use")) return 3;
  pfp_probe_let_go();
  breakpoint = set_breakpoint();
  return breakpoint >= 0 ? 0 : 4;
}

static void a_hold_keeps_others_out(void) {
  if (!can_ask()) return;
  REQUIRE(place_begin());
  CHECK_NUMBER(in_child(held), 0);
  place_finish();
}

// Personality ----------------------------------------------------------------------------------------------------

static int with_personality(struct pfp_probe *probe) {
  struct record record;
  if (personality(0) == -1) return 2;
  if (look(&record, probe, "personality") != PFP_OK || !says(&record, "none")) return 3;
  if (personality(ADDR_NO_RANDOMIZE) == -1) return 4;
  return look(&record, probe, "personality") == PFP_OK && says(&record, "00040000") ? 0 : 5;
}

static void personality_is_an_observation(void) {
  REQUIRE(place_begin());
  CHECK_NUMBER(in_child(with_personality), 0);
  place_finish();
}

// No answer ------------------------------------------------------------------------------------------------------

/// With each number of descriptors to spare, the whole measurement is the same or none.
static int with_few_descriptors(struct pfp_probe *probe) {
  static struct listing before, now;
  struct pfc_config draft = place_draft(PFC_POLICY_FULL, 1);
  struct rlimit limit;
  int next, failures = 0;
  if (pfp_probe_collect(probe, &draft, listing_add, &before) != PFP_OK) return 2;
  if (getrlimit(RLIMIT_NOFILE, &limit) != 0) return 3;
  next = dup(0);
  (void)close(next);
  for (rlim_t spare = 0; spare < 12; spare++) {
    int result;
    limit.rlim_cur = (rlim_t)next + spare;
    if (setrlimit(RLIMIT_NOFILE, &limit) != 0) return 4;
    memset(&now, 0, sizeof now);
    result = pfp_probe_collect(probe, &draft, listing_add, &now);
    if (result == PFP_E_RESOURCE) {
      failures++;
    } else if (result != PFP_OK || now.size != before.size || memcmp(now.bytes, before.bytes, now.size) != 0) {
      return 5;
    }
  }
  return failures > 0 ? 0 : 6;
}

/// Each source alone: the others cannot fail in its place.
static int each_with_few_descriptors(struct pfp_probe *probe) {
  static struct listing before, now;
  struct pfc_config all = place_draft(PFC_POLICY_FULL, 1);
  struct rlimit limit;
  int next = dup(0);
  (void)close(next);
  if (getrlimit(RLIMIT_NOFILE, &limit) != 0) return 2;
  for (size_t i = 0; i < all.source_count; i++) {
    struct pfc_config draft = all;
    draft.sources[0] = all.sources[i];
    draft.source_count = 1;
    memset(&before, 0, sizeof before);
    limit.rlim_cur = limit.rlim_max;
    if (setrlimit(RLIMIT_NOFILE, &limit) != 0) return 3;
    if (pfp_probe_collect(probe, &draft, listing_add, &before) != PFP_OK) return 4;
    for (rlim_t spare = 0; spare < 4; spare++) {
      int result;
      limit.rlim_cur = (rlim_t)next + spare;
      if (setrlimit(RLIMIT_NOFILE, &limit) != 0) return 5;
      memset(&now, 0, sizeof now);
      result = pfp_probe_collect(probe, &draft, listing_add, &now);
      if (result == PFP_E_RESOURCE) continue;
      if (result != PFP_OK || now.size != before.size || memcmp(now.bytes, before.bytes, now.size) != 0) {
        return 100 + (int)i;
      }
    }
  }
  return 0;
}

static void no_descriptor_makes_nothing_absent(void) {
  REQUIRE(place_begin());
  test_case("all sources");
  CHECK_NUMBER(in_child(with_few_descriptors), 0);
  test_case("each source");
  CHECK_NUMBER(in_child(each_with_few_descriptors), 0);
  place_finish();
}

static int keep_preload(void *context, uint8_t class_, uint8_t number, const uint8_t *name, size_t name_size,
                        const uint8_t *digest) {
  struct record *record = context;
  (void)class_;
  (void)number;
  if (name_size != strlen(record->name) || memcmp(name, record->name, name_size) != 0) return 0;
  record->seen++;
  record->present = digest != NULL;
  return 0;
}

/// /etc/ld.so.preload is there and cannot be read: a folder has its name, in mounts of this child's own.
static int unreadable_preload(struct pfp_probe *probe) {
  struct record record = {.name = "ld.so.preload"};
  struct pfc_config draft = draft_of(PFP_ENVIRONMENT_PRELOAD);
  if (unshare(CLONE_NEWNS | (geteuid() != 0 ? CLONE_NEWUSER : 0)) != 0) return 2;
  if (mount(NULL, "/", NULL, MS_REC | MS_PRIVATE, NULL) != 0 || mount("none", "/etc", "tmpfs", 0, NULL) != 0) return 3;
  if (mkdir("/etc/ld.so.preload", 0700) != 0) return 4;
  if (pfp_probe_collect(probe, &draft, keep_preload, &record) != PFP_OK) return 5;
  return record.seen == 1 && !record.present ? 0 : 6;
}

static void an_unreadable_preload_file_is_absent(void) {
  REQUIRE(place_begin());
  CHECK_NUMBER(in_child(unreadable_preload), 0);
  place_finish();
}

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
  // What is planted is found.
  for (unsigned i = 0; i < PFC_DIGEST_BYTES; i++) ((volatile uint8_t *)planted)[i] = secret[i] ^ 0x5A;
  return find_in_memory(secret) >= 1 ? 0 : 8;
}

static void nothing_is_left_in_memory(void) {
  if (SANITIZED) {
    test_note("    skipped: a sanitizer keeps copies of its own, and maps memory that cannot be read");
    return;
  }
  REQUIRE(place_begin());
  CHECK_NUMBER(in_child(nothing_left), 0);
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
  struct record record;
  uint8_t one[PFC_PROOF_BYTES], other[PFC_PROOF_BYTES];
  int same, zero;
  pid_t tracer;
  if (look(&record, probe, "tracer") != PFP_OK) return 2;
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
  struct record record;
  int same, zero;
  if (look(&record, probe, "tracer") != PFP_OK) return 2;
  if (set_breakpoint() < 0) return 3;
  if (release(probe, &same, &zero) != PFP_OK) return 4;
  return !same && !zero ? 0 : 5;
}

static int personality_between(struct pfp_probe *probe) {
  struct record record;
  int same, zero;
  if (look(&record, probe, "tracer") != PFP_OK || personality(ADDR_NO_RANDOMIZE | READ_IMPLIES_EXEC) == -1) return 2;
  return release(probe, &same, &zero) == PFP_OK && !same && !zero ? 0 : 3;
}

/// Nothing was measured on this thread, so no look is the same as the first.
static int never_measured(struct pfp_probe *probe) {
  int same, zero;
  return release(probe, &same, &zero) == PFP_OK && !same && !zero ? 0 : 2;
}

static int not_asked_for(struct pfp_probe *probe) {
  struct record record = {.name = "tracer"};
  struct pfc_config draft = draft_of(PFP_ENVIRONMENT_KERNEL);
  int same, zero;
  if (pfp_probe_collect(probe, &draft, keep, &record) != PFP_OK || attach() < 0) return 2;
  return release(probe, &same, &zero) == PFP_OK && same ? 0 : 3;
}

static int without_descriptors(struct pfp_probe *probe) {
  struct record record;
  struct rlimit limit;
  int same, zero, next;
  if (look(&record, probe, "tracer") != PFP_OK || getrlimit(RLIMIT_NOFILE, &limit) != 0) return 2;
  next = dup(0);
  (void)close(next);
  limit.rlim_cur = (rlim_t)next;
  if (setrlimit(RLIMIT_NOFILE, &limit) != 0) return 3;
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
  struct record record;
  REQUIRE(place_begin());
  // The children inherit what their parent remembers, and must not release by it.
  probe = place_probe();
  CHECK_NUMBER(look(&record, probe, "tracer"), PFP_OK);
  pfp_probe_free(probe);
  for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
    if (cases[i].needs_breakpoints && !can_ask()) continue;
    test_case("%s", cases[i].what);
    CHECK_NUMBER(in_child(cases[i].run), 0);
  }
  place_finish();
}

static void a_released_command_is_the_core_s(void) {
  struct pfc_request request = {.command = (const uint8_t *)"open", .command_size = 4};
  struct pfc_secrets secrets;
  struct pfp_probe *probe;
  struct record record;
  REQUIRE(place_begin());
  probe = place_probe();
  memset(&secrets, 7, sizeof secrets);
  CHECK_NUMBER(look(&record, probe, "tracer"), PFP_OK);
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
    TEST("a hardware breakpoint of perf is an observation while it is set", a_breakpoint_is_an_observation),
    TEST("breakpoints of another process are none of this one's", anothers_breakpoints_do_not_count),
    TEST("children forked while a measurement holds breakpoints keep none of them", no_child_keeps_a_breakpoint),
    TEST("threads that measure at once see no breakpoints of each other", threads_hold_their_own),
    TEST("where a filter forbids to ask, a thousand measurements say the same", a_container_cannot_ask),
    TEST("no breakpoint can be set in a thread that holds its own", a_hold_keeps_others_out),
    TEST("personality is an observation", personality_is_an_observation),
    TEST("with too few descriptors a source is what it was, or there is no measurement",
         no_descriptor_makes_nothing_absent),
    TEST("a preload file that is there and cannot be read is absent", an_unreadable_preload_file_is_absent),
    TEST("no call leaves a digest of the device or IM in memory", nothing_is_left_in_memory),
    TEST("a proof is released by a second look that says what the first said", a_second_look_releases),
    TEST("a released command is byte for byte the core's", a_released_command_is_the_core_s),
};

const struct suite process_watch_suite = SUITE("who watches", tests);
