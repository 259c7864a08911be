// SPDX-License-Identifier: Apache-2.0

internal import Glibc

/// The signals that this program waits for. Make it before any thread, because threads inherit the
/// signal mask.
package struct Signals: Sendable {
  /// The request that a signal stands for.
  package enum Wish {
    /// SIGHUP.
    case renew
    /// SIGTERM or SIGINT.
    case stop
  }

  /// Blocks the signals, so that ``next()`` gets them.
  package init() {
    unsafe pthread_sigmask(SIG_BLOCK, [Self.set([SIGHUP, SIGTERM, SIGINT])], nil)
    // A closed reader of the log must not end the process.
    signal(SIGPIPE, SIG_IGN)
  }

  /// Waits for the next signal.
  package func next() -> Wish {
    var set = Self.set([SIGHUP, SIGTERM, SIGINT])
    var number: Int32 = 0
    while unsafe sigwait(&set, &number) != 0 {}
    return number == SIGHUP ? .renew : .stop
  }

  /// From now on a stop signal ends the process at once.
  package func release() {
    unsafe pthread_sigmask(SIG_UNBLOCK, [Self.set([SIGTERM, SIGINT])], nil)
  }

  /// Waits. A stop signal ends the process meanwhile if the signals were released.
  package func pause(seconds: UInt32) { _ = sleep(seconds) }

  private static func set(_ numbers: [Int32]) -> sigset_t {
    var set = sigset_t()
    unsafe sigemptyset(&set)
    for number in numbers { unsafe sigaddset(&set, number) }
    return set
  }
}
