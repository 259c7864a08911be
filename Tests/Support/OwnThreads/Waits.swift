// SPDX-License-Identifier: Apache-2.0

import Glibc

/// The end of each wait of a test: far behind all that a busy machine takes.
private let patience = Duration.seconds(300)

/// Waits blocked until a condition holds.
///
/// A wait of five minutes ends the process, and says where it stands: a blocked test cannot be ended alone.
@available(*, noasync, message: "it blocks a thread that another task may need: await it")
package func waitUntil<Failure: Error>(
  _ file: StaticString = #fileID, _ line: UInt = #line, _ condition: () throws(Failure) -> Bool
) throws(Failure) {
  let end = ContinuousClock.now + patience
  while try !condition() {
    precondition(ContinuousClock.now < end, "the wait at \(file):\(line) has no end")
    sched_yield()
  }
}

/// Waits until a condition holds, and lets other tasks run meanwhile.
///
/// A wait of five minutes ends the process, as ``waitUntil(_:_:_:)`` does.
package func waitUntil<Failure: Error>(
  _ file: StaticString = #fileID, _ line: UInt = #line,
  isolation: isolated (any Actor)? = #isolation, _ condition: () throws(Failure) -> Bool
) async throws(Failure) {
  let end = ContinuousClock.now + patience
  while try !condition() {
    precondition(ContinuousClock.now < end, "the wait at \(file):\(line) has no end")
    await Task.yield()
  }
}
