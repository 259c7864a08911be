// SPDX-License-Identifier: Apache-2.0

#define _GNU_SOURCE

#include <dlfcn.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include "SilentResolver.h"

enum { ROOM = 8192 };

static _Thread_local char text[ROOM];
static _Thread_local size_t used;
static _Thread_local int is_recording;

void recorded_options_begin(void) {
  text[0] = 0;
  used = 0;
  is_recording = 1;
}

const char *recorded_options_end(void) {
  is_recording = 0;
  return text;
}

/// The options of text that the tests compare: protocols, proxy and its exceptions, authorities, name, method.
static int is_text(int option) {
  static const int texts[] = {10318, 10004, 10177, 10065, 10018, 10036};
  for (size_t i = 0; i < sizeof texts / sizeof *texts; i++) {
    if (texts[i] == option) return 1;
  }
  return 0;
}

/// Numbers are below 10,000 and from 30,000 on; between are pointers, and functions.
static void record(int option, void *value) {
  char line[512];
  int size;
  if (option < 10000 || option >= 30000) {
    size = snprintf(line, sizeof line, "%d=%lld\n", option, (long long)(intptr_t)value);
  } else {
    const char *words = value == NULL ? "null" : is_text(option) ? value : "set";
    size = snprintf(line, sizeof line, "%d=%s\n", option, words);
  }
  if (size <= 0 || used + (size_t)size >= sizeof text) return;
  memcpy(text + used, line, (size_t)size + 1);
  used += (size_t)size;
}

int curl_easy_setopt(void *easy, int option, ...) {
  int (*next)(void *, int, ...) = NULL;
  void *symbol = dlsym(RTLD_NEXT, "curl_easy_setopt");
  va_list arguments;
  va_start(arguments, option);
  // A long, a pointer or a curl_off_t: each takes the place of a pointer.
  void *value = va_arg(arguments, void *);
  va_end(arguments);
  if (is_recording) record(option, value);
  memcpy(&next, &symbol, sizeof next);
  return next != NULL ? next(easy, option, value) : 48;
}
