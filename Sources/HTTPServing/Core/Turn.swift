// SPDX-License-Identifier: Apache-2.0

internal import Glibc

/// A signal that one thread gives and another waits for. Writes before `give` are visible after
/// `take`.
///
/// `@unchecked Sendable` because a semaphore may be used from several threads.
@safe package final class Turn: @unchecked Sendable {
  private let semaphore: UnsafeMutablePointer<sem_t>

  package init() {
    unsafe semaphore = .allocate(capacity: 1)
    let failed = unsafe sem_init(semaphore, 0, 0)
    precondition(failed == 0, "A count of 0 is in range.")
  }

  deinit {
    unsafe sem_destroy(semaphore)
    unsafe semaphore.deallocate()
  }

  package func give() { unsafe _ = sem_post(semaphore) }

  /// Waits until it is given.
  package func take() {
    // A signal handler may have interrupted the wait.
    while unsafe sem_wait(semaphore) != 0 {}
  }
}
