// SPDX-License-Identifier: Apache-2.0

#define _GNU_SOURCE
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/personality.h>
#include <sys/random.h>
#include <unistd.h>

#include "process/breakpoints.h"
#include "crypto.h"
#include "system/platform.h"
#include "system/proc.h"
#include "probe_result.h"
#include "sources.h"
#include "evidence/transcript.h"
#include "process/watch.h"

// Tracer ---------------------------------------------------------------------------------------------------------

/// The number behind "TracerPid:", or -1 with `errno` if it cannot be read.
static long tracer_of(int descriptor) {
  char text[4096];
  const char *line;
  ssize_t size = pread(descriptor, text, sizeof text - 1, 0);
  if (size <= 0) {
    if (size == 0) errno = EIO;
    return -1;
  }
  text[size] = 0;
  line = strstr(text, "\nTracerPid:");
  if (line == NULL) errno = EIO;
  return line != NULL ? strtol(line + 11, NULL, 10) : -1;
}

/// The thread of this folder, which is closed: 1 traced, 0 not, or ended meanwhile, -1 with `errno` if it cannot be
/// told. No descriptor left is no answer, nor is a folder that another program put there.
static int thread_traced(int folder) {
  int status = folder >= 0 ? pfp_proc_open(folder, "status", 0) : -1;
  int error = errno;
  long tracer = -1;
  if (status >= 0) {
    tracer = tracer_of(status);
    error = errno;
    (void)close(status);
  }
  if (folder >= 0) (void)close(folder);
  errno = error;
  if (tracer >= 0) return tracer > 0;
  return error == ENOENT || error == ESRCH ? 0 : -1;
}

static DIR *open_threads(void) {
  int descriptor = pfp_proc_open(-1, "self/task", O_DIRECTORY);
  DIR *threads = descriptor >= 0 ? fdopendir(descriptor) : NULL;
  int error = errno;
  if (threads == NULL && descriptor >= 0) (void)close(descriptor);
  errno = error;
  return threads;
}

/// A tracer may hold one thread only, and not the first. 1 traced, 0 not, -1 with `errno` if it cannot be told.
static int any_thread_traced(const struct pfp_process *process) {
  int traced, error;
  long first = process->status >= 0 ? tracer_of(process->status) : -1;
  DIR *threads;
  if (first < 0) return -1;
  threads = open_threads();
  if (threads == NULL) return -1;
  traced = first > 0;
  while (traced == 0) {
    const struct dirent *entry;
    errno = 0;
    entry = readdir(threads);
    if (entry == NULL) {
      traced = errno == 0 ? 0 : -1;
      break;
    }
    if (entry->d_name[0] == '.') continue;
    traced = thread_traced(pfp_proc_open(dirfd(threads), entry->d_name, O_PATH | O_DIRECTORY));
  }
  error = errno;
  (void)closedir(threads);
  errno = error;
  return traced;
}

/// The kernel shows no tracer outside of this process namespace: there "none" means "none that can be seen". 1 in the
/// first namespace, which contains all others; 0 elsewhere; -1 if no descriptor is left to ask with.
static int sees_every_tracer(void) {
  static const char FIRST[] = "pid:[4026531836]";  // PROC_PID_INIT_INO: a constant of the kernel's interface
  char name[64];
  int link = pfp_proc_open(-1, "self/ns/pid", O_PATH | O_NOFOLLOW);
  ssize_t size = link >= 0 ? readlinkat(link, "", name, sizeof name) : -1;
  if (link < 0 && pfp_error_is_resource(errno)) return -1;
  if (link >= 0) (void)close(link);
  return size == (ssize_t)(sizeof FIRST - 1) && memcmp(name, FIRST, sizeof FIRST - 1) == 0;
}

// Hold -----------------------------------------------------------------------------------------------------------

/// One thread's state: its breakpoints while it measures and proves, and the evidence that the measurement saw.
static _Thread_local struct {
  unsigned depth;
  pid_t owner;  ///< The process that took `hold`
  struct pfp_hold hold;
  uint8_t seen[2][PFC_DIGEST_BYTES];  ///< By enum pfp_release_after. All zeros before: such a look does not exist
} own;

