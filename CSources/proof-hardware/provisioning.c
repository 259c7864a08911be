// SPDX-License-Identifier: Apache-2.0

#define _GNU_SOURCE
#include "provisioning.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "flash_file.h"
#include "log.h"
#include "options.h"
#include "state_file.h"
#include "system.h"

enum {
  FILE_MAX_BYTES = 4096,
  COUNTER_SHIFT = 24,
  LOG_NUMBER_MAX = 1 << 22,  ///< Its key is as many steps away.
  DAY_SECONDS = 86400,
  AHEAD_SECONDS = DAY_SECONDS  ///< By so much a ledger's time may be ahead of this machine's clock.
};

// Fields ---------------------------------------------------------------------------------------------------------

static int digit(char c) {
  if (c >= '0' && c <= '9') return c - '0';
  if (c >= 'a' && c <= 'f') return c - 'a' + 10;
  if (c >= 'A' && c <= 'F') return c - 'A' + 10;
  return -1;
}

static bool read_hex(uint8_t *bytes, size_t size, const char *text) {
  if (strlen(text) != 2 * size) return false;
  for (size_t i = 0; i < size; i++) {
    int high = digit(text[2 * i]), low = digit(text[2 * i + 1]);
    if (high < 0 || low < 0) return false;
    bytes[i] = (uint8_t)(high << 4 | low);
  }
  return true;
}

static bool read_decimal(uint64_t *number, const char *text, uint64_t maximum) {
  char *end;
  unsigned long long value;
  if (*text < '0' || *text > '9') return false;
  errno = 0;
  value = strtoull(text, &end, 10);
  *number = value;
  return errno == 0 && *end == '\0' && value <= maximum;
}

bool provisioning_set(struct provisioning *provisioning, const char *name, const char *value) {
  struct pfc_hardware *hardware = &provisioning->hardware;
  uint64_t number = 0;
  unsigned field = 0;
  bool right = false;
  if (strcmp(name, "mode") == 0) {
    field = GIVEN_MODE;
    right = strcmp(value, "production") == 0 || strcmp(value, "development") == 0;
    hardware->mode = strcmp(value, "production") == 0 ? PFC_MODE_PRODUCTION : PFC_MODE_DEVELOPMENT;
  } else if (strcmp(name, "issuer") == 0) {
    field = GIVEN_ISSUER;
    right = hardware->issuer_count < PFC_ISSUERS_MAX &&
            read_hex(hardware->issuers[hardware->issuer_count].public_key, PFC_PUBLIC_KEY_BYTES, value);
    if (right) hardware->issuer_count++;
  } else if (strcmp(name, "id") == 0) {
    field = GIVEN_ID;
    right = read_hex(hardware->id, PFC_ID_BYTES, value);
  } else if (strcmp(name, "secret-key") == 0) {
    field = GIVEN_SECRET_KEY;
    right = read_hex(hardware->secret_key, PFC_SECRET_KEY_BYTES, value);
  } else if (strcmp(name, "factory-secret") == 0) {
    field = GIVEN_FACTORY_SECRET;
    provisioning->has_drawn = read_hex(provisioning->drawn, PFC_FACTORY_SECRET_BYTES, value) &&
                              !pfc_is_zero(provisioning->drawn, PFC_FACTORY_SECRET_BYTES);
    right = provisioning->has_drawn || strcmp(value, "none") == 0;
  } else if (strcmp(name, "allow-literal") == 0) {
    field = GIVEN_LITERAL;
    right = strcmp(value, "yes") == 0 || strcmp(value, "no") == 0;
    hardware->allow_literal = strcmp(value, "yes") == 0;
  } else if (strcmp(name, "challenge-seconds") == 0) {
    field = GIVEN_SECONDS;
    right = read_decimal(&number, value, UINT16_MAX);
    hardware->challenge_seconds = (uint16_t)number;
  } else if (strcmp(name, "floor") == 0) {
    field = GIVEN_FLOOR;
    right = read_decimal(&provisioning->floor, value, UINT64_MAX);
  } else if (strcmp(name, "epoch") == 0) {
    field = GIVEN_EPOCH;
    right = read_decimal(&provisioning->epoch, value, UINT64_MAX);
  } else if (strcmp(name, "renew") == 0) {
    field = GIVEN_RENEW;
    right = strcmp(value, "yes") == 0 || strcmp(value, "no") == 0;
    provisioning->renew = strcmp(value, "yes") == 0;
  } else if (strcmp(name, "counter") == 0) {
    field = GIVEN_COUNTER;
    right = read_decimal(&provisioning->counter, value, UINT64_MAX >> 1);
  } else if (strcmp(name, "log") == 0) {
    field = GIVEN_LOG;
    right = strcmp(value, "yes") == 0 || strcmp(value, "no") == 0;
    provisioning->keeps_log = strcmp(value, "yes") == 0;
  } else if (strcmp(name, "grants") == 0) {
    field = GIVEN_GRANTS;
    right = strcmp(value, "yes") == 0 || strcmp(value, "no") == 0;
    provisioning->takes_grants = strcmp(value, "yes") == 0;
  } else if (strcmp(name, "log-number") == 0) {
    field = GIVEN_LOG_NUMBER;
    right = read_decimal(&provisioning->log_number, value, LOG_NUMBER_MAX) &&
            provisioning->log_number % PFC_LOG_BLOCK == 0;
  }
  if (right) provisioning->given |= field;
  return right;
}

