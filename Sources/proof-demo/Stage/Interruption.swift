// SPDX-License-Identifier: Apache-2.0

import Dispatch
import Glibc
import Synchronization

/// Handles Ctrl-C and other signals that end the story. It ends every process at once, so that
/// threads waiting for one go on and clean up.
final class Interruption: Sendable {
  private struct State {
    var children: Set<pid_t> = []
    var signal: Int32?
  }

  /// The sources are resumed once, and not used again.
  private struct Sources: @unchecked Sendable {
    let all: [any DispatchSourceSignal]
  }

  private let state = Mutex(State())
  private let sources: Sources

  init() {
    // A closed pipe fails the write; it must not end the story.
    Glibc.signal(SIGPIPE, SIG_IGN)
    let numbers = [SIGINT, SIGTERM, SIGHUP]
    sources = Sources(
      all: numbers.map { number in
        Glibc.signal(number, SIG_IGN)
        return DispatchSource.makeSignalSource(signal: number, queue: .global())
      })
    for (source, number) in zip(sources.all, numbers) {
      source.setEventHandler { [self] in end(number) }
      source.resume()
    }
  }

  /// The signal that ended the story, if one did.
  var signal: Int32? { state.withLock { $0.signal } }

  /// Starts a child, unless the story is over.
  func start(_ child: () throws -> pid_t) throws {
    try state.withLock { state in
      guard state.signal == nil else { throw StageFailure("the story was interrupted") }
      state.children.insert(try child())
    }
  }

  /// Removes a child that has ended and was waited for: another process may get its number.
  func ended(_ child: pid_t) {
    state.withLock { _ = $0.children.remove(child) }
  }

  /// Ends every child at once.
  func endChildren() {
    state.withLock { state in
      for child in state.children { kill(child, SIGKILL) }
    }
  }

  private func end(_ number: Int32) {
    state.withLock { $0.signal = $0.signal ?? number }
    endChildren()
  }
}
