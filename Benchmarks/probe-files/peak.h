// SPDX-License-Identifier: Apache-2.0

/// How much memory this process has held at most.

#ifndef PEAK_H
#define PEAK_H

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/// In KiB; -1 if /proc is missing. Not getrusage's: that one is inherited from the process that started this program.
static inline long peak_kib(void) {
  char line[128];
  long peak = -1;
  FILE *status = fopen("/proc/self/status", "re");
  if (status == NULL) return -1;
  while (fgets(line, sizeof line, status) != NULL) {
    if (strncmp(line, "VmHWM:", 6) == 0) peak = strtol(line + 6, NULL, 10);
  }
  (void)fclose(status);
  return peak;
}

#endif
