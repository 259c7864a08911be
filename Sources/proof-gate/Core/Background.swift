// SPDX-License-Identifier: Apache-2.0

import Glibc

/// A thread that works beside the servers until the process ends.
enum Background {
  private final class Work: Sendable {
    let body: @Sendable () -> Void
    init(_ body: @escaping @Sendable () -> Void) { self.body = body }
  }

  /// Starts a thread.
  ///
  /// - Returns: Whether the system gave one.
  static func start(_ body: @escaping @Sendable () -> Void) -> Bool {
    let context = unsafe Unmanaged.passRetained(Work(body))
    var thread = pthread_t()
    let result = unsafe pthread_create(
      &thread, nil,
      { context in
        guard let context = unsafe context else { return nil }
        unsafe Unmanaged<Work>.fromOpaque(context).takeRetainedValue().body()
        return nil
      }, context.toOpaque())
    guard result == 0 else {
      unsafe context.release()
      return false
    }
    pthread_detach(thread)
    return true
  }

  /// Waits.
  static func sleep(seconds: Double) {
    var wanted = timespec(
      tv_sec: Int(seconds), tv_nsec: Int((seconds - seconds.rounded(.down)) * 1e9))
    var left = timespec()
    while unsafe nanosleep(&wanted, &left) != 0, errno == EINTR { wanted = left }
  }
}
