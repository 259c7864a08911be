// SPDX-License-Identifier: Apache-2.0

/// Functions that stand before the real ones (the linker's --wrap).

#ifndef WRAPPED_H
#define WRAPPED_H

/// Begins the function that replaces `name`. The names are the linker's.
#define WRAPPED(result, name, ...)   \
  result __real_##name(__VA_ARGS__); \
  result __wrap_##name(__VA_ARGS__); \
  result __wrap_##name(__VA_ARGS__)

#endif
