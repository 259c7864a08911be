// SPDX-License-Identifier: Apache-2.0

#include "options.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

static const char usage[] =
    "usage: proof-hardware --flash FILE [--socket PATH | --fifo IN OUT] [options]\n"
    "       proof-hardware --flash FILE --provision [FILE] [what to provision]\n"
    "\n"
    "  --flash FILE           the flash; holds keys: mode 0600. The device's state is beside it: FILE.state\n"
    "  --socket PATH          listen there (SOCK_SEQPACKET), one PDU a datagram\n"
    "  --fifo IN OUT          speak over two FIFOs, one central, u16 length before each PDU\n"
    "  --clock system|none    whether the hardware has a clock (system)\n"
    "  --seal yes|no          whether it answers sealed commands (no)\n"
    "  --channel yes|no       whether it opens channels behind sealed commands (no)\n"
    "  --log-level LEVEL      error, info or debug (info)\n"
    "  --cut N[:SEED]         power fails in flash operation N, in the middle of it\n"
    "  --worn N               from flash operation N on, flash takes nothing any more\n"
    "\n"
    "  --provision [FILE]     write identity and an empty ledger, print the public part, end\n"
    "  The values are in FILE, lines of `name = value`, or here, as --name value:\n"
    "  mode production|development, issuer HEX (up to four), id HEX, allow-literal yes|no,\n"
    "  challenge-seconds N (30; 0: no limit), epoch UNIX-SECONDS (now; 0: unknown),\n"
    "  floor UNIX-SECONDS, counter N,\n"
    "  renew yes|no (another id and key), log yes|no (begin or end a log; yes needs factory-secret),\n"
    "  log-number N (its first entry, 0), grants yes|no (take what owners lend),\n"
    "  in FILE alone: secret-key HEX, factory-secret HEX|none.\n"
    "  --version              prints the version and ends\n"
    "  --open-provision       take a FILE that others may read; it must hold no secret\n"
    "  What is not named stays what it was; at first, id and keys are drawn at random.\n";

static int complain(const char *what, const char *value) {
  log_plain("proof-hardware: %s: %s\n\n%s", what, value, usage);
  return STATUS_USAGE;
}

/// A number of decimal digits alone; false otherwise.
static bool read_number(unsigned long *number, const char *text, const char **end) {
  char *behind;
  if (*text < '0' || *text > '9') return false;
  errno = 0;
  *number = strtoul(text, &behind, 10);
  *end = behind;
  return errno == 0;
}

static bool read_cut(struct options *options, const char *text) {
  const char *end;
  unsigned long seed = 0;
  if (!read_number(&options->cut, text, &end)) return false;
  if (*end == ':' && !read_number(&seed, end + 1, &end)) return false;
  options->cut_seed = seed;
  return *end == '\0';
}

static bool read_value(struct options *options, const char *name, const char *value) {
  const char *end = "";
  if (strcmp(name, "flash") == 0) {
    options->flash = value;
  } else if (strcmp(name, "socket") == 0) {
    options->socket = value;
  } else if (strcmp(name, "clock") == 0) {
    options->clock = strcmp(value, "system") == 0;
    return options->clock || strcmp(value, "none") == 0;
  } else if (strcmp(name, "seal") == 0) {
    options->seal = strcmp(value, "yes") == 0;
    return options->seal || strcmp(value, "no") == 0;
  } else if (strcmp(name, "channel") == 0) {
    options->channel = strcmp(value, "yes") == 0;
    return options->channel || strcmp(value, "no") == 0;
  } else if (strcmp(name, "log-level") == 0) {
    return log_level_read(&options->log_level, value);
  } else if (strcmp(name, "cut") == 0) {
    return read_cut(options, value);
  } else if (strcmp(name, "worn") == 0) {
    return read_number(&options->worn, value, &end) && *end == '\0';
  } else {
    // A command line can be read by everyone on the machine.
    bool secret = strcmp(name, "secret-key") == 0 || strcmp(name, "factory-secret") == 0;
    return !secret && provisioning_set(&options->provisioning, name, value);
  }
  return true;
}

static int check(const struct options *options) {
  int doors = (options->socket != NULL) + (options->fifo_in != NULL);
  if (options->flash == NULL) return complain("missing", "--flash FILE");
  if (options->provision && doors != 0) return complain("not together", "--provision and --socket or --fifo");
  if (!options->provision && options->provisioning.given != 0) return complain("missing", "--provision");
  if (!options->provision && doors != 1) return complain("one of these is needed", "--socket PATH, --fifo IN OUT");
  return GO_ON;
}

int options_read(struct options *options, int argc, char **argv) {
  memset(options, 0, sizeof *options);
  options->clock = true;
  options->log_level = LOG_INFO;
  for (int i = 1; i < argc; i++) {
    const char *name = argv[i];
    if (strcmp(name, "--help") == 0) {
      log_plain("%s", usage);
      return STATUS_OK;
    }
    if (strcmp(name, "--version") == 0) {
      log_plain("proof-hardware %s\n", PROOFKIT_VERSION);
      return STATUS_OK;
    }
    if (strncmp(name, "--", 2) != 0) return complain("not an option", name);
    if (strcmp(name, "--provision") == 0) {
      options->provision = true;
      if (i + 1 < argc && strncmp(argv[i + 1], "--", 2) != 0) options->provision_file = argv[++i];
    } else if (strcmp(name, "--open-provision") == 0) {
      options->open_provision = true;
    } else if (strcmp(name, "--fifo") == 0) {
      if (i + 2 >= argc) return complain("two paths are missing behind", name);
      options->fifo_in = argv[++i];
      options->fifo_out = argv[++i];
    } else if (i + 1 >= argc) {
      return complain("not an option, or a value is missing behind it", name);
    } else if (!read_value(options, name + 2, argv[++i])) {
      return complain("not understood", name);
    }
  }
  return check(options);
}
