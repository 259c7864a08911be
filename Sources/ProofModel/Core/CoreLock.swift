// SPDX-License-Identifier: Apache-2.0

#if canImport(Darwin)
  internal import Darwin
#elseif canImport(Musl)
  internal import Musl
#else
  internal import Glibc
#endif

/// A state that one thread at a time may use.
///
/// Uses a POSIX mutex rather than Synchronization's `Mutex`. On Linux the thread sanitizer knows
/// only the former: with the latter it would report false races and hide real ones.
@safe
package final class CoreLock<State: ~Copyable> {
  private let mutex: UnsafeMutablePointer<pthread_mutex_t>
  private var state: State

  package init(_ state: consuming sending State) {
    unsafe mutex = .allocate(capacity: 1)
    unsafe mutex.initialize(to: pthread_mutex_t())
    let result = unsafe pthread_mutex_init(mutex, nil)
    precondition(result == 0, "The system made no mutex: \(result).")
    self.state = state
  }

  deinit {
    unsafe pthread_mutex_destroy(mutex)
    unsafe mutex.deallocate()
  }

  package func withLock<R: ~Copyable, E: Error>(
    _ body: (inout sending State) throws(E) -> sending R
  ) throws(E) -> sending R {
    unsafe pthread_mutex_lock(mutex)
    defer { unsafe pthread_mutex_unlock(mutex) }
    return try body(&state)
  }

  /// Does nothing, and returns nil, while another thread has the lock.
  package func withLockIfFree<R, E: Error>(
    _ body: (inout sending State) throws(E) -> sending R
  ) throws(E) -> sending R? {
    guard unsafe pthread_mutex_trylock(mutex) == 0 else { return nil }
    defer { unsafe pthread_mutex_unlock(mutex) }
    return try body(&state)
  }
}

extension CoreLock: @unchecked Sendable where State: ~Copyable {
  // Sendable because the state was sent here, is used only between lock and unlock, and does not
  // escape; and because the mutex never moves.
}