// The file -------------------------------------------------------------------------------------------------------

/// The text without the spaces at its ends; cuts it there.
static char *trim(char *text) {
  size_t size;
  while (*text == ' ') text++;
  size = strlen(text);
  while (size > 0 && (text[size - 1] == ' ' || text[size - 1] == '\r')) size--;
  text[size] = '\0';
  return text;
}

static int complain(const char *path, int line) {
  log_line(LOG_ERROR, "%s:%d: not `name = value` of a field that can be provisioned", path, line);
  return STATUS_FAILED;
}

/// Takes every line. A field of the command line stands, whatever the file says.
static int read_lines(struct provisioning *provisioning, const char *path, char *text) {
  struct provisioning file;
  char *line = text;
  int status = GO_ON;
  memset(&file, 0, sizeof file);
  for (int number = 1; line != NULL && status == GO_ON; number++) {
    char *next = strchr(line, '\n');
    char *equals;
    if (next != NULL) *next++ = '\0';
    line = trim(line);
    if (*line != '\0' && *line != '#') {
      equals = strchr(line, '=');
      if (equals != NULL) *equals++ = '\0';
      if (equals == NULL || !provisioning_set(&file, trim(line), trim(equals))) status = complain(path, number);
    }
    line = next;
  }
  if (status == GO_ON) {
    provisioning_merge(&file, provisioning);
    *provisioning = file;
  }
  pfc_wipe(&file, sizeof file);
  return status;
}

/// Whether others may read the file, or write it.
static bool is_open(const struct stat *status) { return S_ISREG(status->st_mode) && (status->st_mode & 077) != 0; }

static int complain_open(const char *path) {
  log_line(LOG_ERROR, "%s: others can read or write it: chmod 600. With --open-provision such a file is taken if it "
           "has neither secret-key nor factory-secret", path);
  return STATUS_FAILED;
}

static int read_file(struct provisioning *provisioning, const char *path, bool open_provision) {
  char text[FILE_MAX_BYTES + 1];
  size_t size = 0;
  ssize_t count = 0;
  struct stat mode;
  int status;
  // A FIFO whose writer never comes must not hold provisioning up, nor a terminal or /dev/zero.
  int file = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
  if (file < 0 || fstat(file, &mode) != 0) {
    log_line(LOG_ERROR, "%s: %s", path, system_error());
    if (file >= 0) (void)close(file);
    return STATUS_FAILED;
  }
  if (!S_ISREG(mode.st_mode)) {
    log_line(LOG_ERROR, "%s: not a regular file: write the lines into one that only you can read (chmod 600)", path);
    (void)close(file);
    return STATUS_FAILED;
  }
  if (is_open(&mode) && !open_provision) {
    (void)close(file);
    return complain_open(path);
  }
  do {
    count = read(file, text + size, sizeof text - 1 - size);
    if (count > 0) size += (size_t)count;
  } while (count > 0 || (count < 0 && errno == EINTR));
  (void)close(file);
  text[size] = '\0';
  if (count < 0 || size == FILE_MAX_BYTES || strlen(text) != size) {
    log_line(LOG_ERROR, "%s: not a provisioning file: text of less than %d bytes", path, FILE_MAX_BYTES);
    status = STATUS_FAILED;
  } else {
    status = read_lines(provisioning, path, text);
    if (status == GO_ON && is_open(&mode) && (provisioning->given & (GIVEN_SECRET_KEY | GIVEN_FACTORY_SECRET)) != 0) {
      status = complain_open(path);
    }
  }
  pfc_wipe(text, sizeof text);
  return status;
}

