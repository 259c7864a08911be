// SPDX-License-Identifier: Apache-2.0

internal import Dispatch
internal import Glibc

/// Makes threads: those of a ``CorePool``, and one for what lasts as long as a gate session, a page or a
/// browser.
enum CoreThread {
  private final class Work: Sendable {
    let body: @Sendable () -> Void
    init(_ body: @escaping @Sendable () -> Void) { self.body = body }
  }

  /// Runs a body on a thread of its own, and returns at once.
  static func run(_ body: @escaping @Sendable () -> Void) {
    if !start(Work(body)) {
      // The system has no thread to give now: use one of the pool's.
      DispatchQueue(label: "ProofKit").async(execute: body)
    }
  }

  private static func start(_ work: Work) -> Bool {
    var attributes = pthread_attr_t()
    guard unsafe pthread_attr_init(&attributes) == 0 else { return false }
    defer { unsafe pthread_attr_destroy(&attributes) }
    unsafe pthread_attr_setdetachstate(&attributes, Int32(PTHREAD_CREATE_DETACHED))
    // A thread inherits its maker's signal mask: leave signals of the process to the app's own
    // threads.
    var (all, before) = (sigset_t(), sigset_t())
    unsafe sigfillset(&all)
    for fault in [SIGILL, SIGTRAP, SIGFPE, SIGBUS, SIGSEGV, SIGSYS] {
      unsafe sigdelset(&all, fault)
    }
    unsafe pthread_sigmask(SIG_SETMASK, &all, &before)
    defer { unsafe pthread_sigmask(SIG_SETMASK, &before, nil) }
    let context = unsafe Unmanaged.passRetained(work)
    var thread = pthread_t()
    let result = unsafe pthread_create(
      &thread, &attributes,
      { context in
        guard let context = unsafe context else { return nil }
        unsafe Unmanaged<Work>.fromOpaque(context).takeRetainedValue().body()
        return nil
      }, context.toOpaque())
    if result != 0 { unsafe context.release() }
    return result == 0
  }
}
