// SPDX-License-Identifier: Apache-2.0

#ifndef CTPM_LINE_H
#define CTPM_LINE_H

#include <tss2/tss2_tcti.h>

#include "CTPM.h"

/// The way to a TPM: commands and answers over one descriptor, each wait until one deadline.
///
/// tpm2-tss has such transports (tcti-device, tcti-swtpm), which wait for an answer without end.
struct line {
  TSS2_TCTI_CONTEXT_COMMON_V1 common;
  int file;
  int is_socket;
  /// On the monotonic clock, in milliseconds.
  int64_t deadline;
  /// Why the line does not work any more; PHT_OK while it does.
  enum pht_result failure;
  size_t count;
  uint8_t answer[4096];
};

/// Opens the device. The line is to be closed whatever the result.
PHT_MUST_USE enum pht_result line_open(struct line *line, const struct pht_tpm *tpm);

/// Wipes what went over the line.
void line_close(struct line *line);

#endif
