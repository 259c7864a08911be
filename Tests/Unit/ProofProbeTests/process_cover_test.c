// SPDX-License-Identifier: Apache-2.0

/// A view of the process that an attacker has arranged: with files of his own in the place of the kernel's, without
/// descriptors to look with, from another process namespace, or with code where no code belongs.

#define _GNU_SOURCE
#include <fcntl.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/auxv.h>
#include <sys/mman.h>
#include <sys/mount.h>
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

/// One record, as it was handed out.
struct sight {
  uint8_t class_, number;
  const char *name;
  int seen, present;
  uint8_t digest[PFC_DIGEST_BYTES];
};

static int see(void *context, uint8_t class_, uint8_t number, const uint8_t *name, size_t name_size,
               const uint8_t *digest) {
  struct sight *sight = context;
  if (class_ != sight->class_ || number != sight->number || name_size != strlen(sight->name) ||
      memcmp(name, sight->name, name_size) != 0) {
    return 0;
  }
  sight->seen++;
  sight->present = digest != NULL;
  if (digest != NULL) memcpy(sight->digest, digest, sizeof sight->digest);
  return 0;
}

/// A configuration that asks for one source alone.
static struct pfc_config only(uint8_t class_, uint8_t number) {
  struct pfc_config draft = place_draft(PFC_POLICY_FULL, 1);
  for (size_t i = 0; i < draft.source_count; i++) {
    if (draft.sources[i].class_ == class_ && draft.sources[i].number == number) draft.sources[0] = draft.sources[i];
  }
  draft.source_count = 1;
  return draft;
}

/// Reads one record through this probe. Answers the probe's result.
static int look(struct sight *sight, struct pfp_probe *probe, uint8_t class_, uint8_t number, const char *name) {
  struct pfc_config draft = only(class_, number);
  *sight = (struct sight){.class_ = class_, .number = number, .name = name};
  return pfp_probe_collect(probe, &draft, see, sight);
}

/// Runs a function in a child; its answer is the child's exit code.
static int in_child(int (*run)(const void *), const void *argument) {
  int status = -1;
  pid_t child;
  (void)fflush(stdout);
  child = fork();
  if (child == 0) _exit(run(argument));
  (void)waitpid(child, &status, 0);
  return WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
}

static int own_mounts(int flags) {
  if (unshare(CLONE_NEWNS | flags | (geteuid() != 0 ? CLONE_NEWUSER : 0)) != 0) return -1;
  return mount(NULL, "/", NULL, MS_REC | MS_PRIVATE, NULL);
}

// Covers ---------------------------------------------------------------------------------------------------------

struct cover {
  const char *path;  ///< Below /proc/self
  uint8_t class_, number;
  const char *name;
};

static const char THREAD[] = "task/thread-self";  ///< Stands for the folder of the first thread

static const struct cover COVERS[] = {
    {"status", PFC_CLASS_ENVIRONMENT, PFP_ENVIRONMENT_TRACER, "tracer"},
    {"task", PFC_CLASS_ENVIRONMENT, PFP_ENVIRONMENT_TRACER, "tracer"},
    {THREAD, PFC_CLASS_ENVIRONMENT, PFP_ENVIRONMENT_TRACER, "tracer"},
    {"environ", PFC_CLASS_ENVIRONMENT, PFP_ENVIRONMENT_PRELOAD, "LD_PRELOAD"},
    {"maps", PFC_CLASS_ENVIRONMENT, PFP_ENVIRONMENT_MAPPINGS, "foreign"},
    {"pagemap", PFC_CLASS_ENVIRONMENT, PFP_ENVIRONMENT_PAGES, "private"},
    {"exe", PFC_CLASS_APP, PFP_APP_EXECUTABLE, "executable"},
};

/// Mounts over the very name, be it a link's.
static int mount_over(const char *what, const char *where) {
  int tree = (int)syscall(SYS_open_tree, AT_FDCWD, what, OPEN_TREE_CLONE | OPEN_TREE_CLOEXEC | AT_SYMLINK_NOFOLLOW);
  return tree < 0 ? -1 : (int)syscall(SYS_move_mount, tree, "", AT_FDCWD, where, MOVE_MOUNT_F_EMPTY_PATH);
}

