#include "diagnosis.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "probe_parts.h"

/// One group of one source: the records in it now.
struct group {
  const struct pfc_source *source;
  unsigned leaf;
};

static struct pfp_finding *add(struct pfp_diagnosis *diagnosis, const struct group *group, uint8_t kind, int certain,
                               const char *name) {
  struct pfp_finding *finding;
  if (diagnosis->count == PFP_FINDINGS_MAX) {
    diagnosis->left_out++;
    return NULL;
  }
  finding = &diagnosis->findings[diagnosis->count++];
  finding->class_ = group->source->class_;
  finding->number = group->source->number;
  finding->kind = kind;
  finding->certain = certain != 0;
  (void)snprintf(finding->source, sizeof finding->source, "%s", pfp_source_name(finding->class_, finding->number));
  (void)snprintf(finding->name, sizeof finding->name, "%.255s", name);
  return finding;
}

static void say(struct pfp_finding *finding, const char *format, ...) __attribute__((format(printf, 2, 3)));

/// One line of text: names come from files and memory, and may hold anything.
static void say(struct pfp_finding *finding, const char *format, ...) {
  va_list arguments;
  if (finding == NULL) return;
  va_start(arguments, format);
  (void)vsnprintf(finding->text, sizeof finding->text, format, arguments);
  va_end(arguments);
  for (char *c = finding->text; *c != 0; c++) {
    if ((unsigned char)*c < ' ' || *c == 127) *c = '?';
  }
}

/// What to say of a record that differs and has no words of its own.
static const char *plain_words(const struct pfp_record *record) {
  if (!record->present) return "cannot be read";
  if (record->class_ == PFC_CLASS_APP && record->number == PFP_APP_CODE) return "code differs";
  if (record->class_ == PFC_CLASS_ENVIRONMENT && record->number == PFP_ENVIRONMENT_LINKS) return "links differ";
  return "changed";
}

static void tell_record(struct pfp_diagnosis *diagnosis, const struct group *group, const struct pfp_record *record,
                        int certain) {
  uint8_t kind = record->alarm ? PFP_FINDING_SUSPICIOUS : record->present ? PFP_FINDING_CHANGED : PFP_FINDING_ABSENT;
  struct pfp_finding *finding = add(diagnosis, group, kind, certain, record->name);
  const char *maybe = certain ? "" : " (or another of its group)";
  if (record->note != NULL && record->class_ == PFC_CLASS_ENVIRONMENT && record->alarm &&
      record->number != PFP_ENVIRONMENT_PRELOAD && record->number != PFP_ENVIRONMENT_LINKS) {
    // The words name what they are about; the record's name is only a kind.
    say(finding, "%s%s", record->note, maybe);
  } else if (record->class_ == PFC_CLASS_APP && record->number == PFP_APP_BUNDLE) {
    say(finding, "bundle: %s", plain_words(record));
  } else {
    say(finding, "%s: %s%s", record->name, record->note != NULL ? record->note : plain_words(record), maybe);
  }
}

static int in_group(const struct pfc_config *config, const struct group *group, const struct pfp_record *record) {
  return record->class_ == group->source->class_ && record->number == group->source->number &&
         pfc_config_group(config, record->class_, record->number, (const uint8_t *)record->name, record->name_size) ==
             (int)group->leaf;
}

/// A shard of the bundle: its entries are what can be named.
static void tell_shard(struct pfp_diagnosis *diagnosis, const struct group *group, const struct pfp_record *record,
                       const struct pfp_shard_paths *paths, int certain) {
  size_t shard = (size_t)(record->name[0] - PFP_BUNDLE_SHARD_FIRST);
  size_t kept = sizeof paths->paths[0] / sizeof paths->paths[0][0];
  size_t count = paths->count[shard];
  if (!record->present) {
    tell_record(diagnosis, group, record, certain);
    return;
  }
  if (count == 0) {
    say(add(diagnosis, group, PFP_FINDING_GONE, 0, ""), "bundle: an entry is missing");
    return;
  }
  for (size_t i = 0; i < count && i < kept; i++) {
    const char *path = paths->paths[shard][i] != NULL ? paths->paths[shard][i] : "";
    struct pfp_finding *finding = add(diagnosis, group, PFP_FINDING_CHANGED, certain && count == 1, path);
    if (count == 1) {
      say(finding, "bundle: %.180s: changed, added, or beside one that is missing", path);
    } else {
      say(finding, "bundle: %.180s: changed, or another of %zu beside it", path, count);
    }
  }
}