/// A number for the thread-local state of a source that was not asked for.
static const uint8_t NOT_ASKED[PFC_DIGEST_BYTES] = {1};

void pfp_watch_begin(void) {
  // A child has neither the helper thread nor its descriptors.
  if (own.owner != getpid()) own.depth = 0;
  if (own.depth++ != 0) return;
  own.owner = getpid();
  pfp_hold_take(&own.hold);
}

void pfp_watch_end(void) {
  if (own.depth == 0 || --own.depth != 0) return;
  pfp_hold_release(&own.hold);
}

// Look -----------------------------------------------------------------------------------------------------------

static int judge_hold(struct pfp_sight *sight, const struct pfp_hold *hold) {
  if (pfp_error_is_resource(hold->error)) return -1;
  sight->breakpoints = PFP_BREAKPOINTS_UNTOLD;
  if (hold->error != ENOSPC) return 0;
#if defined(__x86_64__)
  sight->breakpoints = hold->code == PFP_BREAKPOINTS_X86 ? PFP_BREAKPOINTS_FREE : PFP_BREAKPOINTS_IN_USE;
#else
  sight->breakpoints = PFP_BREAKPOINTS_COUNTED;
  sight->free_code = hold->code;
  sight->free_data = hold->data;
#endif
  return 0;
}

int pfp_watch_look(struct pfp_sight *sight, const struct pfp_process *process) {
  int asked, result;
  memset(sight, 0, sizeof *sight);
  pfp_watch_begin();
  result = judge_hold(sight, &own.hold);
  errno = 0;
  sight->tracer = any_thread_traced(process);
  if (sight->tracer < 0 && pfp_error_is_resource(errno)) result = -1;
  if (sight->tracer == 0) {
    sight->every_tracer = sees_every_tracer();
    if (sight->every_tracer < 0) result = -1;
  }
  asked = personality(0xFFFFFFFFul);
  sight->personality_told = asked != -1;
  sight->personality = asked != -1 ? (unsigned long)(unsigned)asked : 0;
  pfp_watch_end();
  return result;
}

// Report ---------------------------------------------------------------------------------------------------------

static struct pfp_record *add(struct pfp_evidence *evidence, const char *name, const char *fact) {
  uint8_t digest[PFC_DIGEST_BYTES];
  if (fact != NULL) pfp_fact(digest, fact, strlen(fact));
  return pfp_evidence_add(evidence, PFC_CLASS_ENVIRONMENT, PFP_ENVIRONMENT_TRACER, name, fact != NULL ? digest : NULL);
}

static const char *tracer_words(const struct pfp_sight *sight) {
  if (sight->tracer < 0) return NULL;
  if (sight->tracer > 0) return "attached";
  return sight->every_tracer ? "none" : "none in this process namespace";
}

static const char *breakpoint_words(char text[64], const struct pfp_sight *sight) {
  switch (sight->breakpoints) {
    case PFP_BREAKPOINTS_FREE:
      return "none";
    case PFP_BREAKPOINTS_IN_USE:
      return "in use";
    case PFP_BREAKPOINTS_COUNTED:
      (void)snprintf(text, 64, "%u for code and %u for data are free", sight->free_code, sight->free_data);
      return text;
    default:
      return "cannot be asked";
  }
}

static const char *personality_words(char text[32], const struct pfp_sight *sight) {
  if (!sight->personality_told) return NULL;
  if (sight->personality == 0) return "none";
  (void)snprintf(text, 32, "%08lx", sight->personality);
  return text;
}

