// SPDX-License-Identifier: Apache-2.0

import Glibc
import Testing

@testable import ProofKit

/// The signals that the calling thread puts off.
private func blockedSignals() -> Set<Int32> {
  var set = sigset_t()
  _ = unsafe pthread_sigmask(SIG_BLOCK, nil, &set)
  var blocked: Set<Int32> = []
  for number in 1...64 as ClosedRange<Int32> {
    let isBlocked = unsafe sigismember(&set, number)
    if isBlocked == 1 { blocked.insert(number) }
  }
  return blocked
}

@Suite("A thread of the library")
struct ThreadTests {
  @Test("gets the signals of its own faults alone, and its maker gets the same ones as before")
  func signals() {
    let before = blockedSignals()
    let seen = Handover<Set<Int32>>()
    CoreThread.run { seen.give(blockedSignals()) }
    #expect(blockedSignals() == before)
    let blocked = seen.wait()
    let faults: Set = [SIGILL, SIGTRAP, SIGFPE, SIGBUS, SIGSEGV, SIGSYS]
    // The system lets no thread put off these two.
    let always: Set = [SIGKILL, SIGSTOP]
    // The system's library keeps 32 and 33.
    for number in 1...64 as ClosedRange<Int32> where number != 32 && number != 33 {
      let isPutOff = !faults.contains(number) && !always.contains(number)
      #expect(blocked.contains(number) == isPutOff, "\(number)")
    }
  }
}
