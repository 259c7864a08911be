// SPDX-License-Identifier: Apache-2.0

// The app under attack. It does on demand what a real one does by itself: enrol, prove, diagnose; and it says where its
// parts stand, so that attacks from outside hit what they aim at.
//
//   sample --bundle FOLDER --storage FOLDER [--harden] [--plugin SONAME]…
//
// Commands, one a line on standard input; each answer ends with a line "ok" or "error WHAT".
//   records POLICY          every record, as the service would receive them
//   config HEX              the measurement configuration to work under
//   measure                 "measured IM DM MICROSECONDS"
//   command COUNTER CHALLENGE HARDWARE INSTANCE KIND
//                           "command HEX": a COMMAND message that answers the challenge
//   diagnose                "finding CLASS NUMBER KIND CERTAIN SOURCE|TEXT" for each
//   ask                     "answer N": what the library says
//   where                   "where NAME ADDRESS" for parts of the program
//   clock SECONDS           sets the app's clock this far ahead of the system's
//   between FILE            opens this file between measurement and proof, as an app may do
//   do ATTACK [ARGUMENT]    one of the attacks of inside.c, by the app's own hand

#define _GNU_SOURCE
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>
#if defined(__x86_64__)
#include <ucontext.h>
#endif

#include "ProofCore.h"
#include "ProofKey.h"
#include "ProofProbe.h"
#include "clock.h"
#include "hex.h"
#include "inside.h"
#include "sample_library.h"

enum { COMMAND_LINE_MAX = 4096, PLUGINS_MAX = 8, STACK_BYTES = 65536, NOBODYS_PAGE = 4096, SENT_NOWHERE = 99 };

/// A constant of the program, for attacks that change one.
static const char marker[] = "sample marker";

static struct pfp_probe *probe;
static uint8_t config[PFC_CONFIG_BYTES_MAX];
static size_t config_size;
static char between[COMMAND_LINE_MAX];

static void end(const char *error) {
  if (error == NULL) {
    puts("ok");
  } else {
    printf("error %s\n", error);
  }
  (void)fflush(stdout);
}

static void end_with(int result) {
  char text[160];
  if (result == PFP_OK) {
    end(NULL);
    return;
  }
  (void)snprintf(text, sizeof text, "%d core %d errno %d %s", result, pfp_probe_failure(probe)->core,
                 pfp_probe_failure(probe)->error, pfp_probe_failure(probe)->path);
  end(text);
}

static int print_record(void *context, uint8_t class_, uint8_t number, const uint8_t *name, size_t name_size,
                        const uint8_t *digest) {
  (void)context;
  printf("record %u %u ", class_, number);
  hex_print(name, name_size);
  putchar(' ');
  if (digest != NULL) {
    hex_print(digest, PFC_DIGEST_BYTES);
  } else {
    putchar('-');
  }
  putchar('\n');
  return 0;
}

static void do_records(const char *policy) {
  struct pfc_config draft;
  memset(&draft, 0, sizeof draft);
  draft.policy = strcmp(policy, "full") == 0       ? PFC_POLICY_FULL
                 : strcmp(policy, "trusting") == 0 ? PFC_POLICY_TRUSTING
                                                   : PFC_POLICY_INCREMENTAL;
  draft.limit_log2 = 34;
  pfp_sources_propose(&draft);
  end_with(pfp_probe_collect(probe, &draft, print_record, NULL));
}

static void do_measure(void) {
  struct pfc_measured measured;
  struct timespec before, after;
  int result;
  (void)clock_gettime(CLOCK_MONOTONIC, &before);
  result = pfp_probe_measure(&measured, probe, config, config_size, &pfc_sdk_key);
  (void)clock_gettime(CLOCK_MONOTONIC, &after);
  if (result == PFP_OK) {
    printf("measured ");
    hex_print(measured.integrity, sizeof measured.integrity);
    putchar(' ');
    hex_print(measured.device, sizeof measured.device);
    printf(" %ld\n", (after.tv_sec - before.tv_sec) * 1000000 + (after.tv_nsec - before.tv_nsec) / 1000);
  }
  pfc_wipe(&measured, sizeof measured);
  end_with(result);
}

/// Measures after the challenge has come, as a real app must.
static void do_command(char *arguments) {
  struct pfc_request request;
  struct pfc_measured measured;
  struct pfc_secrets secrets;
  uint8_t message[PFC_MESSAGE_MAX], nonce[PFC_NONCE_BYTES];
  size_t size;
  int result;
  char *save = NULL;
  const char *counter = strtok_r(arguments, " ", &save);
  const char *challenge = strtok_r(NULL, " ", &save);
  const char *hardware = strtok_r(NULL, " ", &save);
  const char *instance = strtok_r(NULL, " ", &save);
  const char *kind = strtok_r(NULL, " ", &save);
  memset(&request, 0, sizeof request);
  if (kind == NULL || hex_read(request.challenge.bytes, PFC_CHALLENGE_BYTES, challenge) != PFC_CHALLENGE_BYTES ||
      hex_read(request.hardware_id, PFC_ID_BYTES, hardware) != PFC_ID_BYTES ||
      hex_read(request.instance_id, PFC_ID_BYTES, instance) != PFC_ID_BYTES) {
    end("arguments");
    return;
  }
  request.challenge.counter = strtoull(counter, NULL, 10);
  request.kind = (uint8_t)atoi(kind);
  request.command = (const uint8_t *)"open";
  request.command_size = 4;
  pfp_probe_hold();
  result = pfp_probe_measure(&measured, probe, config, config_size, &pfc_sdk_key);
  if (between[0] != 0) {
    FILE *file = fopen(between, "r");
    if (file != NULL) (void)fclose(file);
  }
  if (result == PFP_OK &&
      pfc_secrets_make(&secrets, &pfc_sdk_key, &measured, PFC_FORM_DIVERSIFIED, request.hardware_id) == PFC_OK) {
    result = pfp_probe_command(message, sizeof message, &size, nonce, probe, &request, &secrets);
  }
  pfp_probe_let_go();
  if (result == PFP_OK) {
    printf("command ");
    hex_print(message, size);
    putchar('\n');
  }
  pfc_wipe(&measured, sizeof measured);
  pfc_wipe(&secrets, sizeof secrets);
  end_with(result);
}

