/// A value behind a lock.
///
/// Synchronization's `Mutex` would do as well, but the thread sanitizer does not see it, and reports
/// races that are none; what every request passes through is to be judged by it.
///
/// `@unchecked Sendable` because the value is touched under the lock alone.
final class Locked<Value>: @unchecked Sendable {
  private let monitor = Monitor()
  private var value: Value

  init(_ value: Value) { self.value = value }

  /// Lends the value to a closure, and to nobody else meanwhile.
  func withLock<R, E: Error>(_ body: (inout Value) throws(E) -> R) throws(E) -> R {
    monitor.lock()
    defer { monitor.unlock() }
    return try body(&value)
  }
}
