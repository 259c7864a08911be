// SPDX-License-Identifier: Apache-2.0

/// Skips the instructions of a program one by one, and counts what became of it.
///
///     walk TABLE BEGIN END GADGET MODE DEPTH PROGRAM ARGUMENT
///
/// TABLE is a file of `address length flags` lines, all hexadecimal; flags 1 is an instruction of hash, cipher or curve
/// arithmetic.
/// PROGRAM runs, one step at a time, from the address BEGIN to the address END. At each instruction it is forked, by
/// executing the system call at GADGET; the copy goes on behind the instruction (MODE `single`) or behind it and
/// its neighbour (`pair`), runs freely to its end, and its exit status is counted. Thousands of attempts a second:
/// the way to the instruction is walked once and not once for each attempt.
///
/// DEPTH `once` skips an instruction of hash, cipher or curve arithmetic where it comes by for the first time alone,
/// `every` each time: they take nine in ten of all instructions of a command, and what they do is the same each time.
///
/// Prints `reached ADDRESS RESULT STEP` for each attempt that opened or told, then `attempts N refused N …`.

#include <errno.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ptrace.h>
#include <sys/syscall.h>
#include <sys/time.h>
#include <sys/user.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "fault.h"

enum {
  CLONE_PARENT_FLAG = 0x8000,
  PATIENCE_MILLISECONDS = 200,  // of processor time; an untouched run takes less than one
  ARITHMETIC = 1
};

struct instruction {
  uint64_t address;
  uint32_t length, flags;
};

static struct instruction *table;
static size_t table_size;
static uint8_t *seen;
static uint64_t gadget;

static void fail(const char *what) {
  (void)fprintf(stderr, "walk: %s: %s\n", what, strerror(errno));
  exit(2);
}

static void read_table(const char *path) {
  FILE *file = fopen(path, "r");
  size_t room = 1 << 20;
  unsigned long long address;
  unsigned length, flags;
  if (file == NULL) fail(path);
  table = malloc(room * sizeof *table);
  while (table != NULL && fscanf(file, "%llx %x %x", &address, &length, &flags) == 3) {
    if (table_size == room) table = realloc(table, (room *= 2) * sizeof *table);
    if (table != NULL) table[table_size++] = (struct instruction){address, length, flags};
  }
  (void)fclose(file);
  seen = calloc(table_size + 1, 1);
  if (table == NULL || seen == NULL) fail("memory");
}

/// The table is sorted.
static const struct instruction *at(uint64_t address) {
  size_t low = 0, high = table_size;
  while (low < high) {
    size_t middle = low + (high - low) / 2;
    if (table[middle].address < address) low = middle + 1;
    else high = middle;
  }
  return low < table_size && table[low].address == address ? &table[low] : NULL;
}

static int step(pid_t process) {
  int status;
  if (ptrace(PTRACE_SINGLESTEP, process, NULL, NULL) != 0) fail("step");
  if (waitpid(process, &status, __WALL) != process) fail("wait");
  return status;
}

static void run_to(pid_t process, uint64_t address) {
  struct user_regs_struct registers;
  int status;
  errno = 0;
  long word = ptrace(PTRACE_PEEKTEXT, process, address, NULL);
  if (errno != 0) fail("the program has no such address");
  if (ptrace(PTRACE_POKETEXT, process, address, (word & ~0xffL) | 0xcc) != 0) fail("breakpoint");
  if (ptrace(PTRACE_CONT, process, NULL, NULL) != 0) fail("run");
  if (waitpid(process, &status, __WALL) != process) fail("wait");
  if (!WIFSTOPPED(status) || WSTOPSIG(status) != SIGTRAP) {
    (void)fprintf(stderr, "walk: the program ended (%x) before it came to where the walk begins\n", (unsigned)status);
    exit(2);
  }
  if (ptrace(PTRACE_POKETEXT, process, address, word) != 0) fail("breakpoint");
  if (ptrace(PTRACE_GETREGS, process, NULL, &registers) != 0) fail("registers");
  registers.rip = address;
  if (ptrace(PTRACE_SETREGS, process, NULL, &registers) != 0) fail("registers");
}

/// A copy of the process as it stands, stopped, a child of this one; the process itself is unchanged.
static pid_t copy_of(pid_t process, const struct user_regs_struct *registers) {
  struct user_regs_struct call = *registers;
  unsigned long child = 0;
  int status;
  call.rip = gadget;
  call.rax = SYS_clone;
  call.rdi = CLONE_PARENT_FLAG | SIGCHLD;
  call.rsi = call.rdx = call.r10 = call.r8 = 0;
  call.orig_rax = (unsigned long long)-1;
  if (ptrace(PTRACE_SETREGS, process, NULL, &call) != 0) fail("registers");
  status = step(process);
  if (status >> 8 != (SIGTRAP | PTRACE_EVENT_FORK << 8)) {
    (void)fprintf(stderr, "walk: no copy was made (%x)\n", (unsigned)status);
    exit(2);
  }
  if (ptrace(PTRACE_GETEVENTMSG, process, NULL, &child) != 0) fail("copy");
  (void)step(process);
  if (ptrace(PTRACE_SETREGS, process, NULL, registers) != 0) fail("registers");
  if (waitpid((pid_t)child, &status, __WALL) != (pid_t)child) fail("copy");
  return (pid_t)child;
}

