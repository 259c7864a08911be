// SPDX-License-Identifier: Apache-2.0

#include "sources.h"

static const struct pfp_source SOURCES[] = {
    {PFC_CLASS_DEVICE, PFP_DEVICE_MACHINE, 1, 0, "machine-id"},
    {PFC_CLASS_DEVICE, PFP_DEVICE_PROCESSOR, 1, 0, "processor"},
    {PFC_CLASS_DEVICE, PFP_DEVICE_BOARD, 1, 2, "board serial"},
    {PFC_CLASS_DEVICE, PFP_DEVICE_ROOT, 2, 0, "root file system"},
    {PFC_CLASS_DEVICE, PFP_DEVICE_SECRET, 1, 0, "storage secret"},
    {PFC_CLASS_APP, PFP_APP_CODE, 1, 4, "code in memory"},
    {PFC_CLASS_APP, PFP_APP_EXECUTABLE, 1, 0, "executable file"},
    {PFC_CLASS_APP, PFP_APP_BUNDLE, 1, 6, "bundle"},
    {PFC_CLASS_APP, PFP_APP_SDK, 1, 0, "SDK version"},
    {PFC_CLASS_ENVIRONMENT, PFP_ENVIRONMENT_TRACER, 2, 2, "debugger"},
    {PFC_CLASS_ENVIRONMENT, PFP_ENVIRONMENT_PRELOAD, 1, 2, "preloading"},
    {PFC_CLASS_ENVIRONMENT, PFP_ENVIRONMENT_OBJECTS, 1, 0, "loaded objects"},
    {PFC_CLASS_ENVIRONMENT, PFP_ENVIRONMENT_MAPPINGS, 1, 3, "executable memory"},
    {PFC_CLASS_ENVIRONMENT, PFP_ENVIRONMENT_PAGES, 1, 0, "code pages"},
    {PFC_CLASS_ENVIRONMENT, PFP_ENVIRONMENT_LINKS, 2, 3, "links"},
    {PFC_CLASS_ENVIRONMENT, PFP_ENVIRONMENT_INSTRUMENTATION, 1, 1, "instrumentation"},
    {PFC_CLASS_ENVIRONMENT, PFP_ENVIRONMENT_OS, 1, 0, "os-release"},
    {PFC_CLASS_ENVIRONMENT, PFP_ENVIRONMENT_KERNEL, 1, 0, "kernel release"},
    {PFC_CLASS_ENVIRONMENT, PFP_ENVIRONMENT_VARIABLES, 1, 0, "variables"},
};

enum { COUNT = sizeof SOURCES / sizeof SOURCES[0] };

_Static_assert(COUNT <= PFC_CONFIG_SOURCES_MAX, "one configuration can ask for everything");

const struct pfp_source *pfp_sources(size_t *count) {
  *count = COUNT;
  return SOURCES;
}

const struct pfp_source *pfp_source_find(uint8_t class_, uint8_t number, uint8_t version) {
  for (size_t i = 0; i < COUNT; i++) {
    const struct pfp_source *source = &SOURCES[i];
    if (source->class_ == class_ && source->number == number && source->version == version) return source;
  }
  return NULL;
}

const char *pfp_source_name(uint8_t class_, uint8_t number) {
  for (size_t i = 0; i < COUNT; i++) {
    if (SOURCES[i].class_ == class_ && SOURCES[i].number == number) return SOURCES[i].name;
  }
  return "a source unknown to this version";
}

void pfp_sources_propose(struct pfc_config *config) {
  config->source_count = 0;
  for (size_t i = 0; i < COUNT; i++) {
    struct pfc_source *source = &config->sources[config->source_count++];
    source->class_ = SOURCES[i].class_;
    source->number = SOURCES[i].number;
    source->version = SOURCES[i].version;
    source->groups_log2 = SOURCES[i].groups_log2;
  }
}

int pfp_sources_check(const struct pfc_config *config, size_t *index) {
  for (size_t i = 0; i < config->source_count; i++) {
    const struct pfc_source *source = &config->sources[i];
    if (pfp_source_find(source->class_, source->number, source->version) == NULL) {
      *index = i;
      return PFC_E_SOURCE;
    }
  }
  return PFC_OK;
}
