// SPDX-License-Identifier: Apache-2.0

import BenchInstruments
import DeepCall
import ProofBench
import Testing

@Suite("A file of callgrind")
struct CallgrindTests {
  @Test("says how many instructions there were, or nothing")
  func totals() {
    #expect(
      CallgrindTotal.parse("version: 1\nevents: Ir\n\nfn=(1) x\n16 8\ntotals: 809619\n") == 809_619)
    #expect(CallgrindTotal.parse("summary: 12\n") == 12)
    #expect(CallgrindTotal.parse("") == nil)
    #expect(CallgrindTotal.parse("totals: many\n") == nil)
    #expect(CallgrindTotal.parse("totals: 1 2\n") == nil)
  }
}

@Suite("A trace of system calls")
struct SystemCallTests {
  private func calls(_ lines: String...) -> [String: Int] {
    SystemCalls.parse(lines.joined(separator: "\n"), marks: "/marks")
  }

  @Test("is counted between its marks, of all threads")
  func marks() {
    let counts = calls(
      "7 openat(AT_FDCWD, \"/etc/x\") = 3",
      "7 access(\"/marks/begin/a.b\", F_OK) = -1 ENOENT (No such file or directory)",
      "7 openat(AT_FDCWD, \"/etc/x\") = 3",
      "8 read(3, \"begin/\", 6) = 6",
      "7 access(\"/marks/end/a.b\", F_OK) = -1 ENOENT (No such file or directory)",
      "7 close(3) = 0",
      "7 access(\"/marks/begin/c\", F_OK) = -1 ENOENT (No such file or directory)",
      "7 access(\"/marks/end/c\", F_OK) = -1 ENOENT (No such file or directory)")
    #expect(counts == ["a.b": 2, "c": 0])
  }

  @Test("has a call once that stands on two lines, and no signals")
  func interrupted() {
    let counts = calls(
      "7 access(\"/marks/begin/a\", F_OK) = -1",
      "7 read(3,  <unfinished ...>",
      "8 write(4, \"x\", 1) = 1",
      "7 <... read resumed>\"y\", 1) = 1",
      "8 --- SIGCHLD {si_signo=SIGCHLD} ---",
      "8 +++ exited with 0 +++",
      "nonsense", "",
      "7 access(\"/marks/end/a\", F_OK) = -1")
    #expect(counts == ["a": 2])
  }

  @Test("leaves out what threads cost only where threads begin")
  func threads() {
    let counts = calls(
      "7 access(\"/marks/begin/alone\", F_OK) = -1",
      "7 mmap(NULL, 4096) = 0x7f", "7 munmap(0x7f, 4096) = 0",
      "7 access(\"/marks/end/alone\", F_OK) = -1",
      "7 access(\"/marks/begin/two\", F_OK) = -1",
      "7 mmap(NULL, 4096) = 0x7f", "7 clone3({}) = 8", "8 futex(0x7f) = 0", "8 statx(3) = 0",
      "7 access(\"/marks/end/two\", F_OK) = -1")
    #expect(counts == ["alone": 2, "two": 1])
  }
}

@Suite("Stack")
struct StackTests {
  @Test("is counted as deep as a call goes, always alike")
  func depth() {
    // The thread's own allocations are not counted: under a sanitizer they are many.
    let deep = bytes(128)
    #expect(deep > 128 << 10)
    #expect(deep < 160 << 10)
    for _ in 0..<100 { #expect(bytes(128) == deep, "the same call takes the same") }
    #expect(deep - bytes(64) == 64 * (bytes(65) - bytes(64)), "no step is lost")
    #expect(bytes(0) == 512, "less cannot be told")
  }

  private func bytes(_ kibibytes: CInt) -> Int {
    var kibibytes = kibibytes
    return unsafe bench_stack_bytes(deep_call, &kibibytes)
  }
}