// Writing --------------------------------------------------------------------------------------------------------

void provisioning_merge(struct provisioning *under, const struct provisioning *over) {
  struct pfc_hardware *to = &under->hardware;
  const struct pfc_hardware *from = &over->hardware;
  if (over->given & GIVEN_MODE) to->mode = from->mode;
  if (over->given & GIVEN_LITERAL) to->allow_literal = from->allow_literal;
  if (over->given & GIVEN_SECONDS) to->challenge_seconds = from->challenge_seconds;
  if (over->given & GIVEN_RENEW) under->renew = over->renew;
  if (over->given & GIVEN_FACTORY_SECRET) {
    under->has_drawn = over->has_drawn;
    memcpy(under->drawn, over->drawn, sizeof under->drawn);
  }
  if (over->given & GIVEN_EPOCH) under->epoch = over->epoch;
  if (over->given & GIVEN_FLOOR) under->floor = over->floor;
  if (over->given & GIVEN_COUNTER) under->counter = over->counter;
  if (over->given & GIVEN_LOG) under->keeps_log = over->keeps_log;
  if (over->given & GIVEN_LOG_NUMBER) under->log_number = over->log_number;
  if (over->given & GIVEN_GRANTS) under->takes_grants = over->takes_grants;
  if (over->given & GIVEN_ID) memcpy(to->id, from->id, sizeof to->id);
  if (over->given & GIVEN_SECRET_KEY) memcpy(to->secret_key, from->secret_key, sizeof to->secret_key);
  if (over->given & GIVEN_ISSUER) {
    memcpy(to->issuers, from->issuers, sizeof to->issuers);
    to->issuer_count = from->issuer_count;
  }
  under->given |= over->given;
}

static uint64_t higher(uint64_t a, uint64_t b) { return a > b ? a : b; }

/// Whether a signature of the past counts in the future: id and key stay, and an issuer does.
static bool trusts_the_past(const struct provisioning *old, const struct provisioning *provisioning) {
  const struct pfc_hardware *before = &old->hardware, *after = &provisioning->hardware;
  if (provisioning->renew || (provisioning->given & GIVEN_ID) != 0) return false;
  if ((provisioning->given & GIVEN_ISSUER) == 0) return true;
  for (unsigned i = 0; i < before->issuer_count; i++) {
    for (unsigned j = 0; j < after->issuer_count; j++) {
      if (memcmp(&before->issuers[i], &after->issuers[j], sizeof before->issuers[i]) == 0) return true;
    }
  }
  return false;
}

/// Old tokens and old challenges must not come back with an empty ledger: floor and counter are those of now, and never
/// below what the ledger that stands there has seen, since the clock here may be behind. A ledger whose time is far
/// ahead of the clock here was poisoned, or the clock is wrong: the operator decides.
static int outlive_ledger(struct provisioning *old, const struct provisioning *provisioning,
                          const struct flash_file *flash) {
  struct pfc_storage storage = pfd_flash_storage(&flash->port);
  struct pfc_ledger_past past;
  uint64_t seen = 0, here = old->epoch;
  old->floor = here;
  old->counter = here << COUNTER_SHIFT;
  if (pfc_ledger_read_past(&past, &storage, old->hardware.secret_key) == PFC_OK) {
    old->counter = higher(old->counter, past.counter);
    seen = higher(past.epoch, past.floor);
  }
  // A floor that is given decides; and what no signature can say again is forgotten.
  if ((provisioning->given & GIVEN_FLOOR) != 0 || !trusts_the_past(old, provisioning)) return GO_ON;
  if (seen > here && seen - here > AHEAD_SECONDS) {
    log_line(LOG_ERROR,
             "the ledger's time %" PRIu64 " is %" PRIu64 " days ahead of this machine's clock. If the clock is wrong, "
             "set it. If the lock's time is wrong, provision with --renew yes (another id and key: register it again), "
             "or with other issuers, or say --floor UNIX-SECONDS",
             seen, (seen - here) / DAY_SECONDS);
    return STATUS_FAILED;
  }
  old->floor = old->epoch = higher(here, seen);
  return GO_ON;
}

