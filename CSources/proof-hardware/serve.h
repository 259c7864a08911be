// SPDX-License-Identifier: Apache-2.0

/// The loop: centrals come, send, go; until SIGTERM or SIGINT.

#ifndef SERVE_H
#define SERVE_H

struct options;
struct flash_file;

/// The status to end with.
int serve(const struct options *options, struct flash_file *flash);

#endif
