#define _GNU_SOURCE
#include <pthread.h>
#include <sys/mman.h>

#include "BenchInstruments.h"

enum { STACK_BYTES = 1 << 20, PAINT = 0xA5 };

struct call {
  bench_body body;
  void *context;
};

static void *run(void *argument) {
  struct call *call = argument;
  if (call->body != NULL) call->body(call->context);
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

// A sanitizer has marks of its own on a stack, which outlive the thread: whoever looks at the whole of it must not ask.
#if defined(__clang__)
#define UNWATCHED __attribute__((no_sanitize("address", "thread"), noinline))
#else
#define UNWATCHED
#endif

UNWATCHED static void paint(volatile unsigned char *stack) {
  for (size_t i = 0; i < STACK_BYTES; i++) stack[i] = PAINT;
}

/// Bytes from the lowest one that lost its paint up to the top.
UNWATCHED static size_t touched(const volatile unsigned char *stack) {
  size_t at = 0;
  while (at < STACK_BYTES && stack[at] == PAINT) at++;
  return STACK_BYTES - at;
}

/// What a thread takes with a body, or without one.
static size_t peak(unsigned char *stack, struct call *call) {
  if (run_on(stack, call) != 0) return 0;
  paint(stack);
  if (run_on(stack, call) != 0) return 0;
  return touched(stack);
}

size_t bench_stack_bytes(bench_body body, void *context) {
  struct call nothing = {NULL, NULL}, call = {body, context};
  size_t without, with;
  unsigned char *stack = mmap(NULL, STACK_BYTES, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (stack == MAP_FAILED) return 0;
  without = peak(stack, &nothing);
  with = peak(stack, &call);
  (void)munmap(stack, STACK_BYTES);
  return with > without && without > 0 ? with - without : 0;
}
