// SPDX-License-Identifier: Apache-2.0

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "process/process.h"
#include "sources.h"
#include "evidence/transcript.h"

// Turns a view of the process into records whose names and digests do not depend on addresses, load order or counts
// that vary from run to run.

// Names ----------------------------------------------------------------------------------------------------------

static int compare_objects(const void *left, const void *right) {
  const struct pfp_object *a = *(const struct pfp_object *const *)left;
  const struct pfp_object *b = *(const struct pfp_object *const *)right;
  int order = strcmp(a->name, b->name);
  return order != 0 ? order : memcmp(a->code, b->code, sizeof a->code);
}

/// The name of the object at `index` of a sorted list: its own, or with "#2", "#3" … where it is repeated.
static void record_name(char name[PFC_NAME_MAX + 1], const struct pfp_object *const *sorted, size_t index) {
  size_t repeated = 1;
  while (repeated <= index && strcmp(sorted[index - repeated]->name, sorted[index]->name) == 0) repeated++;
  if (repeated == 1) {
    (void)snprintf(name, PFC_NAME_MAX + 1, "%.200s", sorted[index]->name);
  } else {
    (void)snprintf(name, PFC_NAME_MAX + 1, "%.200s#%zu", sorted[index]->name, repeated);
  }
}

static void report_code(struct pfp_evidence *evidence, const struct pfp_object *object, const char *name) {
  struct pfp_record *record;
  if (pfp_object_is_quiet(object)) return;
  record = pfp_evidence_add(evidence, PFC_CLASS_APP, PFP_APP_CODE, name, object->has_code ? object->code : NULL);
  if (!object->has_code) {
    pfp_record_note(record, 0,
                    object->relocates_text ? "relocates its own code, which no digest can follow" : "cannot be read");
  } else if (object->private_pages > 0 || object->misplaced != 0) {
    pfp_record_note(record, PFP_ALARM_CHANGED, "code differs from its file");
  } else if (!object->explained) {
    pfp_record_note(record, PFP_ALARM_UNEXPLAINED, "is loaded, and nothing needs it");
  }
}

/// Nothing to compare a module's words with: they are judged by where they must lead.
static int has_quiet_links(const struct pfp_object *object) {
  return pfp_object_is_quiet(object) && object->has_links && object->astray == 0 && object->moved == 0;
}

static void report_links(struct pfp_evidence *evidence, const struct pfp_object *object, const char *name) {
  struct pfp_record *record;
  if (object->is_vdso || has_quiet_links(object)) return;
  record = pfp_evidence_add(evidence, PFC_CLASS_ENVIRONMENT, PFP_ENVIRONMENT_LINKS, name,
                            object->has_links ? object->links : NULL);
  if (object->astray != 0) {
    pfp_record_note(record, PFP_ALARM_CHANGED, "%s", object->astray_first);
  } else if (pfp_object_is_quiet(object) && object->moved != 0) {
    pfp_record_note(record, PFP_ALARM_CHANGED, "a constant leads elsewhere than in its file");
  }
}

// Findings -------------------------------------------------------------------------------------------------------

/// Findings of one kind: a set of words, in the order of bytes, each once.
struct finding {
  const char **words;
  size_t count;
  int failed;
};

static void found(struct finding *finding, const char *word) {
  const char **grown;
  if (finding->failed) return;
  grown = realloc(finding->words, (finding->count + 1) * sizeof *grown);
  if (grown == NULL) {
    finding->failed = 1;
    return;
  }
  finding->words = grown;
  finding->words[finding->count++] = word;
}

static int compare_words(const void *left, const void *right) {
  return strcmp(*(const char *const *)left, *(const char *const *)right);
}

/// Adds the record and frees the finding. `words` is a sentence's end that tells what was found.
static void report_finding(struct pfp_evidence *evidence, uint8_t number, const char *name, struct finding *finding,
                           const char *sentence) {
  struct pfp_transcript transcript;
  struct pfp_record *record;
  uint8_t digest[PFC_DIGEST_BYTES];
  size_t distinct = 0;
  if (finding->failed) evidence->failed = 1;
  if (finding->count > 1) qsort(finding->words, finding->count, sizeof *finding->words, compare_words);
  pfp_transcript_init(&transcript, PFP_LABEL_FINDING);
  for (size_t i = 0; i < finding->count; i++) {
    if (i != 0 && strcmp(finding->words[i], finding->words[i - 1]) == 0) continue;
    pfp_transcript_text(&transcript, finding->words[i]);
    distinct++;
  }
  pfp_transcript_number(&transcript, distinct);
  pfp_transcript_final(digest, &transcript);
  record = pfp_evidence_add(evidence, PFC_CLASS_ENVIRONMENT, number, name, digest);
  if (finding->count != 0) {
    const char *first = *finding->words[0] != 0 ? finding->words[0] : "memory of no file";
    if (distinct > 1) {
      pfp_record_note(record, 1, "%.200s and %zu more %s", first, distinct - 1, sentence);
    } else {
      pfp_record_note(record, 1, "%.200s %s", first, sentence);
    }
  }
  free(finding->words);
}

enum { ANONYMOUS, DELETED, FOREIGN, MEMFD, MISPLACED, REPLACED, WRITABLE, KINDS };

static const char *const KIND_NAMES[KINDS] = {"anonymous", "deleted",  "foreign", "memfd",
                                              "misplaced", "replaced", "writable"};