void pfp_watch_report(struct pfp_evidence *evidence, const struct pfp_sight *sight) {
  char breakpoints[64], personality_text[32];
  struct pfp_record *record = add(evidence, "tracer", tracer_words(sight));
  if (sight->tracer > 0) pfp_record_note(record, 1, "debugger attached");
  // Under a name of its own where only the baseline knows how many there are.
  record = add(evidence, sight->breakpoints == PFP_BREAKPOINTS_COUNTED ? "free breakpoints" : "hardware breakpoints",
               breakpoint_words(breakpoints, sight));
  if (sight->breakpoints == PFP_BREAKPOINTS_IN_USE) {
    pfp_record_note(record, 1, "another program holds breakpoints of the processor");
  }
  record = add(evidence, "personality", personality_words(personality_text, sight));
  if ((sight->personality & ADDR_NO_RANDOMIZE) != 0) {
    // Some programs switch it off for themselves: not suspicious by itself.
    pfp_record_note(record, 0, "addresses are not randomised");
  }
}

// Release --------------------------------------------------------------------------------------------------------

static void digest_sight(uint8_t digest[PFC_DIGEST_BYTES], const struct pfp_sight *sight) {
  struct pfp_transcript transcript;
  pfp_transcript_init(&transcript, PFP_LABEL_SIGHT);
  // A child that inherits what its parent remembers has measured nothing itself.
  pfp_transcript_number(&transcript, (uint64_t)getpid());
  pfp_transcript_number(&transcript, (uint64_t)(int64_t)sight->tracer);
  pfp_transcript_number(&transcript, (uint64_t)(int64_t)sight->every_tracer);
  pfp_transcript_number(&transcript, (uint64_t)sight->breakpoints);
  pfp_transcript_number(&transcript, sight->free_code);
  pfp_transcript_number(&transcript, sight->free_data);
  pfp_transcript_number(&transcript, (uint64_t)sight->personality_told);
  pfp_transcript_number(&transcript, sight->personality);
  pfp_transcript_final(digest, &transcript);
}

void pfp_watch_remember(const struct pfp_sight *sight) {
  memset(own.seen, 0, sizeof own.seen);
  if (sight != NULL) {
    digest_sight(own.seen[PFP_AFTER_MEASUREMENT], sight);
  } else {
    memcpy(own.seen[PFP_AFTER_MEASUREMENT], NOT_ASKED, sizeof NOT_ASKED);
  }
}

/// XORs a proof with what a key gives for one look. The same look twice takes it away again.
static void mask(uint8_t proof[PFC_PROOF_BYTES], const uint8_t key[32], const uint8_t seen[PFC_DIGEST_BYTES]) {
  uint8_t pad[32];
  pfc_derive(pad, PFP_LABEL_RELEASE, key, 32, seen, PFC_DIGEST_BYTES);
  for (size_t i = 0; i < sizeof pad; i++) proof[i] ^= pad[i];
  pfc_wipe(pad, sizeof pad);
}

_Static_assert(PFC_PROOF_BYTES == 32, "one mask covers one proof");

int pfp_release(uint8_t proof[PFC_PROOF_BYTES], const struct pfp_process *process, enum pfp_release_after after) {
  struct pfp_sight sight;
  uint8_t key[32], seen[PFC_DIGEST_BYTES];
  ssize_t count;
  int result = PFP_OK;
  do {
    count = getrandom(key, sizeof key, 0);
  } while (count < 0 && errno == EINTR);
  if (count != (ssize_t)sizeof key) {
    pfc_wipe(proof, PFC_PROOF_BYTES);
    return PFP_E_RESOURCE;
  }
  mask(proof, key, own.seen[after]);
  // From here to the second mask the proof stands nowhere.
  memcpy(seen, NOT_ASKED, sizeof seen);
  if (memcmp(own.seen[PFP_AFTER_MEASUREMENT], NOT_ASKED, sizeof seen) != 0) {
    if (pfp_watch_look(&sight, process) != 0) result = PFP_E_RESOURCE;
    digest_sight(seen, &sight);
  }
  mask(proof, key, seen);
  memcpy(own.seen[PFP_AFTER_PROOF], seen, sizeof seen);
  if (result != PFP_OK) pfc_wipe(proof, PFC_PROOF_BYTES);
  pfc_wipe(key, sizeof key);
  pfc_wipe(seen, sizeof seen);
  return result;
}
