// SPDX-License-Identifier: Apache-2.0

/// Values that the factory decides: mode, issuers, identity. From a file, the command line, or both.

#ifndef PROVISIONING_H
#define PROVISIONING_H

#include <stdbool.h>
#include <stdint.h>

#include "ProofDevice.h"

enum provisioning_field {
  GIVEN_MODE = 1,
  GIVEN_ISSUER = 2,
  GIVEN_ID = 4,
  GIVEN_SECRET_KEY = 8,
  GIVEN_LITERAL = 16,
  GIVEN_SECONDS = 32,
  GIVEN_FLOOR = 64,
  GIVEN_COUNTER = 128,
  GIVEN_EPOCH = 256,
  GIVEN_RENEW = 512,
  GIVEN_FACTORY_SECRET = 1024,
  GIVEN_LOG = 2048,
  GIVEN_LOG_NUMBER = 4096,
  GIVEN_GRANTS = 8192
};

struct provisioning {
  unsigned given;  ///< enum provisioning_field, or-ed
  struct pfc_hardware hardware;
  bool renew;      ///< Draw another id and another key
  bool has_drawn;  ///< The factory has drawn `drawn` for this hardware, which keeps what is derived from it.
  uint8_t drawn[PFC_FACTORY_SECRET_BYTES];
  uint64_t epoch;
  uint64_t floor;
  uint64_t counter;
  bool keeps_log;       ///< Begin a log, or end it
  uint64_t log_number;  ///< Its first entry
  bool takes_grants;
};

/// Takes one field. False if there is none of this name, or the value is not one of its values.
bool provisioning_set(struct provisioning *provisioning, const char *name, const char *value);

/// Replaces in `under` each value that `over` gives.
void provisioning_merge(struct provisioning *under, const struct provisioning *over);

struct options;
struct flash_file;

/// Writes identity and ledger, prints the public part on standard output. The status to end with.
int provision(struct options *options, struct flash_file *flash);

#endif
