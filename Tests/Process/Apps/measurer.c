// SPDX-License-Identifier: Apache-2.0

/// The probe as a plug-in of programs that know nothing of it: a thread that measures when it is asked.
///
/// The thread connects to the Unix socket `PROOF_SOCKET` and answers lines: any number of lines, then `ok` or
/// `error RESULT PATH`. Other variables: `PROOF_BUNDLE`, `PROOF_STORAGE`, and `PROOF_PLUGINS`, a file of SONAMEs.
///
///     ready                answers when the program has opened what it opens at its start
///     objects              the file of each loaded object
///     baseline [C/N…]      a configuration of every source but those left out, in hexadecimal
///     config HEX           takes a configuration
///     measure              IM and DM under it
///     alarms               what each record says by itself is wrong
///     records [C/N…]       each record that `baseline` would ask for: class, number, name in hexadecimal, digest
///     collect C/N/V…       the same of the sources named, with their versions
///     diagnose             what differs from the configuration

#define _GNU_SOURCE

#include "measurer.h"

#include <ProofKey.h>
#include <ProofProbe.h>
#include <link.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#define PLUGINS_MAX 512
#define LINE_MAX_BYTES (2 * PFC_CONFIG_BYTES_MAX + 64)

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t became_ready = PTHREAD_COND_INITIALIZER;
static int is_ready;

static struct pfp_probe *probe;
static uint8_t config[PFC_CONFIG_BYTES_MAX];
static size_t config_size;
static FILE *out;

void measurer_ready(void) {
  pthread_mutex_lock(&lock);
  is_ready = 1;
  pthread_cond_broadcast(&became_ready);
  pthread_mutex_unlock(&lock);
}

static void wait_until_ready(void) {
  pthread_mutex_lock(&lock);
  while (!is_ready) pthread_cond_wait(&became_ready, &lock);
  pthread_mutex_unlock(&lock);
}

static void print_hex(const uint8_t *bytes, size_t size) {
  for (size_t i = 0; i < size; i += 1) fprintf(out, "%02x", bytes[i]);
}

static int parse_hex(const char *text) {
  config_size = strlen(text) / 2;
  if (config_size > sizeof config) return PFP_E_ARGUMENT;
  for (size_t i = 0; i < config_size; i += 1) {
    unsigned byte;
    if (sscanf(text + 2 * i, "%2x", &byte) != 1) return PFP_E_ARGUMENT;
    config[i] = (uint8_t)byte;
  }
  return PFP_OK;
}

/// Whether `left_out`, a list such as `3/4 3/5`, names the source.
static int is_left_out(const char *left_out, const struct pfc_source *source) {
  char name[16];
  snprintf(name, sizeof name, "%d/%d", source->class_, source->number);
  size_t size = strlen(name);
  for (const char *found = strstr(left_out, name); found; found = strstr(found + 1, name)) {
    if ((found == left_out || found[-1] == ' ') && (found[size] == ' ' || found[size] == '\0')) return 1;
  }
  return 0;
}

static void make_draft(struct pfc_config *draft, const char *left_out) {
  memset(draft, 0, sizeof *draft);
  draft->policy = PFC_POLICY_INCREMENTAL;
  draft->limit_log2 = 34;
  draft->generation = 1;
  memset(draft->salt, 0x5a, sizeof draft->salt);
  pfp_sources_propose(draft);
  uint8_t kept = 0;
  for (uint8_t i = 0; i < draft->source_count; i += 1) {
    if (!is_left_out(left_out, &draft->sources[i])) draft->sources[kept++] = draft->sources[i];
  }
  draft->source_count = kept;
}

static int baseline(const char *left_out) {
  static struct pfc_config draft, made;
  make_draft(&draft, left_out);
  int result = pfp_probe_baseline(&made, probe, &draft, &pfc_sdk_key);
  if (result != PFP_OK) return result;
  if (pfc_config_encode(config, sizeof config, &config_size, &made) != PFC_OK) return PFP_E_CORE;
  print_hex(config, config_size);
  fputc('\n', out);
  return PFP_OK;
}

static int measure(void) {
  struct pfc_measured measured;
  int result = pfp_probe_measure(&measured, probe, config, config_size, &pfc_sdk_key);
  if (result != PFP_OK) return result;
  print_hex(measured.integrity, sizeof measured.integrity);
  fputc(' ', out);
  print_hex(measured.device, sizeof measured.device);
  fputc('\n', out);
  return PFP_OK;
}

static int no_record(void *context, uint8_t class_, uint8_t number, const uint8_t *name, size_t name_size,
                     const uint8_t *digest) {
  (void)context, (void)class_, (void)number, (void)name, (void)name_size, (void)digest;
  return 0;
}

static int print_record(void *context, uint8_t class_, uint8_t number, const uint8_t *name, size_t name_size,
                        const uint8_t *digest) {
  (void)context;
  fprintf(out, "%d/%d ", class_, number);
  print_hex(name, name_size);
  fputc(' ', out);
  if (digest) {
    print_hex(digest, PFC_DIGEST_BYTES);
  } else {
    fputs("absent", out);
  }
  fputc('\n', out);
  return 0;
}

static void print_alarm(void *context, uint8_t class_, uint8_t number, const char *name, const char *words) {
  (void)context;
  fprintf(out, "%d/%d %s: %s\n", class_, number, name, words);
}