/// Derives the factory secret for the id that is provisioned now. One that is in flash stays with its id alone: the
/// backend derives it from the id too, and to go on without it would let in what it keeps out.
static int complete_factory_secret(struct provisioning *provisioning, const uint8_t old_id[PFC_ID_BYTES]) {
  struct pfc_hardware *hardware = &provisioning->hardware;
  if ((provisioning->given & GIVEN_FACTORY_SECRET) != 0) {
    pfc_wipe(hardware->factory_secret, sizeof hardware->factory_secret);
    hardware->has_factory_secret = provisioning->has_drawn;
    if (provisioning->has_drawn) pfc_factory_secret(hardware->factory_secret, provisioning->drawn, hardware->id);
  } else if (hardware->has_factory_secret && memcmp(old_id, hardware->id, PFC_ID_BYTES) != 0) {
    log_line(LOG_ERROR, "the factory secret in flash belongs to the id before: say factory-secret in FILE, as 64 "
             "hexadecimal digits, or none");
    return STATUS_USAGE;
  }
  return GO_ON;
}

/// Whether the log can be what is asked for. Its first key comes from the factory secret and the id, and its place in
/// flash is found with the secret key: a log does not outlive any of them.
static int check_log(const struct provisioning *provisioning, const struct flash_file *flash,
                     const struct pfc_hardware *old) {
  const struct pfc_hardware *hardware = &provisioning->hardware;
  bool begins = (provisioning->given & GIVEN_LOG) != 0 && provisioning->keeps_log;
  if (begins && !provisioning->has_drawn) {
    log_line(LOG_ERROR, "a log begins with a key of the factory secret: say factory-secret in FILE, as 64 hexadecimal "
             "digits");
    return STATUS_USAGE;
  }
  if ((provisioning->given & GIVEN_LOG_NUMBER) != 0 && !begins) {
    log_line(LOG_ERROR, "log-number says where a log begins: say log yes, too");
    return STATUS_USAGE;
  }
  if ((provisioning->given & GIVEN_LOG) == 0 && flash->port.log_pages != 0 &&
      (memcmp(old->id, hardware->id, PFC_ID_BYTES) != 0 ||
       !pfc_equal(old->secret_key, hardware->secret_key, PFC_SECRET_KEY_BYTES))) {
    log_line(LOG_ERROR, "the log in flash belongs to the id and key before: say log yes for a new one, or log no");
    return STATUS_USAGE;
  }
  return GO_ON;
}

/// Begins the log that is asked for.
static int provision_log(const struct provisioning *provisioning, const struct pfd_port *port) {
  uint8_t key[PFC_LOG_KEY_BYTES];
  int result;
  if ((provisioning->given & GIVEN_LOG) == 0 || !provisioning->keeps_log) return PFC_OK;
  pfc_log_first_key(key, provisioning->drawn, provisioning->hardware.id);
  for (uint64_t i = 0; i < provisioning->log_number; i++) pfc_log_step(key);
  result = pfd_unit_provision_log(port, &provisioning->hardware, provisioning->log_number, key);
  pfc_wipe(key, sizeof key);
  return result;
}

/// Fills in missing values: from the old provisioning, or, on new flash, drawn.
static int complete(struct provisioning *provisioning, const struct flash_file *flash) {
  struct provisioning old;
  struct timespec time;
  struct pfc_hardware before;
  bool known;
  int status = GO_ON;
  memset(&old, 0, sizeof old);
  (void)clock_gettime(CLOCK_REALTIME, &time);
  old.epoch = (uint64_t)time.tv_sec;
  old.counter = 1;
  known = pfd_identity_load(&old.hardware, &flash->port) == PFC_OK;
  // Loading clears what it does not find.
  if (!known) old.hardware.challenge_seconds = 30;
  before = old.hardware;
  if (known) {
    old.given = GIVEN_MODE | GIVEN_ISSUER;
    status = outlive_ledger(&old, provisioning, flash);
    if (status == GO_ON) log_line(LOG_INFO, "the identity in flash is kept where nothing else is said");
  }
  if (status == GO_ON && (!known || provisioning->renew) &&
      (system_random(NULL, old.hardware.id, sizeof old.hardware.id) != 0 ||
       system_random(NULL, old.hardware.secret_key, sizeof old.hardware.secret_key) != 0)) {
    log_line(LOG_ERROR, "no random bytes: %s", system_error());
    status = STATUS_FAILED;
  }
  if (status == GO_ON) {
    provisioning_merge(&old, provisioning);
    *provisioning = old;
  }
  pfc_wipe(&old, sizeof old);
  if (status == GO_ON) status = complete_factory_secret(provisioning, before.id);
  if (status == GO_ON) status = check_log(provisioning, flash, &before);
  pfc_wipe(&before, sizeof before);
  if (status != GO_ON) return status;
  pfc_public_key(provisioning->hardware.public_key, provisioning->hardware.secret_key);
  if ((provisioning->given & GIVEN_MODE) != 0 && (provisioning->given & GIVEN_ISSUER) != 0) return GO_ON;
  log_line(LOG_ERROR, "new hardware needs a mode and an issuer: --mode production --issuer HEX");
  return STATUS_USAGE;
}