static void do_diagnose(void) {
  static struct pfp_diagnosis diagnosis;
  int result = pfp_probe_diagnose(&diagnosis, probe, config, config_size, &pfc_sdk_key);
  if (result == PFP_OK && !diagnosis.device_comparable) puts("incomparable build");
  if (result == PFP_OK && !diagnosis.app_comparable) puts("incomparable device");
  for (size_t i = 0; i < diagnosis.count; i++) {
    const struct pfp_finding *finding = &diagnosis.findings[i];
    printf("finding %u %u %u %u %s|%s\n", finding->class_, finding->number, finding->kind, finding->certain,
           finding->source, finding->text);
  }
  end_with(result);
}

static void do_where(void) {
  printf("where may_open %p\n", inside_address_of_library());
  printf("where ask %p\n", inside_address_of_ask());
  printf("where constant %p\n", inside_address_of_constant());
  printf("where marker %p\n", (const void *)marker);
  printf("where slot %p\n", inside_address_of_slot());
  end(NULL);
}

static void run(char *line) {
  char *argument = strchr(line, ' ');
  if (argument != NULL) *argument++ = 0;
  if (strcmp(line, "records") == 0 && argument != NULL) {
    do_records(argument);
  } else if (strcmp(line, "config") == 0 && argument != NULL) {
    long size = hex_read(config, sizeof config, argument);
    config_size = size > 0 ? (size_t)size : 0;
    end(size > 0 ? NULL : "hex");
  } else if (strcmp(line, "measure") == 0) {
    do_measure();
  } else if (strcmp(line, "command") == 0 && argument != NULL) {
    do_command(argument);
  } else if (strcmp(line, "diagnose") == 0) {
    do_diagnose();
  } else if (strcmp(line, "ask") == 0) {
    printf("answer %d\n", inside_ask(1));
    end(NULL);
  } else if (strcmp(line, "clock") == 0 && argument != NULL) {
    clock_shift(atol(argument));
    end(NULL);
  } else if (strcmp(line, "between") == 0 && argument != NULL) {
    (void)snprintf(between, sizeof between, "%s", argument);
    end(NULL);
  } else if (strcmp(line, "where") == 0) {
    do_where();
  } else if (strcmp(line, "do") == 0 && argument != NULL) {
    end(inside_do(argument));
  } else {
    end("command");
  }
}

#if defined(__x86_64__)
/// A tool that injects code by moving a thread's registers may send the thread into the first page, where nothing can
/// be mapped. No code of this program, of the probe or of a library is at fault then, and the status says so. Every
/// other fault ends the program as it always would.
static void on_fault(int number, siginfo_t *info, void *context) {
  const ucontext_t *thread = context;
  (void)info;
  if ((unsigned long long)thread->uc_mcontext.gregs[REG_RIP] < NOBODYS_PAGE) _exit(SENT_NOWHERE);
  (void)signal(number, SIG_DFL);
}

static void watch_faults(void) {
  static unsigned char own[STACK_BYTES];
  stack_t alternate = {.ss_sp = own, .ss_size = sizeof own};
  struct sigaction action = {.sa_sigaction = on_fault, .sa_flags = SA_SIGINFO | SA_ONSTACK};
  (void)sigaltstack(&alternate, NULL);
  (void)sigaction(SIGSEGV, &action, NULL);
}
#else
static void watch_faults(void) {}
#endif

int main(int count, char **arguments) {
  static char line[COMMAND_LINE_MAX];
  const char *plugins[PLUGINS_MAX];
  struct pfp_probe_options options = {.plugins = plugins};
  watch_faults();
  for (int i = 1; i < count; i++) {
    if (strcmp(arguments[i], "--harden") == 0) {
      options.harden = 1;
    } else if (strcmp(arguments[i], "--bundle") == 0 && i + 1 < count) {
      options.bundle = arguments[++i];
    } else if (strcmp(arguments[i], "--storage") == 0 && i + 1 < count) {
      options.storage = arguments[++i];
    } else if (strcmp(arguments[i], "--plugin") == 0 && i + 1 < count && options.plugin_count < PLUGINS_MAX) {
      plugins[options.plugin_count++] = arguments[++i];
    }
  }
  if (options.storage != NULL) {
    int result = pfp_storage_prepare(options.storage);
    if (result != PFP_OK) fprintf(stderr, "sample: storage: %d\n", result);
  }
  if (pfp_probe_create(&probe, &options) != PFP_OK) return 1;
  end(NULL);
  while (fgets(line, sizeof line, stdin) != NULL) {
    line[strcspn(line, "\n")] = 0;
    run(line);
  }
  pfp_probe_free(probe);
  return 0;
}