/// A faithful copy of what the kernel says; of pages, that none is a private copy.
static int copy(const char *to, const char *from) {
  static char bytes[1 << 20];
  int source = open(from, O_RDONLY | O_CLOEXEC), target = open(to, O_WRONLY | O_CREAT | O_CLOEXEC, 0644);
  size_t size = 0;
  ssize_t count = 0;
  if (source < 0 || target < 0) return -1;
  while (strstr(from, "pagemap") == NULL && (count = read(source, bytes + size, sizeof bytes - size)) > 0) {
    size += (size_t)count;
  }
  if (size != 0 && write(target, bytes, size) != (ssize_t)size) return -1;
  if (size == 0 && ftruncate(target, (off_t)1 << 40) != 0) return -1;
  return close(source) | close(target);
}

static int covered(const void *argument) {
  const struct cover *cover = argument;
  struct pfp_probe *probe;
  struct sight before, after;
  char real[64], fake[128];
  (void)snprintf(real, sizeof real, "/proc/%d/%s", (int)getpid(), cover->path);
  if (cover->path == THREAD) (void)snprintf(real, sizeof real, "/proc/%d/task/%d", (int)getpid(), (int)getpid());
  (void)snprintf(fake, sizeof fake, "%s/cover", place.folder);
  if (own_mounts(0) != 0) return 2;
  probe = place_probe();
  if (look(&before, probe, cover->class_, cover->number, cover->name) != PFP_OK || !before.present) return 3;
  pfp_probe_free(probe);
  if (strcmp(cover->path, "task") == 0) {
    // The folder of another process is the kernel's too, and its threads are not traced.
    if (mount("/proc/1/task", real, NULL, MS_BIND, NULL) != 0) return 4;
  } else if (cover->path == THREAD) {
    // Nothing in it: as if the thread had ended.
    if (mount("none", real, "tmpfs", 0, NULL) != 0) return 4;
  } else if (copy(fake, real) != 0 || mount_over(fake, real) != 0) {
    return 5;
  }
  probe = place_probe();
  if (look(&after, probe, cover->class_, cover->number, cover->name) != PFP_OK) return 6;
  return after.seen == 1 && !after.present ? 0 : 7;
}

static void a_cover_is_not_the_kernel(void) {
  for (size_t i = 0; i < sizeof COVERS / sizeof COVERS[0]; i++) {
    char fake[128];
    REQUIRE(place_begin());
    (void)snprintf(fake, sizeof fake, "%s/cover", place.folder);
    test_case("/proc/self/%s", COVERS[i].path);
    CHECK_NUMBER(in_child(covered, &COVERS[i]), 0);
    (void)unlink(fake);
    place_finish();
  }
}

// Tracers --------------------------------------------------------------------------------------------------------

static void *wait_for_ever(void *pipe_end) {
  char byte;
  pid_t self = gettid();
  (void)!write(((int *)pipe_end)[1], &self, sizeof self);
  while (read(((int *)pipe_end)[2], &byte, 1) < 0) continue;
  return NULL;
}