static void ring(int signal) { (void)signal; }

/// The exit status; 128 + signal for a crash; 0 for one that runs on and on.
static int end_of(pid_t process) {
  const struct itimerval often = {{0, 50000}, {0, 50000}}, never = {{0, 0}, {0, 0}};
  int status = 0, result = -1;
  (void)setitimer(ITIMER_REAL, &often, NULL);
  while (result < 0) {
    clockid_t clock;
    struct timespec used = {0, 0};
    if (waitpid(process, &status, __WALL) == process) {
      if (WIFEXITED(status)) result = WEXITSTATUS(status);
      else if (WIFSIGNALED(status)) result = 128 + WTERMSIG(status);
      continue;
    }
    if (errno != EINTR) fail("wait");
    if (clock_getcpuclockid(process, &clock) != 0 || clock_gettime(clock, &used) != 0) continue;
    if (used.tv_sec * 1000 + used.tv_nsec / 1000000 < PATIENCE_MILLISECONDS) continue;
    (void)kill(process, SIGKILL);
    while (waitpid(process, &status, __WALL) != process) {}
    result = 0;
  }
  (void)setitimer(ITIMER_REAL, &never, NULL);
  return result;
}

static int attempt(pid_t process, const struct user_regs_struct *registers, uint64_t next) {
  struct user_regs_struct skipped = *registers;
  pid_t copy = copy_of(process, registers);
  skipped.rip = next;
  skipped.orig_rax = (unsigned long long)-1;
  if (ptrace(PTRACE_SETREGS, copy, NULL, &skipped) != 0) fail("registers of a copy");
  if (ptrace(PTRACE_DETACH, copy, NULL, NULL) != 0) fail("letting go");
  return end_of(copy);
}

static pid_t start(char **program) {
  int status;
  pid_t process = fork();
  if (process == 0) {
    (void)ptrace(PTRACE_TRACEME, 0, NULL, NULL);
    (void)execv(program[0], program);
    _exit(127);
  }
  if (process < 0 || waitpid(process, &status, __WALL) != process || !WIFSTOPPED(status)) fail(program[0]);
  if (ptrace(PTRACE_SETOPTIONS, process, NULL, PTRACE_O_TRACEFORK | PTRACE_O_EXITKILL) != 0) fail("trace");
  return process;
}

int main(int argc, char **argv) {
  unsigned long attempts = 0, refused = 0, otherwise = 0, opened = 0, told = 0, crashed = 0, endless = 0, steps = 0;
  struct user_regs_struct registers;
  uint64_t last = 0;
  if (argc != 9) {
    (void)fprintf(stderr, "usage: walk TABLE BEGIN END GADGET single|pair once|every PROGRAM ARGUMENT\n");
    return 2;
  }
  read_table(argv[1]);
  uint64_t begin = strtoull(argv[2], NULL, 16), end = strtoull(argv[3], NULL, 16);
  gadget = strtoull(argv[4], NULL, 16);
  int pair = strcmp(argv[5], "pair") == 0, once = strcmp(argv[6], "once") == 0;
  struct sigaction action = {.sa_handler = ring};
  (void)sigaction(SIGALRM, &action, NULL);
  pid_t process = start(argv + 7);
  run_to(process, begin);
  for (;; steps++) {
    if (ptrace(PTRACE_GETREGS, process, NULL, &registers) != 0) fail("registers");
    if (registers.rip == end) break;
    const struct instruction *here = at(registers.rip);
    if (here == NULL) {
      (void)fprintf(stderr, "walk: no instruction is known at %llx\n", registers.rip);
      return 2;
    }
    // A repeated string instruction stops at each round; it is one instruction.
    int again = registers.rip == last, known = here->flags == ARITHMETIC && seen[here - table] && once;
    last = registers.rip;
    seen[here - table] = 1;
    if (!again && !known) {
      uint64_t next = here->address + here->length;
      const struct instruction *neighbour = pair ? at(next) : NULL;
      if (neighbour != NULL) next += neighbour->length;
      int result = attempt(process, &registers, next);
      attempts++;
      if (result == FAULT_REFUSED) refused++;
      else if (result == FAULT_REFUSED_OTHERWISE) otherwise++;
      else if (result == FAULT_OPENED) opened++;
      else if (result == FAULT_TOLD) told++;
      else if (result == 0) endless++;
      else crashed++;
      if (result == FAULT_OPENED || result == FAULT_TOLD) {
        (void)printf("reached %llx %s %lu\n", registers.rip, result == FAULT_OPENED ? "opened" : "told", steps);
      }
    }
    int status = step(process);
    if (!WIFSTOPPED(status) || WSTOPSIG(status) != SIGTRAP) {
      (void)fprintf(stderr, "walk: the program ended (%x) before the walk did\n", (unsigned)status);
      return 2;
    }
  }
  (void)kill(process, SIGKILL);
  (void)printf("attempts %lu refused %lu otherwise %lu crashed %lu endless %lu opened %lu told %lu\n", attempts,
               refused, otherwise, crashed, endless, opened, told);
  return 0;
}