static void tell_group(struct pfp_diagnosis *diagnosis, const struct pfc_config *config, const struct group *group,
                       const struct pfp_evidence *evidence, const struct pfp_shard_paths *paths) {
  size_t count = 0, alarms = 0;
  for (size_t i = 0; i < evidence->count; i++) {
    if (!in_group(config, group, evidence->records[i])) continue;
    count++;
    if (evidence->records[i]->alarm) alarms++;
  }
  if (count == 0) {
    say(add(diagnosis, group, PFP_FINDING_GONE, 1, ""), "%s: something that was there is gone",
        pfp_source_name(group->source->class_, group->source->number));
    return;
  }
  for (size_t i = 0; i < evidence->count; i++) {
    const struct pfp_record *record = evidence->records[i];
    if (!in_group(config, group, record) || (alarms != 0 && !record->alarm)) continue;
    if (record->class_ == PFC_CLASS_APP && record->number == PFP_APP_BUNDLE) {
      tell_shard(diagnosis, group, record, paths, count == 1);
    } else {
      tell_record(diagnosis, group, record, count == 1 || alarms == 1);
    }
  }
}

static void tell(struct pfp_diagnosis *diagnosis, const struct pfc_config *config,
                 const struct pfc_difference *difference, const struct pfp_evidence *evidence,
                 const struct pfp_shard_paths *paths) {
  unsigned leaf = 0;
  diagnosis->device_comparable = difference->device_comparable;
  diagnosis->app_comparable = difference->app_comparable;
  for (unsigned i = 0; i < config->source_count; i++) {
    struct group group = {.source = &config->sources[i]};
    for (unsigned j = 0; j < (1u << config->sources[i].groups_log2); j++, leaf++) {
      group.leaf = leaf;
      if ((difference->groups[leaf / 8] >> (leaf % 8) & 1) != 0) {
        tell_group(diagnosis, config, &group, evidence, paths);
      }
    }
  }
}

static void free_paths(struct pfp_shard_paths *paths) {
  if (paths == NULL) return;
  for (size_t i = 0; i < PFP_BUNDLE_SHARDS; i++) {
    for (size_t j = 0; j < sizeof paths->paths[0] / sizeof paths->paths[0][0]; j++) free(paths->paths[i][j]);
  }
  free(paths);
}

/// Folds the records with leaves and compares.
static int compare(struct pfc_difference *difference, const struct pfp_evidence *evidence, const uint8_t *config,
                   size_t size, const struct pfc_key *key) {
  struct pfc_measurement fold;
  int core = pfc_measurement_init(&fold, config, size, key, PFC_MEASURE_LEAVES);
  for (size_t i = 0; i < evidence->count && core == PFC_OK; i++) {
    const struct pfp_record *record = evidence->records[i];
    core = pfc_measurement_update(&fold, record->class_, record->number, (const uint8_t *)record->name,
                                  record->name_size, record->present ? record->digest : NULL);
  }
  if (core == PFC_OK) core = pfc_measurement_compare(difference, &fold);
  pfc_measurement_wipe(&fold);
  return core;
}

int pfp_probe_diagnose(struct pfp_diagnosis *diagnosis, struct pfp_probe *probe, const uint8_t *config, size_t size,
                       const struct pfc_key *key) {
  struct pfc_config decoded;
  struct pfc_difference difference;
  struct pfp_evidence evidence = {.asked = &decoded};
  struct pfp_shard_paths *paths = calloc(1, sizeof *paths);
  int core = pfc_config_decode(&decoded, config, size);
  int result;
  memset(diagnosis, 0, sizeof *diagnosis);
  if (core != PFC_OK || paths == NULL) {
    free_paths(paths);
    return core != PFC_OK ? pfp_probe_fail(probe, PFP_E_CORE, core, 0, "")
                          : pfp_probe_fail(probe, PFP_E_RESOURCE, 0, 0, "");
  }
  result = pfp_probe_gather(probe, &evidence, paths);
  if (result == PFP_OK) {
    core = compare(&difference, &evidence, config, size, key);
    if (core == PFC_OK) {
      tell(diagnosis, &decoded, &difference, &evidence, paths);
    } else {
      result = pfp_probe_fail(probe, PFP_E_CORE, core, 0, "");
    }
  }
  pfp_evidence_free(&evidence);
  free_paths(paths);
  return result;
}