static const char *const KIND_SENTENCES[KINDS] = {"is executable",
                                                  "is executable and was deleted or replaced on disk",
                                                  "is executable and no loaded object's code",
                                                  "is executable and exists in memory only",
                                                  "is not mapped as its program headers say",
                                                  "is another file on disk than the one in memory",
                                                  "is executable and writable"};

static int ends_with(const char *text, const char *end) {
  size_t size = strlen(text), end_size = strlen(end);
  return size >= end_size && strcmp(text + size - end_size, end) == 0;
}

static int is_kernels_own(const struct pfp_mapping *mapping, const char *name, const struct pfp_objects *objects) {
  const struct pfp_object *object = pfp_objects_at(objects, mapping->start);
  if (mapping->inode != 0) return 0;
  // The vsyscall page of x86-64 stands at this one address, above everything a process may map.
  if (strcmp(name, "[vsyscall]") == 0) return mapping->start == (uintptr_t)0xFFFFFFFFFF600000u;
  return strcmp(name, "[vdso]") == 0 && object != NULL && object->is_vdso;
}

/// Whether all of a mapping is where code of an object has its place; `misplaced` tells whether it is that code.
/// Between an object's first and last byte there is more than its code: variables, and room that no segment takes.
static int is_code(const struct pfp_mapping *mapping, const struct pfp_objects *objects) {
  uintptr_t at = mapping->start;
  while (at < mapping->end) {
    at = pfp_objects_code_end(objects, at);
    if (at == 0) return 0;
  }
  return 1;
}

static void classify(struct finding findings[KINDS], const struct pfp_mapping *mapping, const char *name,
                     const struct pfp_objects *objects) {
  if ((mapping->flags & PFP_EXECUTE) == 0 || is_kernels_own(mapping, name, objects)) return;
  if ((mapping->flags & PFP_WRITE) != 0) found(&findings[WRITABLE], name);
  if (mapping->inode == 0) {
    found(&findings[ANONYMOUS], name);
  } else if (strncmp(name, "/memfd:", 7) == 0) {
    found(&findings[MEMFD], name);
  } else if (ends_with(name, " (deleted)")) {
    found(&findings[DELETED], name);
  } else if (!is_code(mapping, objects)) {
    found(&findings[FOREIGN], name);
  }
}

static void report_mappings(struct pfp_evidence *evidence, const struct pfp_view *view) {
  struct finding findings[KINDS];
  memset(findings, 0, sizeof findings);
  if (!view->has_mappings) {
    for (unsigned kind = 0; kind < KINDS; kind++) {
      (void)pfp_evidence_add(evidence, PFC_CLASS_ENVIRONMENT, PFP_ENVIRONMENT_MAPPINGS, KIND_NAMES[kind], NULL);
    }
    return;
  }
  for (size_t i = 0; i < view->mappings.count; i++) {
    const struct pfp_mapping *mapping = &view->mappings.items[i];
    classify(findings, mapping, view->mappings.names + mapping->name, &view->objects);
  }
  for (size_t i = 0; i < view->objects.count; i++) {
    const struct pfp_object *object = &view->objects.items[i];
    if (object->misplaced != 0) found(&findings[MISPLACED], object->name);
    if (object->replaced) found(&findings[REPLACED], object->name);
  }
  for (unsigned kind = 0; kind < KINDS; kind++) {
    report_finding(evidence, PFP_ENVIRONMENT_MAPPINGS, KIND_NAMES[kind], &findings[kind], KIND_SENTENCES[kind]);
  }
}

static void report_objects(struct pfp_evidence *evidence, const struct pfp_view *view) {
  struct finding unexplained = {0}, patched = {0};
  int known = 1;
  for (size_t i = 0; i < view->objects.count; i++) {
    const struct pfp_object *object = &view->objects.items[i];
    if (!object->explained && !pfp_object_is_quiet(object)) found(&unexplained, object->name);
    if (object->private_pages > 0) found(&patched, object->name);
    if (object->private_pages < 0) known = 0;
  }
  report_finding(evidence, PFP_ENVIRONMENT_OBJECTS, "unexplained", &unexplained, "is loaded, and nothing needs it");
  if (known) {
    report_finding(evidence, PFP_ENVIRONMENT_PAGES, "private", &patched,
                   "has code that is not its file's: patches or breakpoints");
  } else {
    (void)pfp_evidence_add(evidence, PFC_CLASS_ENVIRONMENT, PFP_ENVIRONMENT_PAGES, "private", NULL);
    free(patched.words);
  }
}

void pfp_view_report(struct pfp_evidence *evidence, const struct pfp_view *view) {
  size_t count = 0;
  const struct pfp_object **sorted = calloc(view->objects.count + 1, sizeof *sorted);
  if (sorted == NULL) {
    evidence->failed = 1;
    return;
  }
  for (size_t i = 0; i < view->objects.count; i++) {
    const struct pfp_object *object = &view->objects.items[i];
    // Before names are given: a module must not make another object the second of its name.
    if (!pfp_object_is_quiet(object) || (object->has_links && !has_quiet_links(object))) sorted[count++] = object;
  }
  qsort(sorted, count, sizeof *sorted, compare_objects);
  for (size_t i = 0; i < count; i++) {
    char name[PFC_NAME_MAX + 1];
    record_name(name, sorted, i);
    report_code(evidence, sorted[i], name);
    report_links(evidence, sorted[i], name);
  }
  free(sorted);
  report_objects(evidence, view);
  report_mappings(evidence, view);
}
