// SPDX-License-Identifier: Apache-2.0

#define _GNU_SOURCE
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/utsname.h>
#include <unistd.h>

#if defined(__x86_64__)
#include <cpuid.h>
#endif

#include "system/platform.h"
#include "system/proc.h"
#include "process/process.h"
#include "sources.h"
#include "evidence/transcript.h"

extern char **environ;

static struct pfp_record *add(struct pfp_evidence *evidence, uint8_t number, const char *name, const char *fact) {
  uint8_t digest[PFC_DIGEST_BYTES];
  pfp_fact(digest, fact, strlen(fact));
  return pfp_evidence_add(evidence, PFC_CLASS_ENVIRONMENT, number, name, digest);
}

// Preloading -----------------------------------------------------------------------------------------------------

enum { ENVIRONMENT_MAX = 1 << 21 };

/// The value of a variable in a block of "NAME=value" strings, or NULL.
static const char *find_initial(const char *block, size_t size, const char *name) {
  size_t name_size = strlen(name);
  for (size_t at = 0; at < size;) {
    const char *entry = block + at;
    size_t entry_size = strnlen(entry, size - at);
    if (entry_size > name_size && memcmp(entry, name, name_size) == 0 && entry[name_size] == '=') {
      return entry + name_size + 1;
    }
    at += entry_size + 1;
  }
  return NULL;
}

/// Reports the variable as at the start and as it is now: a preloaded library may have unset its variable.
static void report_variable(struct pfp_evidence *evidence, const char *initial, size_t size, const char *name) {
  struct pfp_transcript transcript;
  struct pfp_record *record;
  uint8_t digest[PFC_DIGEST_BYTES];
  const char *first = find_initial(initial, size, name);
  const char *now = getenv(name);
  pfp_transcript_init(&transcript, PFP_LABEL_FACT);
  pfp_transcript_number(&transcript, first != NULL);
  if (first != NULL) pfp_transcript_text(&transcript, first);
  pfp_transcript_number(&transcript, now != NULL);
  if (now != NULL) pfp_transcript_text(&transcript, now);
  pfp_transcript_final(digest, &transcript);
  record = pfp_evidence_add(evidence, PFC_CLASS_ENVIRONMENT, PFP_ENVIRONMENT_PRELOAD, name, digest);
  if (first != NULL || now != NULL) pfp_record_note(record, 1, "is set");
}

/// Digest of a file that exists. It begins as no word does: a library may be called "none".
static void digest_file(uint8_t digest[PFC_DIGEST_BYTES], const char *text, size_t size) {
  struct pfp_transcript transcript;
  pfp_transcript_init(&transcript, PFP_LABEL_FACT);
  pfp_transcript_number(&transcript, 1);
  pfp_transcript_add(&transcript, text, size);
  pfp_transcript_final(digest, &transcript);
}

static void report_preload(struct pfp_evidence *evidence, const struct pfp_process *process) {
  static const char *const VARIABLES[] = {"LD_AUDIT", "LD_LIBRARY_PATH", "LD_PRELOAD"};
  static const char *const FILE_PATH = "/etc/ld.so.preload";
  char *initial;
  ssize_t size;
  if (!pfp_evidence_wants(evidence, PFC_CLASS_ENVIRONMENT, PFP_ENVIRONMENT_PRELOAD)) return;
  initial = malloc(ENVIRONMENT_MAX);
  if (initial == NULL) {
    evidence->failed = 1;
    return;
  }
  size = pfp_read_descriptor(initial, ENVIRONMENT_MAX - 1, process->initial);
  if (size >= 0) initial[size] = 0;
  for (size_t i = 0; i < sizeof VARIABLES / sizeof VARIABLES[0]; i++) {
    if (size < 0) {
      (void)pfp_evidence_add(evidence, PFC_CLASS_ENVIRONMENT, PFP_ENVIRONMENT_PRELOAD, VARIABLES[i], NULL);
    } else {
      report_variable(evidence, initial, (size_t)size, VARIABLES[i]);
    }
  }
  // No file is the rule, and is told apart from one that cannot be read.
  if (access(FILE_PATH, F_OK) != 0) {
    (void)add(evidence, PFP_ENVIRONMENT_PRELOAD, "ld.so.preload", "none");
  } else {
    uint8_t digest[PFC_DIGEST_BYTES];
    ssize_t length = pfp_read_file(initial, ENVIRONMENT_MAX, FILE_PATH);
    if (length < 0 && pfp_error_is_resource(errno)) evidence->failed = 1;
    if (length >= 0) digest_file(digest, initial, (size_t)length);
    pfp_record_note(pfp_evidence_add(evidence, PFC_CLASS_ENVIRONMENT, PFP_ENVIRONMENT_PRELOAD, "ld.so.preload",
                                     length >= 0 ? digest : NULL),
                    1, "exists");
  }
  free(initial);
}

// Instrumentation ------------------------------------------------------------------------------------------------

/// valgrind's client request: a sequence without effect on a processor, answered by valgrind.
static int under_valgrind(void) {
#if defined(__x86_64__)
  uint64_t request[6] = {0x1001, 0, 0, 0, 0, 0};  // RUNNING_ON_VALGRIND
  uint64_t answer = 0;
  __asm__ volatile(
      "rolq $3, %%rdi ; rolq $13, %%rdi\n\t"
      "rolq $61, %%rdi ; rolq $51, %%rdi\n\t"
      "xchgq %%rbx, %%rbx"
      : "=d"(answer)
      : "a"(&request[0]), "0"(answer)
      : "cc", "memory");
  return answer != 0;
#else
  return 0;
#endif
}