/// Observes what the present configuration asks for.
static int alarms(void) {
  static struct pfc_config asked;
  if (pfc_config_decode(&asked, config, config_size) != PFC_OK) return PFP_E_CORE;
  return pfp_probe_observe(probe, &asked, no_record, print_alarm, NULL);
}

static int records(const char *left_out) {
  static struct pfc_config draft;
  make_draft(&draft, left_out);
  return pfp_probe_collect(probe, &draft, print_record, NULL);
}

/// A source list such as `1/1/1 3/6/2`.
static int collect(const char *asked) {
  static struct pfc_config draft;
  unsigned class_, number, version;
  int taken;
  make_draft(&draft, "");
  draft.source_count = 0;
  while (draft.source_count < PFC_CONFIG_SOURCES_MAX &&
         sscanf(asked, "%u/%u/%u%n", &class_, &number, &version, &taken) == 3) {
    draft.sources[draft.source_count++] =
        (struct pfc_source){.class_ = (uint8_t)class_, .number = (uint8_t)number, .version = (uint8_t)version};
    asked += taken;
  }
  return pfp_probe_collect(probe, &draft, print_record, NULL);
}

static int diagnose(void) {
  static struct pfp_diagnosis diagnosis;
  int result = pfp_probe_diagnose(&diagnosis, probe, config, config_size, &pfc_sdk_key);
  for (size_t i = 0; i < diagnosis.count; i += 1) {
    fprintf(out, "%s: %s\n", diagnosis.findings[i].source, diagnosis.findings[i].text);
  }
  return result;
}

static int print_object(struct dl_phdr_info *info, size_t size, void *context) {
  (void)size, (void)context;
  if (info->dlpi_name && info->dlpi_name[0] == '/') fprintf(out, "%s\n", info->dlpi_name);
  return 0;
}

static int answer(char *line) {
  if (strcmp(line, "ready") == 0) {
    wait_until_ready();
    return PFP_OK;
  }
  if (strcmp(line, "objects") == 0) {
    (void)dl_iterate_phdr(print_object, NULL);
    return PFP_OK;
  }
  if (strncmp(line, "baseline ", 9) == 0) return baseline(line + 9);
  if (strncmp(line, "config ", 7) == 0) return parse_hex(line + 7);
  if (strcmp(line, "measure") == 0) return measure();
  if (strcmp(line, "alarms") == 0) return alarms();
  if (strncmp(line, "records ", 8) == 0) return records(line + 8);
  if (strncmp(line, "collect ", 8) == 0) return collect(line + 8);
  if (strcmp(line, "diagnose") == 0) return diagnose();
  return PFP_E_ARGUMENT;
}

/// Makes the probe as `PROOF_…` says.
static int prepare(void) {
  static char names[PLUGINS_MAX][256];
  static const char *plugins[PLUGINS_MAX];
  struct pfp_probe_options options;
  memset(&options, 0, sizeof options);
  options.bundle = getenv("PROOF_BUNDLE");
  options.storage = getenv("PROOF_STORAGE");
  options.plugins = plugins;
  options.descriptors = 64;
  const char *path = getenv("PROOF_PLUGINS");
  FILE *list = path ? fopen(path, "re") : NULL;
  while (list && options.plugin_count < PLUGINS_MAX && fscanf(list, "%255s", names[options.plugin_count]) == 1) {
    plugins[options.plugin_count] = names[options.plugin_count];
    options.plugin_count += 1;
  }
  if (list) fclose(list);
  if (options.storage) {
    int result = pfp_storage_prepare(options.storage);
    if (result != PFP_OK) return result;
  }
  return pfp_probe_create(&probe, &options);
}

static void *serve(void *context) {
  static char line[LINE_MAX_BYTES];
  FILE *in = context;
  int result = prepare();
  while (fgets(line, sizeof line, in)) {
    line[strcspn(line, "\n")] = '\0';
    if (result == PFP_OK) {
      int answered = answer(line);
      if (answered == PFP_OK) {
        fputs("ok\n", out);
      } else {
        fprintf(out, "error %d %s\n", answered, pfp_probe_failure(probe)->path);
      }
    } else {
      fprintf(out, "error %d no probe\n", result);
    }
    fflush(out);
  }
  return NULL;
}

int measurer_begin(void) {
  static int begun;
  struct sockaddr_un address = {.sun_family = AF_UNIX};
  const char *path = getenv("PROOF_SOCKET");
  if (begun || !path || strlen(path) >= sizeof address.sun_path) return -1;
  begun = 1;
  memcpy(address.sun_path, path, strlen(path));
  int connection = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
  if (connection < 0 || connect(connection, (struct sockaddr *)&address, sizeof address) != 0) return -1;
  FILE *in = fdopen(connection, "r");
  out = fdopen(dup(connection), "w");
  if (!in || !out) return -1;

  // The program's signals are the program's: this thread takes none.
  sigset_t all, before;
  sigfillset(&all);
  pthread_sigmask(SIG_BLOCK, &all, &before);
  pthread_t thread;
  int result = pthread_create(&thread, NULL, serve, in);
  pthread_sigmask(SIG_SETMASK, &before, NULL);
  if (result == 0) pthread_detach(thread);
  return result;
}
