// SPDX-License-Identifier: Apache-2.0

/// Variables through which an ordinary user brings code or options into a program without changing one of its files:
/// folders of modules, start-up scripts, agents, configuration.
///
/// The list has doors that lead past the other sources: what comes in is text, byte code or an option. Variables of
/// desktops by which native libraries alone are loaded (GTK_MODULES, QT_PLUGIN_PATH, GIO_MODULE_DIR) are not in it:
/// they are set on many desktops, and source PFP_ENVIRONMENT_OBJECTS names a library that is not the system's.

#include <stdlib.h>
#include <string.h>

#include "process/process.h"
#include "sources.h"
#include "evidence/transcript.h"

/// In the order of a record. A change of the list is a new version of the source.
static const char *const VARIABLES[] = {
    "CLASSPATH",
    "CORECLR_PROFILER_PATH",
    "DOTNET_STARTUP_HOOKS",
    "GCONV_PATH",
    "GLIBC_TUNABLES",
    "JAVA_TOOL_OPTIONS",
    "JDK_JAVA_OPTIONS",
    "LD_DYNAMIC_WEAK",
    "LD_PROFILE",
    "LUA_CPATH",
    "LUA_INIT",
    "LUA_PATH",
    "NODE_OPTIONS",
    "NODE_PATH",
    "NODE_REPL_EXTERNAL_MODULE",
    "OPENSSL_CONF",
    "OPENSSL_ENGINES",
    "OPENSSL_MODULES",
    "PERL5DB",
    "PERL5LIB",
    "PERL5OPT",
    "PERLLIB",
    "PHPRC",
    "PHP_INI_SCAN_DIR",
    "PYTHONBREAKPOINT",
    "PYTHONHOME",
    "PYTHONINSPECT",
    "PYTHONPATH",
    "PYTHONPLATLIBDIR",
    "PYTHONPYCACHEPREFIX",
    "PYTHONSTARTUP",
    "PYTHONUSERBASE",
    "PYTHONWARNINGS",
    "QML2_IMPORT_PATH",
    "QML_IMPORT_PATH",
    "RUBYLIB",
    "RUBYOPT",
    "SASL_PATH",
    "_JAVA_OPTIONS",
};

enum { COUNT = sizeof VARIABLES / sizeof VARIABLES[0], ENVIRONMENT_MAX = 1 << 21 };

/// Sets `values` to what a block of "NAME=value" strings says; of a name that stands there twice, the first.
static void read_block(const char *values[COUNT], const char *block, size_t size) {
  for (size_t at = 0; at < size; at += strlen(block + at) + 1) {
    const char *entry = block + at, *equals = strchr(entry, '=');
    size_t name_size = equals != NULL ? (size_t)(equals - entry) : 0;
    for (size_t i = 0; i < COUNT && name_size != 0; i++) {
      if (values[i] == NULL && strlen(VARIABLES[i]) == name_size && memcmp(VARIABLES[i], entry, name_size) == 0) {
        values[i] = equals + 1;
      }
    }
  }
}

/// A variable that is set to nothing is set.
static void tell(struct pfp_transcript *transcript, const char *value) {
  pfp_transcript_number(transcript, value != NULL);
  if (value != NULL) pfp_transcript_text(transcript, value);
}

void pfp_variables_report(struct pfp_evidence *evidence, const struct pfp_process *process) {
  const char *values[COUNT] = {NULL}, *first = NULL;
  struct pfp_transcript transcript;
  struct pfp_record *record;
  uint8_t digest[PFC_DIGEST_BYTES];
  uint64_t count = 0;
  ssize_t size;
  char *block;
  if (!pfp_evidence_wants(evidence, PFC_CLASS_ENVIRONMENT, PFP_ENVIRONMENT_VARIABLES)) return;
  block = malloc(ENVIRONMENT_MAX);
  if (block == NULL) {
    evidence->failed = 1;
    return;
  }
  size = pfp_read_descriptor(block, ENVIRONMENT_MAX - 1, process->initial);
  if (size >= 0) {
    block[size] = 0;
    read_block(values, block, (size_t)size);
  }
  pfp_transcript_init(&transcript, PFP_LABEL_VARIABLES);
  for (size_t i = 0; i < COUNT; i++) {
    const char *now = getenv(VARIABLES[i]);
    if (values[i] == NULL && now == NULL) continue;
    pfp_transcript_text(&transcript, VARIABLES[i]);
    tell(&transcript, values[i]);
    tell(&transcript, now);
    if (count++ == 0) first = VARIABLES[i];
  }
  pfp_transcript_number(&transcript, count);
  pfp_transcript_final(digest, &transcript);
  record = pfp_evidence_add(evidence, PFC_CLASS_ENVIRONMENT, PFP_ENVIRONMENT_VARIABLES, "variables",
                            size >= 0 ? digest : NULL);
  // Set by itself it is no sign of anything: many a server is configured so.
  if (count == 1) {
    pfp_record_note(record, 0, "%s is set", first);
  } else if (count != 0) {
    pfp_record_note(record, 0, "%s and %u more are set", first, (unsigned)(count - 1));
  }
  free(block);
}
