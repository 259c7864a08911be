// SPDX-License-Identifier: Apache-2.0

#define _GNU_SOURCE
#include <pthread.h>
#include <sys/mman.h>

#include "BenchInstruments.h"

enum { STACK_BYTES = 1 << 20, PAINT = 0xA5, MARGIN = 512 };

struct call {
  bench_body body;
  void *context;
  volatile unsigned char *stack;
  size_t bytes;
};

// A sanitizer has marks of its own on a stack, which outlive the thread: a scan of the whole stack must ignore them.
#if defined(__clang__)
#define UNWATCHED __attribute__((no_sanitize("address", "thread"), noinline))
#else
#define UNWATCHED __attribute__((noinline))
#endif

/// Paints the stack below its own frame, but for a margin that its own locals may stand in. The caller calls it, and
/// then the body, from the same place of the stack: the frames of both begin at the same address.
UNWATCHED static volatile unsigned char *paint(volatile unsigned char *stack) {
  volatile unsigned char *entry = __builtin_frame_address(0);
  for (volatile unsigned char *at = stack; at < entry - MARGIN; at++) *at = PAINT;
  return entry;
}

/// Bytes from the lowest one that lost its paint up to where the body began.
UNWATCHED static size_t touched(const volatile unsigned char *stack, const volatile unsigned char *entry) {
  const volatile unsigned char *at = stack;
  while (at < entry - MARGIN && *at == PAINT) at++;
  return (size_t)(entry - at);
}

// Painted and looked at on the thread itself, so that what beginning and ending one takes is not in the count: that
// depends on what the other threads do, most of all under a sanitizer.
static void *run(void *argument) {
  struct call *call = argument;
  volatile unsigned char *entry;
  call->body(call->context);
  entry = paint(call->stack);
  call->body(call->context);
  call->bytes = touched(call->stack, entry);
  return NULL;
}

static int run_on(unsigned char *stack, struct call *call) {
  pthread_attr_t attributes;
  pthread_t thread;
  int failed;
  if (pthread_attr_init(&attributes) != 0) return -1;
  failed = pthread_attr_setstack(&attributes, stack, STACK_BYTES) != 0 ||
           pthread_create(&thread, &attributes, run, call) != 0 || pthread_join(thread, NULL) != 0;
  (void)pthread_attr_destroy(&attributes);
  return failed ? -1 : 0;
}

size_t bench_stack_bytes(bench_body body, void *context) {
  struct call call = {body, context, NULL, 0};
  unsigned char *stack = mmap(NULL, STACK_BYTES, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (stack == MAP_FAILED) return 0;
  call.stack = stack;
  if (run_on(stack, &call) != 0) call.bytes = 0;
  (void)munmap(stack, STACK_BYTES);
  return call.bytes;
}