/// Makes room for what is asked for; what is not named stays.
static int set_areas(const struct provisioning *provisioning, const struct options *options, struct flash_file *flash) {
  bool names_log = (provisioning->given & GIVEN_LOG) != 0, names_grants = (provisioning->given & GIVEN_GRANTS) != 0;
  bool log = names_log ? provisioning->keeps_log : flash->port.log_pages != 0;
  bool grants = names_grants ? provisioning->takes_grants : flash->port.grant_page != 0;
  if (!names_log && !names_grants) return GO_ON;
  return flash_file_set_areas(flash, options, log, names_log, grants);
}

static int print_public(const struct pfc_hardware *hardware, const struct pfd_flash *flash) {
  char id[2 * PFC_ID_BYTES + 1], key[2 * PFC_PUBLIC_KEY_BYTES + 1];
  unsigned features = PFC_FEATURE_TOKEN_2 | PFC_FEATURE_UPCOMING | (PFC_RATCHETS ? PFC_FEATURE_RATCHET : 0u);
  if (hardware->has_factory_secret) features |= PFC_FEATURE_FACTORY_SECRET;
  if (flash->log_pages != 0) features |= PFC_FEATURE_LOG;
  if (flash->grant_page != 0) features |= PFC_FEATURE_GRANTS;
  log_hex(id, hardware->id, PFC_ID_BYTES);
  log_hex(key, hardware->public_key, PFC_PUBLIC_KEY_BYTES);
  if (dprintf(STDOUT_FILENO, "mode = %s\nid = %s\npublic-key = %s\nfeatures = 0x%02x\n",
              hardware->mode == PFC_MODE_PRODUCTION ? "production" : "development", id, key, features) > 0) {
    return STATUS_OK;
  }
  log_line(LOG_ERROR, "standard output: %s", system_error());
  return STATUS_FAILED;
}

/// New flash is another device: it does not go on with the state of the one before.
static int forget_state(const struct options *options) {
  struct state_file state;
  int status = state_file_open(&state, options->flash);
  if (status == GO_ON) status = state_file_remove(&state);
  state_file_close(&state);
  return status;
}

int provision(struct options *options, struct flash_file *flash) {
  struct provisioning *provisioning = &options->provisioning;
  struct pfd_port port;
  int status = GO_ON;
  int result;
  memset(&port, 0, sizeof port);
  port.random = system_random;
  if (options->provision_file != NULL) {
    status = read_file(provisioning, options->provision_file, options->open_provision);
  }
  if (status == GO_ON) status = complete(provisioning, flash);
  if (status == GO_ON && flash->formatted) status = forget_state(options);
  if (status == GO_ON) status = set_areas(provisioning, options, flash);
  port.flash = flash->port;
  if (status == GO_ON) {
    result = pfd_unit_provision(&port, &provisioning->hardware, provisioning->epoch, provisioning->floor,
                                provisioning->counter);
    if (result == PFC_OK) result = provision_log(provisioning, &port);
    if (result == PFC_OK) {
      status = print_public(&provisioning->hardware, &port.flash);
    } else {
      log_line(LOG_ERROR, "not provisioned: %s (%d)", log_result(result), result);
      status = STATUS_FAILED;
    }
  }
  pfc_wipe(provisioning, sizeof *provisioning);
  return status;
}
