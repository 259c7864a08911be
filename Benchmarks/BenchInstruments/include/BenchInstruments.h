// SPDX-License-Identifier: Apache-2.0

/// Instruments: marks for valgrind and strace, and the stack that a call takes; and a peer that the service's own way
/// to OpenSSL would not show at its best.

#ifndef BENCH_INSTRUMENTS_H
#define BENCH_INSTRUMENTS_H

#include <stddef.h>
#include <sys/types.h>

typedef void (*bench_body)(void *context);

/// Where the marks stand: the system calls between the marks `begin/name` and `end/name` are the body's.
#define BENCH_MARK_FOLDER "/proof-bench-mark"

/// Calls `body` once. Before and after it, a file that is nowhere is asked for, which a tracer of system calls sees;
/// the instructions of `bench_window_body` are the body's.
void bench_window(const char *name, bench_body body, void *context);

/// The function that a counter of instructions is told to look into. Call `bench_window`.
void bench_window_body(bench_body body, void *context);

/// How many bytes of stack one call of `body` takes, all that it calls included. The body is called twice, on a thread
/// of its own, and the second time counts: the first one pays for what is looked up once. A body that takes less than
/// 512 counts as 512; 0 without memory or threads.
size_t bench_stack_bytes(bench_body body, void *context);

/// Starts a program, found in PATH unless its name has a slash. `words` ends with NULL. Standard input is empty;
/// standard output goes nowhere, or, if `output` is given, into a pipe of which it becomes the reading end.
///
/// @param folder    Where it runs; NULL for here.
/// @param is_quiet  1 throws away what it complains about.
/// @return 0, or an errno.
int bench_spawn(pid_t *process, char *const words[], const char *folder, int is_quiet, int *output);

/// HMAC-SHA-256 by OpenSSL as a program makes it that keeps its key: looked up and keyed once, begun anew for each
/// message.
typedef struct evp_mac_ctx_st bench_hmac;

/// NULL if OpenSSL has none.
bench_hmac *bench_hmac_new(const unsigned char *key, size_t size);

/// `hmac` may be NULL.
void bench_hmac_free(bench_hmac *hmac);

/// 1 if the tag was made.
int bench_hmac_make(bench_hmac *hmac, unsigned char tag[32], const unsigned char *message, size_t size);

#endif
