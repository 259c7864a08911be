// SPDX-License-Identifier: Apache-2.0

#define _GNU_SOURCE

#include <dlfcn.h>
#include <netdb.h>
#include <stdatomic.h>
#include <string.h>
#include <unistd.h>

#include "SilentResolver.h"

static atomic_int is_silent;

void silent_resolver_begin(void) { atomic_store(&is_silent, 1); }

int getaddrinfo(const char *restrict name, const char *restrict service, const struct addrinfo *restrict hints,
                struct addrinfo **restrict found) {
  int (*next)(const char *, const char *, const struct addrinfo *, struct addrinfo **) = NULL;
  void *symbol = dlsym(RTLD_NEXT, "getaddrinfo");
  while (atomic_load(&is_silent)) (void)pause();
  memcpy(&next, &symbol, sizeof next);
  return next != NULL ? next(name, service, hints, found) : EAI_SYSTEM;
}
