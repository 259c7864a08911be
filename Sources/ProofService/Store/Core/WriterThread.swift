// SPDX-License-Identifier: Apache-2.0

internal import Glibc
internal import HTTPServing
internal import Synchronization

/// A queue's own thread. It writes each time the queue's own turn is given.
@safe
final class WriterThread: Sendable {
  private final class Loop: Sendable {
    let desk: WriteDesk
    let isEnded = Atomic(false)

    init(_ desk: WriteDesk) { self.desk = desk }

    func run() {
      while true {
        desk.ownTurn.take()
        // At the end no other thread writes, so this one takes whatever jobs are left.
        if isEnded.load(ordering: .acquiring), desk.counts.waiting == 0 { return }
        desk.write()
      }
    }
  }

  private let loop: Loop
  private let thread: pthread_t

  /// Starts a thread; nil if the system gives none.
  init?(_ desk: WriteDesk) {
    let loop = Loop(desk)
    let context = unsafe Unmanaged.passRetained(loop)
    var thread = pthread_t()
    let result = unsafe pthread_create(
      &thread, nil,
      { context in
        guard let context = unsafe context else { return nil }
        unsafe Unmanaged<Loop>.fromOpaque(context).takeRetainedValue().run()
        return nil
      }, context.toOpaque())
    guard result == 0 else {
      unsafe context.release()
      return nil
    }
    self.loop = loop
    self.thread = thread
  }

  /// Ends the thread once no job is left, and waits for it. To be called once, when no thread waits
  /// for a job.
  func end() {
    loop.isEnded.store(true, ordering: .releasing)
    loop.desk.ownTurn.give()
    if pthread_equal(thread, pthread_self()) != 0 {
      pthread_detach(thread)
    } else {
      pthread_join(thread, nil)
    }
  }
}
