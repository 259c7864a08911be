// SPDX-License-Identifier: Apache-2.0

#define _GNU_SOURCE
#include "process_sight.h"

#include <errno.h>
#include <linux/hw_breakpoint.h>
#include <linux/perf_event.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "harness.h"
#include "process_place.h"
#include "evidence/transcript.h"

int sight_keep(void *context, uint8_t class_, uint8_t number, const uint8_t *name, size_t name_size,
               const uint8_t *digest) {
  struct sight_record *record = context;
  if (class_ != PFC_CLASS_ENVIRONMENT || number != PFP_ENVIRONMENT_TRACER) return 0;
  if (name_size != strlen(record->name) || memcmp(name, record->name, name_size) != 0) return 0;
  record->seen++;
  record->present = digest != NULL;
  if (digest != NULL) memcpy(record->digest, digest, sizeof record->digest);
  return 0;
}

struct pfc_config sight_draft(uint8_t number) {
  struct pfc_config draft = place_draft(PFC_POLICY_FULL, 1);
  for (size_t i = 0; i < draft.source_count; i++) {
    if (draft.sources[i].class_ == PFC_CLASS_ENVIRONMENT && draft.sources[i].number == number) {
      draft.sources[0] = draft.sources[i];
    }
  }
  draft.source_count = 1;
  return draft;
}

int sight_look(struct sight_record *record, struct pfp_probe *probe, const char *name) {
  struct pfc_config draft = sight_draft(PFP_ENVIRONMENT_TRACER);
  *record = (struct sight_record){.name = name};
  return pfp_probe_collect(probe, &draft, sight_keep, record);
}

int sight_says(const struct sight_record *record, const char *fact) {
  uint8_t digest[PFC_DIGEST_BYTES];
  pfp_fact(digest, fact, strlen(fact));
  return record->present && memcmp(record->digest, digest, sizeof digest) == 0;
}

int sight_in_child(int (*run)(struct pfp_probe *)) {
  int status = -1;
  pid_t child;
  (void)fflush(stdout);
  child = fork();
  if (child == 0) _exit(run(place_probe()));
  (void)waitpid(child, &status, 0);
  return WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
}

int sight_breakpoint(void) {
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

int sight_can_ask(void) {
  int breakpoint = sight_breakpoint();
  if (breakpoint < 0) {
    printf("skipped: hardware breakpoints: %s\n", strerror(errno));
    return 0;
  }
  return close(breakpoint) == 0;
}
