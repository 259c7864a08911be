// SPDX-License-Identifier: Apache-2.0

/// The command line, and what a run ends with.

#ifndef OPTIONS_H
#define OPTIONS_H

#include <stdbool.h>
#include <stdint.h>

#include "log.h"
#include "provisioning.h"

/// Exit statuses.
enum {
  GO_ON = -1,         ///< Not a status: the run is not over.
  STATUS_OK = 0,      ///< Stopped by SIGTERM or SIGINT, or provisioned
  STATUS_FAILED = 1,  ///< The system refused something; the log says what.
  STATUS_USAGE = 2,
  STATUS_POWER = 3    ///< The cut that --cut asked for
};

struct options {
  const char *flash;
  const char *socket;
  const char *fifo_in;
  const char *fifo_out;
  bool clock;
  bool seal;  ///< Sealed commands are answered
  bool channel;  ///< Channels are opened
  enum log_level log_level;
  bool provision;
  const char *provision_file;  ///< NULL if everything stands on the command line
  bool open_provision;         ///< Others may read it.
  struct provisioning provisioning;
  unsigned long cut;  ///< Power fails in this flash operation, counted from 1; 0 for never
  uint64_t cut_seed;
  unsigned long worn;  ///< From this flash operation on flash takes nothing; 0 for never
};

/// GO_ON, or the status to end with: what is wrong was said.
int options_read(struct options *options, int argc, char **argv);

#endif