/// A thread of this process, not the first, is traced by a child of it; then no more descriptors can be opened than the
/// list of threads needs.
static int traced_without_descriptors(const void *unused) {
  int pipes[4], ready[2];
  pthread_t thread;
  pid_t other = 0, tracer;
  struct rlimit limit;
  struct sight sight;
  struct pfp_probe *probe = place_probe();
  char byte = 0;
  (void)unused;
  if (pipe2(pipes, O_CLOEXEC) != 0 || pipe2(pipes + 2, O_CLOEXEC) != 0 || pipe2(ready, O_CLOEXEC) != 0) return 2;
  if (look(&sight, probe, PFC_CLASS_ENVIRONMENT, PFP_ENVIRONMENT_TRACER, "tracer") != PFP_OK) return 3;
  if (pthread_create(&thread, NULL, wait_for_ever, pipes) != 0) return 4;
  if (read(pipes[0], &other, sizeof other) != (ssize_t)sizeof other) return 5;
  tracer = fork();
  if (tracer == 0) {
    // Leave no process behind, however the test ends.
    byte = prctl(PR_SET_PDEATHSIG, SIGKILL) == 0 && ptrace(PTRACE_SEIZE, other, NULL, NULL) == 0 ? 'y' : 'n';
    (void)!write(ready[1], &byte, 1);
    for (;;) (void)pause();
  }
  if (read(ready[0], &byte, 1) != 1 || byte != 'y') return 6;
  {
    struct sight traced;
    if (look(&traced, probe, PFC_CLASS_ENVIRONMENT, PFP_ENVIRONMENT_TRACER, "tracer") != PFP_OK) return 7;
    if (memcmp(traced.digest, sight.digest, sizeof sight.digest) == 0) return 8;
  }
  {
    // Each number in turn, until there are enough: no number lets the tracer disappear.
    int next = dup(0), result = PFP_E_RESOURCE, answers = 0;
    (void)close(next);
    if (getrlimit(RLIMIT_NOFILE, &limit) != 0) return 9;
    for (rlim_t spare = 0; spare < 6; spare++) {
      struct sight now;
      limit.rlim_cur = (rlim_t)next + spare;
      if (setrlimit(RLIMIT_NOFILE, &limit) != 0) return 10;
      result = look(&now, probe, PFC_CLASS_ENVIRONMENT, PFP_ENVIRONMENT_TRACER, "tracer");
      if (result == PFP_E_RESOURCE) continue;
      answers++;
      if (result != PFP_OK) return 11;
      if (!now.present) return 14;
      if (memcmp(now.digest, sight.digest, sizeof sight.digest) == 0) return 12;
    }
    if (answers == 0) return 13;
  }
  (void)kill(tracer, SIGKILL);
  return 0;
}

static void no_descriptor_is_no_answer(void) {
  REQUIRE(place_begin());
  CHECK_NUMBER(in_child(traced_without_descriptors, NULL), 0);
  place_finish();
}

/// Whether the tests themselves run where every tracer can be seen. In a container the first observation is already
/// that of another namespace, and stays what it is.
static int first_namespace;

#define FIRST_NAMESPACE "pid:[4026531836]"

static int in_new_processes(const void *argument) {
  struct pfp_probe *probe;
  struct sight sight;
  const struct sight *before = argument;
  char link[128], real[64];
  if (mount("proc", "/proc", "proc", 0, NULL) != 0) return 2;
  probe = place_probe();
  if (look(&sight, probe, PFC_CLASS_ENVIRONMENT, PFP_ENVIRONMENT_TRACER, "tracer") != PFP_OK) return 3;
  if (!sight.present) return 4;
  if ((memcmp(sight.digest, before->digest, sizeof sight.digest) != 0) != first_namespace) return 5;
  // A link that names the first namespace does not help either.
  (void)snprintf(link, sizeof link, "%s/link", place.folder);
  (void)snprintf(real, sizeof real, "/proc/%d/ns/pid", (int)getpid());
  if (symlink(FIRST_NAMESPACE, link) != 0 || mount_over(link, real) != 0) return 7;
  if (look(&sight, probe, PFC_CLASS_ENVIRONMENT, PFP_ENVIRONMENT_TRACER, "tracer") != PFP_OK) return 8;
  return (memcmp(sight.digest, before->digest, sizeof sight.digest) != 0) == first_namespace ? 0 : 9;
}

static int beside_other_processes(const void *argument) {
  if (own_mounts(CLONE_NEWPID) != 0) return 6;
  return in_child(in_new_processes, argument);
}

static void unseen_tracers_are_no_none(void) {
  struct sight before;
  struct pfp_probe *probe;
  char name[64] = {0};
  REQUIRE(CHECK(readlink("/proc/self/ns/pid", name, sizeof name - 1) > 0));
  first_namespace = strcmp(name, FIRST_NAMESPACE) == 0;
  REQUIRE(place_begin());
  probe = place_probe();
  REQUIRE(probe != NULL);
  CHECK_NUMBER(look(&before, probe, PFC_CLASS_ENVIRONMENT, PFP_ENVIRONMENT_TRACER, "tracer"), PFP_OK);
  pfp_probe_free(probe);
  CHECK_NUMBER(in_child(beside_other_processes, &before), 0);
  place_finish();
}

