// SPDX-License-Identifier: Apache-2.0

/// proof-hardware: the simulated remote hardware, a process of its own. docs/LINK.md, section 8.

#include "flash_file.h"
#include "log.h"
#include "options.h"
#include "provisioning.h"
#include "serve.h"

int main(int argc, char **argv) {
  static struct options options;
  static struct flash_file flash;
  int status = options_read(&options, argc, argv);
  if (status != GO_ON) return status;
  log_begin(options.log_level);
  status = flash_file_open(&flash, &options);
  if (status == GO_ON && options.provision) status = provision(&options, &flash);
  if (status == GO_ON) status = serve(&options, &flash);
  flash_file_close(&flash);
  return status;
}