/// The processor says it is QEMU's translator. As the processor of a whole machine this is stable and lawful; as that
/// of one process it is not what the baseline saw.
static int translated(void) {
#if defined(__x86_64__)
  unsigned a = 0, b = 0, c = 0, d = 0;
  char maker[12];
  // In a virtual machine each question costs some microseconds; every 64-bit processor has leaf 1.
  __cpuid(1u, a, b, c, d);
  if ((c >> 31) == 0) return 0;
  __cpuid(0x40000000u, a, b, c, d);
  memcpy(maker, &b, 4);
  memcpy(maker + 4, &c, 4);
  memcpy(maker + 8, &d, 4);
  return memcmp(maker, "TCGTCGTCGTCG", sizeof maker) == 0;
#else
  return 0;
#endif
}

/// A translator that runs this program inside itself answers reads of /proc/self for it. It may overlook the second
/// path to the same data: there its own mappings show, and this function must be executable memory of ours. 1 if the
/// two agree, 0 if not, -1 with `errno` if it cannot be told.
static int views_agree(void) {
  char one[4096], other[4096];
  struct pfp_process second = {.maps = -1, .pagemap = -1, .status = -1, .initial = -1};
  struct pfp_mapping mapping;
  uintptr_t here;
  int agree = -1;
  int (*const self)(void) = views_agree;
  ssize_t one_size = readlink("/proc/self/exe", one, sizeof one);
  ssize_t other_size = readlink("/proc/thread-self/exe", other, sizeof other);
  memcpy(&here, &self, sizeof here);
  if (one_size < 0 || other_size < 0) return -1;
  if (one_size != other_size || memcmp(one, other, (size_t)one_size) != 0) return 0;
  second.maps = pfp_proc_open(-1, "thread-self/maps", 0);
  if (second.maps < 0) return -1;
  agree = pfp_mapping_ask(&mapping, here, &second);
  if (agree == 1) agree = (mapping.flags & PFP_EXECUTE) != 0;
  (void)close(second.maps);
  return agree;
}

static void report_instrumentation(struct pfp_evidence *evidence) {
  int agree, emulated;
  struct pfp_record *record;
  if (!pfp_evidence_wants(evidence, PFC_CLASS_ENVIRONMENT, PFP_ENVIRONMENT_INSTRUMENTATION)) return;
  emulated = translated();
  record = add(evidence, PFP_ENVIRONMENT_INSTRUMENTATION, "translator", emulated ? "qemu" : "none");
  if (emulated) pfp_record_note(record, 1, "the processor is emulated by QEMU");
  record = add(evidence, PFP_ENVIRONMENT_INSTRUMENTATION, "valgrind", under_valgrind() ? "running" : "none");
  if (under_valgrind()) pfp_record_note(record, 1, "the program runs under valgrind");
  errno = 0;
  agree = views_agree();
  if (agree < 0 && pfp_error_is_resource(errno)) evidence->failed = 1;
  if (agree < 0) {
    (void)pfp_evidence_add(evidence, PFC_CLASS_ENVIRONMENT, PFP_ENVIRONMENT_INSTRUMENTATION, "views", NULL);
  } else {
    record = add(evidence, PFP_ENVIRONMENT_INSTRUMENTATION, "views", agree ? "agree" : "differ");
    if (!agree) pfp_record_note(record, 1, "the program runs inside another program");
  }
}

// System ---------------------------------------------------------------------------------------------------------

static void report_system(struct pfp_evidence *evidence) {
  enum { RELEASE_MAX = 1 << 14 };
  char text[RELEASE_MAX];
  uint8_t digest[PFC_DIGEST_BYTES];
  struct utsname names;
  if (pfp_evidence_wants(evidence, PFC_CLASS_ENVIRONMENT, PFP_ENVIRONMENT_OS)) {
    ssize_t size = pfp_read_file(text, sizeof text, "/etc/os-release");
    if (size < 0 && !pfp_error_is_resource(errno)) size = pfp_read_file(text, sizeof text, "/usr/lib/os-release");
    if (size < 0 && pfp_error_is_resource(errno)) evidence->failed = 1;
    if (size >= 0) pfp_fact(digest, text, (size_t)size);
    (void)pfp_evidence_add(evidence, PFC_CLASS_ENVIRONMENT, PFP_ENVIRONMENT_OS, "os-release",
                           size >= 0 ? digest : NULL);
  }
  if (uname(&names) == 0) {
    (void)add(evidence, PFP_ENVIRONMENT_KERNEL, "kernel", names.release);
  } else {
    (void)pfp_evidence_add(evidence, PFC_CLASS_ENVIRONMENT, PFP_ENVIRONMENT_KERNEL, "kernel", NULL);
  }
}

/// The look at who watches comes last (process/watch.h): nothing that is read here can hold the process up after it.
void pfp_environment_report(struct pfp_evidence *evidence, const struct pfp_process *process) {
  report_preload(evidence, process);
  report_instrumentation(evidence);
  report_system(evidence);
}