/// Threads that begin and end while the probe looks at all of them.
static atomic_int churning;

static void *nothing(void *unused) { return unused; }

static void *churn(void *unused) {
  while (churning) {
    pthread_t threads[4];
    size_t count = 0;
    while (count < 4 && pthread_create(&threads[count], NULL, nothing, NULL) == 0) count++;
    for (size_t i = 0; i < count; i++) (void)pthread_join(threads[i], NULL);
  }
  return unused;
}

static void threads_that_end_are_not_traced(void) {
  struct sight before, sight;
  struct pfp_probe *probe;
  pthread_t churners[2];
  int odd = 0;
  REQUIRE(place_begin());
  probe = place_probe();
  REQUIRE(probe != NULL);
  CHECK_NUMBER(look(&before, probe, PFC_CLASS_ENVIRONMENT, PFP_ENVIRONMENT_TRACER, "tracer"), PFP_OK);
  churning = 1;
  REQUIRE(pthread_create(&churners[0], NULL, churn, NULL) == 0);
  REQUIRE(pthread_create(&churners[1], NULL, churn, NULL) == 0);
  for (int i = 0; i < 5000; i++) {
    if (look(&sight, probe, PFC_CLASS_ENVIRONMENT, PFP_ENVIRONMENT_TRACER, "tracer") != PFP_OK || !sight.present ||
        memcmp(sight.digest, before.digest, sizeof sight.digest) != 0) {
      odd++;
    }
  }
  churning = 0;
  (void)pthread_join(churners[0], NULL);
  (void)pthread_join(churners[1], NULL);
  CHECK_NUMBER(odd, 0);
  pfp_probe_free(probe);
  place_finish();
}

/// The process that made the probe has ended; its child goes on, as a daemon does.
static int orphan(const void *argument) {
  const struct sight *before = argument;
  struct pfp_probe *probe = place_probe();
  struct sight sight;
  int gone[2], answer[2], code = -1;
  char byte;
  pid_t middle;
  if (pipe2(gone, O_CLOEXEC) != 0 || pipe2(answer, O_CLOEXEC) != 0) return 2;
  middle = fork();
  if (middle == 0) {
    struct pfp_probe *own = place_probe();
    if (fork() != 0) _exit(0);
    (void)close(gone[1]);
    // Ends when the last other holder of the pipe, the first process, closes it.
    (void)!read(gone[0], &byte, 1);
    code = look(&sight, own, PFC_CLASS_ENVIRONMENT, PFP_ENVIRONMENT_TRACER, "tracer") != PFP_OK ? 3
           : !sight.present                                                                    ? 4
           : memcmp(sight.digest, before->digest, sizeof sight.digest) != 0                     ? 5
                                                                                                : 0;
    (void)!write(answer[1], &code, sizeof code);
    _exit(0);
  }
  (void)waitpid(middle, NULL, 0);
  (void)close(gone[1]);
  if (read(answer[0], &code, sizeof code) != (ssize_t)sizeof code) return 6;
  pfp_probe_free(probe);
  return code;
}

static void an_orphan_measures_itself(void) {
  struct sight before;
  struct pfp_probe *probe;
  REQUIRE(place_begin());
  probe = place_probe();
  REQUIRE(probe != NULL);
  CHECK_NUMBER(look(&before, probe, PFC_CLASS_ENVIRONMENT, PFP_ENVIRONMENT_TRACER, "tracer"), PFP_OK);
  pfp_probe_free(probe);
  CHECK_NUMBER(in_child(orphan, &before), 0);
  place_finish();
}

// Links ----------------------------------------------------------------------------------------------------------

pid_t call_late(void);

/// This program's own, under several names, one of them libc's, as an allocator of an app's own has them.
pid_t own_getppid(void);
pid_t own_getppid(void) { return -7; }

extern __typeof(own_getppid) getppid __attribute__((alias("own_getppid")));
extern __typeof(own_getppid) another_getppid __attribute__((alias("own_getppid"), visibility("default")));

