internal import Glibc

/// A lock with a condition to wait for.
///
/// `@unchecked Sendable` because it is what makes others so.
@safe final class Monitor: @unchecked Sendable {
  private let mutex: UnsafeMutablePointer<pthread_mutex_t>
  private let condition: UnsafeMutablePointer<pthread_cond_t>

  init() {
    unsafe mutex = .allocate(capacity: 1)
    unsafe condition = .allocate(capacity: 1)
    let failed = unsafe pthread_mutex_init(mutex, nil) | pthread_cond_init(condition, nil)
    precondition(failed == 0, "The system has no more locks.")
  }

  deinit {
    unsafe pthread_cond_destroy(condition)
    unsafe pthread_mutex_destroy(mutex)
    unsafe condition.deallocate()
    unsafe mutex.deallocate()
  }

  func lock() { unsafe _ = pthread_mutex_lock(mutex) }
  func unlock() { unsafe _ = pthread_mutex_unlock(mutex) }

  /// Lets others in until somebody wakes this thread, or for no reason: look again after it.
  func wait() { unsafe _ = pthread_cond_wait(condition, mutex) }

  /// Wakes all who wait.
  func wakeAll() { unsafe _ = pthread_cond_broadcast(condition) }
}
