// SPDX-License-Identifier: Apache-2.0

#include "diagnosis.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "probe/parts.h"

/// One group of one source: the records in it now.
struct group {
  const struct pfc_source *source;
  unsigned leaf;
};

/// A diagnosis in progress: its inputs, and its results so far.
struct inquiry {
  struct pfp_diagnosis *diagnosis;
  const struct pfc_config *config;
  const uint8_t *encoded;
  size_t encoded_size;
  const struct pfc_key *key;
  const struct pfp_evidence *evidence;
  const struct pfp_bundle_look *look;
  unsigned folds;                   ///< Made to find out what is new
  /// Objects that were not there at the baseline and that nothing explains: the first of them, and how many.
  const struct pfp_record *stranger;
  size_t strangers;
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

/// Words for a record that differs and has none of its own.
static const char *plain_words(const struct pfp_record *record) {
  if (!record->present) return "cannot be read";
  if (record->class_ == PFC_CLASS_APP && record->number == PFP_APP_CODE) return "code differs";
  if (record->class_ == PFC_CLASS_ENVIRONMENT && record->number == PFP_ENVIRONMENT_LINKS) return "links differ";
  return "changed";
}

/// A record of the bundle that is a shard of the first folder, not a further folder.
static int is_shard(const struct pfp_record *record) {
  return record->number == PFP_APP_BUNDLE && record->name_size == 1;
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
  } else if (record->class_ == PFC_CLASS_APP && is_shard(record)) {
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

/// Entries of a shard that the index tells apart: each by its path, and how many are gone.
static void tell_entries(struct pfp_diagnosis *diagnosis, const struct group *group, size_t shard,
                         const struct pfp_bundle_look *look) {
  uint64_t gone = pfp_index_gone(look, shard);
  for (size_t i = 0; i < look->differing_count[shard]; i++) {
    const struct pfp_index_differing *differing = &look->differing[shard][i];
    if (i == PFP_INDEX_DIFFERING_MAX) {
      diagnosis->left_out += (size_t)(look->differing_count[shard] - i);
      break;
    }
    if (differing->path == NULL) continue;
    say(add(diagnosis, group, PFP_FINDING_CHANGED, 1, differing->path), "bundle: %.180s: %s", differing->path,
        differing->how == PFP_INDEX_ADDED ? "added" : "changed");
  }
  if (gone != 0) {
    say(add(diagnosis, group, PFP_FINDING_GONE, 1, ""), "bundle: %llu %s missing", (unsigned long long)gone,
        gone == 1 ? "entry is" : "entries are");
  }
  if (gone == 0 && look->differing_count[shard] == 0) {
    say(add(diagnosis, group, PFP_FINDING_CHANGED, 1, ""), "bundle: the mode of the folder itself changed");
  }
}

/// A shard of the bundle. `known`: the index has this shard as it was at the baseline.
static void tell_shard(struct pfp_diagnosis *diagnosis, const struct group *group, const struct pfp_record *record,
                       const struct pfp_bundle_look *look, int known, int certain) {
  size_t shard = (size_t)(record->name[0] - PFP_BUNDLE_SHARD_FIRST);
  unsigned long long count = look->present[shard];
  if (!record->present) {
    tell_record(diagnosis, group, record, certain);
  } else if (known) {
    tell_entries(diagnosis, group, shard, look);
  } else if (count == 0) {
    say(add(diagnosis, group, PFP_FINDING_GONE, 0, ""), "bundle: an entry is missing");
  } else if (count == 1 && !look->has_index && look->differing[shard][0].path != NULL) {
    const char *path = look->differing[shard][0].path;
    say(add(diagnosis, group, PFP_FINDING_CHANGED, certain, path),
        "bundle: %.180s: changed, added, or beside one that is missing", path);
  } else {
    say(add(diagnosis, group, PFP_FINDING_CHANGED, 0, ""),
        "bundle: one of %llu entries changed, or was added or removed beside them; no index tells which", count);
  }
}

// Objects --------------------------------------------------------------------------------------------------------

/// Folds the records with leaves and compares; without those of `left_out`, which has room for two.
static int compare(struct pfc_difference *difference, const struct inquiry *inquiry,
                   const struct pfp_record *const left_out[2]) {
  struct pfc_measurement fold;
  int core = pfc_measurement_init(&fold, inquiry->encoded, inquiry->encoded_size, inquiry->key, PFC_MEASURE_LEAVES);
  for (size_t i = 0; i < inquiry->evidence->count && core == PFC_OK; i++) {
    const struct pfp_record *record = inquiry->evidence->records[i];
    if (record == left_out[0] || record == left_out[1]) continue;
    core = pfc_measurement_update(&fold, record->class_, record->number, (const uint8_t *)record->name,
                                  record->name_size, record->present ? record->digest : NULL);
  }
  if (core == PFC_OK) core = pfc_measurement_compare(difference, &fold);
  pfc_measurement_wipe(&fold);
  return core;
}

/// The same with the index's shards in the bundle's place: groups that do not differ then are the baseline's. No other
/// group's leaf depends on a shard.
static int compare_index(struct pfc_difference *difference, const struct inquiry *inquiry) {
  const struct pfp_record *const nothing[2] = {NULL, NULL};
  for (size_t i = 0; i < inquiry->evidence->count; i++) {
    struct pfp_record *record = inquiry->evidence->records[i];
    if (record->class_ != PFC_CLASS_APP || !is_shard(record) || !record->present) continue;
    memcpy(record->digest, inquiry->look->digests[record->name[0] - PFP_BUNDLE_SHARD_FIRST], sizeof record->digest);
  }
  return compare(difference, inquiry, nothing);
}

/// Folds that one diagnosis makes at most to find out what is new: some tenths of a second.
enum { FOLDS_MAX = 512, PAIRS_AMONG = 12 };

/// Whether the group is the baseline's without these records: then they, and they alone, are new.
static int is_new(struct inquiry *inquiry, const struct group *group, const struct pfp_record *one,
                  const struct pfp_record *other) {
  const struct pfp_record *const left_out[2] = {one, other};
  struct pfc_difference difference;
  if (inquiry->folds++ >= FOLDS_MAX || compare(&difference, inquiry, left_out) != PFC_OK) return 0;
  return difference.app_comparable && (difference.groups[group->leaf / 8] >> (group->leaf % 8) & 1) == 0;
}

static void tell_new(struct inquiry *inquiry, const struct group *group, const struct pfp_record *record) {
  if (record == NULL) return;
  if (record->note != NULL || record->class_ == PFC_CLASS_ENVIRONMENT) {
    tell_record(inquiry->diagnosis, group, record, 1);
  } else {
    say(add(inquiry->diagnosis, group, PFP_FINDING_CHANGED, 1, record->name), "%s: was not loaded before",
        record->name);
  }
  if (record->class_ == PFC_CLASS_APP && record->alarm != PFP_ALARM_NONE && inquiry->strangers++ == 0) {
    inquiry->stranger = record;
  }
}

/// Records of one group, those that are suspicious by themselves first.
struct members {
  const struct pfp_record *records[64];
  size_t count;  ///< Size of the group; more than fit are counted only
  size_t kept, changed, unexplained;
};

static void collect_members(struct members *members, const struct inquiry *inquiry, const struct group *group) {
  memset(members, 0, sizeof *members);
  for (int alarm = PFP_ALARM_CHANGED; alarm >= PFP_ALARM_NONE; alarm--) {
    for (size_t i = 0; i < inquiry->evidence->count; i++) {
      const struct pfp_record *record = inquiry->evidence->records[i];
      if (record->alarm != alarm || !in_group(inquiry->config, group, record)) continue;
      members->count++;
      members->changed += alarm == PFP_ALARM_CHANGED;
      members->unexplained += alarm == PFP_ALARM_UNEXPLAINED;
      if (members->kept < sizeof members->records / sizeof members->records[0]) {
        members->records[members->kept++] = record;
      }
    }
  }
}

/// 1 if what is new in the group could be told: one record or two.
static int tell_what_is_new(struct inquiry *inquiry, const struct group *group, const struct members *members) {
  size_t pairs = members->kept < PAIRS_AMONG ? members->kept : PAIRS_AMONG;
  for (size_t i = 0; i < members->kept; i++) {
    if (!is_new(inquiry, group, members->records[i], NULL)) continue;
    tell_new(inquiry, group, members->records[i]);
    return 1;
  }
  for (size_t i = 0; i < pairs; i++) {
    for (size_t j = i + 1; j < pairs; j++) {
      if (!is_new(inquiry, group, members->records[i], members->records[j])) continue;
      tell_new(inquiry, group, members->records[i]);
      tell_new(inquiry, group, members->records[j]);
      return 1;
    }
  }
  return 0;
}

/// One line for a group in which the changed record is not known.
static void tell_one_of(struct inquiry *inquiry, const struct group *group, const struct members *members) {
  enum { NAMED = 4 };
  const struct pfp_record *first = members->records[0];
  char names[160] = "";
  size_t at = 0;
  if (members->count == 1) {
    // Another file of the same name, most likely.
    say(add(inquiry->diagnosis, group, first->present ? PFP_FINDING_CHANGED : PFP_FINDING_ABSENT, 0, first->name),
        "%.160s: %s, or one beside it is gone", first->name, first->present ? "changed" : "cannot be read");
    return;
  }
  for (size_t i = 0; i < members->kept && i < NAMED; i++) {
    int size = snprintf(names + at, sizeof names - at, "%s%.32s", i != 0 ? ", " : "", members->records[i]->name);
    if (size > 0) at += (size_t)size;
  }
  say(add(inquiry->diagnosis, group, PFP_FINDING_CHANGED, 0, ""), "%s: one of %zu differs, or one more is gone: %s%s",
      pfp_source_name(group->source->class_, group->source->number), members->count, names,
      members->count > NAMED ? ", ..." : "");
}

/// A group of objects: names the one that differs where that can be known, and no other.
static void tell_objects(struct inquiry *inquiry, const struct group *group) {
  struct members members;
  collect_members(&members, inquiry, group);
  if (members.changed == 0 && tell_what_is_new(inquiry, group, &members)) return;
  for (size_t i = 0; i < members.changed && i < members.kept; i++) {
    tell_record(inquiry->diagnosis, group, members.records[i], members.changed == 1);
  }
  if (members.changed == 0) tell_one_of(inquiry, group, &members);
}

static int is_of_objects(const struct group *group) {
  return (group->source->class_ == PFC_CLASS_APP && group->source->number == PFP_APP_CODE) ||
         (group->source->class_ == PFC_CLASS_ENVIRONMENT && group->source->number == PFP_ENVIRONMENT_LINKS);
}

/// Objects that nothing explains: those that are new, if the group of their code told them.
static int tell_new_objects(struct inquiry *inquiry, const struct group *group, const struct pfp_record *record) {
  if (record->class_ != PFC_CLASS_ENVIRONMENT || record->number != PFP_ENVIRONMENT_OBJECTS || !record->alarm) return 0;
  if (inquiry->strangers == 0) return 0;
  if (inquiry->strangers == 1) {
    say(add(inquiry->diagnosis, group, PFP_FINDING_SUSPICIOUS, 1, record->name),
        "%.160s is loaded, and nothing needs it", inquiry->stranger->name);
  } else {
    say(add(inquiry->diagnosis, group, PFP_FINDING_SUSPICIOUS, 1, record->name),
        "%.160s and %zu more is loaded, and nothing needs it", inquiry->stranger->name, inquiry->strangers - 1);
  }
  return 1;
}

// Groups ---------------------------------------------------------------------------------------------------------

/// `known`: with the index's shards in the bundle's place the group is the baseline's.
static void tell_group(struct inquiry *inquiry, const struct group *group, int known) {
  struct pfp_diagnosis *diagnosis = inquiry->diagnosis;
  const struct pfp_evidence *evidence = inquiry->evidence;
  size_t count = 0, alarms = 0;
  for (size_t i = 0; i < evidence->count; i++) {
    if (!in_group(inquiry->config, group, evidence->records[i])) continue;
    count++;
    if (evidence->records[i]->alarm) alarms++;
  }
  if (count == 0) {
    say(add(diagnosis, group, PFP_FINDING_GONE, 1, ""), "%s: something that was there is gone",
        pfp_source_name(group->source->class_, group->source->number));
    return;
  }
  if (is_of_objects(group)) {
    tell_objects(inquiry, group);
    return;
  }
  for (size_t i = 0; i < evidence->count; i++) {
    const struct pfp_record *record = evidence->records[i];
    if (!in_group(inquiry->config, group, record) || (alarms != 0 && !record->alarm)) continue;
    if (record->class_ == PFC_CLASS_APP && is_shard(record)) {
      tell_shard(diagnosis, group, record, inquiry->look, known, count == 1);
    } else if (record->class_ == PFC_CLASS_APP && record->number == PFP_APP_BUNDLE && known) {
      // A folder beside the shard did not change.
      continue;
    } else if (!tell_new_objects(inquiry, group, record)) {
      tell_record(diagnosis, group, record, count == 1 || alarms == 1);
    }
  }
}

static void tell(struct inquiry *inquiry, const struct pfc_difference *difference,
                 const struct pfc_difference *of_index) {
  const struct pfc_config *config = inquiry->config;
  unsigned leaf = 0;
  inquiry->diagnosis->device_comparable = difference->device_comparable;
  inquiry->diagnosis->app_comparable = difference->app_comparable;
  for (unsigned i = 0; i < config->source_count; i++) {
    struct group group = {.source = &config->sources[i]};
    for (unsigned j = 0; j < (1u << config->sources[i].groups_log2); j++, leaf++) {
      group.leaf = leaf;
      if ((difference->groups[leaf / 8] >> (leaf % 8) & 1) != 0) {
        int known = inquiry->look->has_index && (of_index->groups[leaf / 8] >> (leaf % 8) & 1) == 0;
        tell_group(inquiry, &group, known);
      }
    }
  }
}

int pfp_probe_diagnose(struct pfp_diagnosis *diagnosis, struct pfp_probe *probe, const uint8_t *config, size_t size,
                       const struct pfc_key *key) {
  struct pfc_config decoded;
  struct pfc_difference difference, of_index = {0};
  struct pfp_evidence evidence = {.asked = &decoded};
  struct pfp_bundle_look *look = NULL;
  struct inquiry inquiry = {.diagnosis = diagnosis,
                            .config = &decoded,
                            .encoded = config,
                            .encoded_size = size,
                            .key = key,
                            .evidence = &evidence};
  const struct pfp_record *const nothing[2] = {NULL, NULL};
  int core = pfc_config_decode(&decoded, config, size);
  int result;
  memset(diagnosis, 0, sizeof *diagnosis);
  if (core != PFC_OK) return pfp_probe_fail(probe, PFP_E_CORE, core, 0, "");
  if (pfp_index_load(&look, probe->options.storage) != PFP_OK) return pfp_probe_fail(probe, PFP_E_RESOURCE, 0, 0, "");
  result = pfp_probe_gather(probe, &evidence, look);
  if (result == PFP_OK) {
    inquiry.look = look;
    core = compare(&difference, &inquiry, nothing);
    if (core == PFC_OK && look->has_index) core = compare_index(&of_index, &inquiry);
    if (core == PFC_OK) {
      tell(&inquiry, &difference, &of_index);
    } else {
      result = pfp_probe_fail(probe, PFP_E_CORE, core, 0, "");
    }
  }
  pfp_evidence_free(&evidence);
  pfp_index_free(look);
  return result;
}

/// Whether the bundle's groups are the configuration's.
static int bundle_is_as_configured(const struct pfc_config *config, const struct pfc_difference *difference) {
  unsigned leaf = 0;
  if (!difference->app_comparable) return 0;
  for (unsigned i = 0; i < config->source_count; i++) {
    const struct pfc_source *source = &config->sources[i];
    for (unsigned j = 0; j < (1u << source->groups_log2); j++, leaf++) {
      if (source->class_ == PFC_CLASS_APP && source->number == PFP_APP_BUNDLE &&
          (difference->groups[leaf / 8] >> (leaf % 8) & 1) != 0) {
        return 0;
      }
    }
  }
  return 1;
}

int pfp_probe_index(struct pfp_probe *probe, const uint8_t *config, size_t size, const struct pfc_key *key) {
  struct pfc_config decoded;
  struct pfc_difference difference;
  struct pfp_evidence evidence = {.asked = &decoded};
  struct pfp_bundle_look *look;
  int core = pfc_config_decode(&decoded, config, size);
  int result;
  if (core != PFC_OK) return pfp_probe_fail(probe, PFP_E_CORE, core, 0, "");
  if (probe->options.bundle == NULL || probe->options.storage == NULL) {
    return pfp_probe_fail(probe, PFP_E_MISSING, 0, 0, probe->options.bundle == NULL ? "bundle" : "storage");
  }
  result = pfp_index_begin(&look, probe->options.storage);
  if (result != PFP_OK) return pfp_probe_fail(probe, result, 0, 0, probe->options.storage);
  result = pfp_probe_gather(probe, &evidence, look);
  if (result == PFP_OK) {
    const struct inquiry inquiry = {.encoded = config, .encoded_size = size, .key = key, .evidence = &evidence};
    const struct pfp_record *const nothing[2] = {NULL, NULL};
    core = compare(&difference, &inquiry, nothing);
    if (core != PFC_OK) {
      result = pfp_probe_fail(probe, PFP_E_CORE, core, 0, "");
    } else if (!bundle_is_as_configured(&decoded, &difference)) {
      result = pfp_probe_fail(probe, PFP_E_CHANGING, 0, 0, probe->options.bundle);
    } else {
      result = pfp_index_write(look, probe->options.storage, probe->shards);
      if (result != PFP_OK) (void)pfp_probe_fail(probe, result, 0, 0, probe->options.storage);
    }
  }
  pfp_evidence_free(&evidence);
  pfp_index_free(look);
  return result;
}