static void an_own_function_is_where_the_loader_leads(void) {
  struct sight before, after;
  struct pfp_probe *probe;
  REQUIRE(place_begin());
  probe = place_probe();
  REQUIRE(probe != NULL);
  CHECK_NUMBER(look(&before, probe, PFC_CLASS_ENVIRONMENT, PFP_ENVIRONMENT_LINKS, "liblazy.so"), PFP_OK);
  CHECK(before.seen == 1 && before.present);
  CHECK_NUMBER(call_late(), -7);
  CHECK_NUMBER(look(&after, probe, PFC_CLASS_ENVIRONMENT, PFP_ENVIRONMENT_LINKS, "liblazy.so"), PFP_OK);
  CHECK(after.seen == 1 && memcmp(before.digest, after.digest, sizeof before.digest) == 0);
  pfp_probe_free(probe);
  place_finish();
}

// Code -----------------------------------------------------------------------------------------------------------

enum { PAGE = 4096 };

/// Room among the executable's variables.
static _Alignas(PAGE) uint8_t variables[4 * PAGE];

static int code_among_variables(const void *unused) {
  struct sight before, after;
  struct pfp_probe *probe = place_probe();
  int file = open("/proc/self/exe", O_RDONLY | O_CLOEXEC);
  void *at;
  (void)unused;
  memset(variables, 1, sizeof variables);
  if (look(&before, probe, PFC_CLASS_ENVIRONMENT, PFP_ENVIRONMENT_MAPPINGS, "foreign") != PFP_OK) return 2;
  at = mmap(variables + PAGE, PAGE, PROT_READ | PROT_EXEC, MAP_PRIVATE | MAP_FIXED, file, 0);
  if (at == MAP_FAILED) return 3;
  if (look(&after, probe, PFC_CLASS_ENVIRONMENT, PFP_ENVIRONMENT_MAPPINGS, "foreign") != PFP_OK) return 4;
  return memcmp(before.digest, after.digest, sizeof before.digest) != 0 ? 0 : 5;
}

static void code_is_where_code_belongs(void) {
  REQUIRE(place_begin());
  CHECK_NUMBER(in_child(code_among_variables, NULL), 0);
  place_finish();
}

static int vdso_written(const void *unused) {
  struct sight before, after;
  struct pfp_probe *probe = place_probe();
  uintptr_t start = (uintptr_t)getauxval(AT_SYSINFO_EHDR);
  int memory = open("/proc/self/mem", O_RDWR | O_CLOEXEC);
  uint8_t byte;
  (void)unused;
  if (start == 0 || memory < 0) return 2;
  if (look(&before, probe, PFC_CLASS_ENVIRONMENT, PFP_ENVIRONMENT_PAGES, "private") != PFP_OK) return 3;
  // The last byte of its page is unused; it is written back as it was.
  if (pread(memory, &byte, 1, (off_t)start + PAGE - 1) != 1) return 4;
  if (pwrite(memory, &byte, 1, (off_t)start + PAGE - 1) != 1) return 5;
  if (look(&after, probe, PFC_CLASS_ENVIRONMENT, PFP_ENVIRONMENT_PAGES, "private") != PFP_OK) return 6;
  return memcmp(before.digest, after.digest, sizeof before.digest) != 0 ? 0 : 7;
}

static void the_vdso_is_the_kernels(void) {
  REQUIRE(place_begin());
  CHECK_NUMBER(in_child(vdso_written, NULL), 0);
  place_finish();
}

static const struct test tests[] = {
    TEST("a record behind a mount over /proc is absent", a_cover_is_not_the_kernel),
    TEST("a missing descriptor does not turn a tracer into none", no_descriptor_is_no_answer),
    TEST("where tracers may be out of sight, none is another observation", unseen_tracers_are_no_none),
    TEST("threads that begin and end meanwhile are no debugger's, and not untold", threads_that_end_are_not_traced),
    TEST("a child whose parent made the probe and ended measures itself", an_orphan_measures_itself),
    TEST("a link to the app's own function of libc's name is one observation, bound or not",
         an_own_function_is_where_the_loader_leads),
    TEST("executable memory among an object's variables belongs to no object", code_is_where_code_belongs),
    TEST("a write into the vdso is a private page", the_vdso_is_the_kernels),
};

const struct suite process_cover_suite = SUITE("arranged views", tests);
