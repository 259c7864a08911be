internal import Glibc

/// The signals that this program waits for. To be made before any thread is: threads inherit that they
/// do not get them.
struct Signals: Sendable {
  /// The request that a signal stands for.
  enum Wish {
    /// SIGHUP.
    case renew
    /// SIGTERM or SIGINT.
    case stop
  }

  init() {
    unsafe pthread_sigmask(SIG_BLOCK, [Self.set([SIGHUP, SIGTERM, SIGINT])], nil)
    // A reader of the log that went away must not end the service.
    signal(SIGPIPE, SIG_IGN)
  }

  /// Waits for the next one.
  func next() -> Wish {
    var set = Self.set([SIGHUP, SIGTERM, SIGINT])
    var number: Int32 = 0
    while unsafe sigwait(&set, &number) != 0 {}
    return number == SIGHUP ? .renew : .stop
  }

  /// From now on a signal to stop ends the process at once.
  func release() {
    unsafe pthread_sigmask(SIG_UNBLOCK, [Self.set([SIGTERM, SIGINT])], nil)
  }

  private static func set(_ numbers: [Int32]) -> sigset_t {
    var set = sigset_t()
    unsafe sigemptyset(&set)
    for number in numbers { unsafe sigaddset(&set, number) }
    return set
  }
}
