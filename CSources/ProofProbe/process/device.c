// SPDX-License-Identifier: Apache-2.0

#define _GNU_SOURCE
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "crypto.h"
#include "system/platform.h"
#include "process/process.h"
#include "base/secret.h"
#include "sources.h"
#include "evidence/transcript.h"

enum { TEXT_MAX = 1 << 14 };

/// Writes over what callees left on the stack: libsodium's BLAKE2b does not wipe the buffer of its digest.
__attribute__((noinline)) static void scrub(void) {
  uint8_t room[2048];
  pfc_wipe(room, sizeof room);
}

static struct pfp_record *add(struct pfp_evidence *evidence, uint8_t number, const char *name, const void *bytes,
                              ssize_t size) {
  uint8_t digest[PFC_DIGEST_BYTES];
  struct pfp_record *record;
  if (size > 0) pfp_fact(digest, bytes, (size_t)size);
  record = pfp_evidence_add(evidence, PFC_CLASS_DEVICE, number, name, size > 0 ? digest : NULL);
  if (size <= 0) pfp_record_note(record, 0, "cannot be read");
  pfc_wipe(digest, sizeof digest);
  scrub();
  return record;
}

/// The size, once a read that failed for lack of descriptors or memory has failed the measurement: that is no answer.
static ssize_t answer(struct pfp_evidence *evidence, ssize_t size) {
  if (size < 0 && pfp_error_is_resource(errno)) evidence->failed = 1;
  return size;
}

static ssize_t without_end(const char *text, ssize_t size) {
  while (size > 0 && (text[size - 1] == '\n' || text[size - 1] == ' ' || text[size - 1] == 0)) size--;
  return size;
}

/// Lines of /proc/cpuinfo that tell one processor from another and that no microcode, kernel, frequency or load
/// changes. Of the first processor only: more may come and go.
static ssize_t processor(char facts[TEXT_MAX]) {
  static const char *const LINES[] = {"vendor_id",       "cpu family",  "model",       "model name", "stepping",
                                      "CPU implementer", "CPU variant", "CPU part",    "CPU revision", "Hardware",
                                      "Serial",          "cpu",         "machine"};
  char text[TEXT_MAX];
  ssize_t used = 0;
  // The file may be longer than this; the first processor is not.
  FILE *file = fopen("/proc/cpuinfo", "re");
  if (file == NULL) return -1;
  while (fgets(text, sizeof text, file) != NULL && text[0] != '\n') {
    char *colon = strchr(text, ':');
    ssize_t size;
    if (colon == NULL) continue;
    size = without_end(text, (ssize_t)strlen(text));
    for (size_t i = 0; i < sizeof LINES / sizeof LINES[0]; i++) {
      size_t length = strlen(LINES[i]);
      if (strncmp(text, LINES[i], length) != 0 || (text[length] != '\t' && text[length] != ' ' && text[length] != ':'))
        continue;
      // "model" is a prefix of "model name", and so on: the name must be the whole of it.
      if (strspn(text + length, "\t ") != (size_t)(colon - text) - length) continue;
      if (used + size + 1 > TEXT_MAX) break;
      memcpy(facts + used, text, (size_t)size);
      used += size;
      facts[used++] = '\n';
    }
  }
  (void)fclose(file);
  return used;
}

static void report_board(struct pfp_evidence *evidence) {
  static const struct {
    const char *name, *path;
  } SERIALS[] = {{"board serial", "/sys/class/dmi/id/board_serial"},
                 {"device-tree serial", "/proc/device-tree/serial-number"},
                 {"product serial", "/sys/class/dmi/id/product_serial"},
                 {"product uuid", "/sys/class/dmi/id/product_uuid"}};
  char text[TEXT_MAX];
  for (size_t i = 0; i < sizeof SERIALS / sizeof SERIALS[0]; i++) {
    ssize_t size = answer(evidence, pfp_read_file(text, sizeof text, SERIALS[i].path));
    (void)add(evidence, PFP_DEVICE_BOARD, SERIALS[i].name, text, size > 0 ? without_end(text, size) : size);
  }
}

static void report_root(struct pfp_evidence *evidence) {
  char text[PFP_ROOT_TEXT_MAX];
  struct pfp_record *record;
  int size;
  if (!pfp_evidence_wants(evidence, PFC_CLASS_DEVICE, PFP_DEVICE_ROOT)) return;
  size = (int)answer(evidence, pfp_root_identity(text, "/"));
  record = add(evidence, PFP_DEVICE_ROOT, "root", text, size);
  if (size == 0) pfp_record_note(record, 0, "has no identity that lasts");
}

static void report_secret(struct pfp_evidence *evidence, const char *storage) {
  uint8_t secret[PFP_SECRET_BYTES];
  struct pfp_record *record;
  int result;
  if (!pfp_evidence_wants(evidence, PFC_CLASS_DEVICE, PFP_DEVICE_SECRET)) return;
  result = storage != NULL ? pfp_secret_read(secret, storage) : PFP_E_MISSING;
  if (result == PFP_E_RESOURCE) evidence->failed = 1;
  record = add(evidence, PFP_DEVICE_SECRET, "secret", secret, result == PFP_OK ? PFP_SECRET_BYTES : -1);
  pfc_wipe(secret, sizeof secret);
  if (result == PFP_E_EXPOSED) pfp_record_note(record, 1, "is open to others");
  if (result == PFP_E_MISSING) pfp_record_note(record, 1, "is not there");
}

/// The kernel takes its time to answer about processors, so the incremental policy asks once in a process.
static void report_processor(struct pfp_evidence *evidence, struct pfp_process *process, int incremental) {
  char text[TEXT_MAX];
  ssize_t size;
  if (!pfp_evidence_wants(evidence, PFC_CLASS_DEVICE, PFP_DEVICE_PROCESSOR)) return;
  if (!incremental || !process->knows_processor) {
    size = answer(evidence, processor(text));
    process->knows_processor = size > 0;
    if (size > 0) pfp_fact(process->processor, text, (size_t)size);
  }
  (void)pfp_evidence_add(evidence, PFC_CLASS_DEVICE, PFP_DEVICE_PROCESSOR, "processor",
                         process->knows_processor ? process->processor : NULL);
}

void pfp_device_report(struct pfp_evidence *evidence, const char *storage, struct pfp_process *process,
                       int incremental) {
  char text[TEXT_MAX];
  ssize_t size = answer(evidence, pfp_read_file(text, sizeof text, "/etc/machine-id"));
  (void)add(evidence, PFP_DEVICE_MACHINE, "machine-id", text, size > 0 ? without_end(text, size) : size);
  report_processor(evidence, process, incremental);
  if (pfp_evidence_wants(evidence, PFC_CLASS_DEVICE, PFP_DEVICE_BOARD)) report_board(evidence);
  report_root(evidence);
  report_secret(evidence, storage);
}
