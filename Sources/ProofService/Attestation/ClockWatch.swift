// SPDX-License-Identifier: Apache-2.0

internal import ProofModel

/// Compares this machine's clock with the one that all machines of the store share.
///
/// Challenges end by both clocks. If they differ by more than ``differenceMax``, either this node's challenges have
/// ended when they are issued, or they live longer than the policy says. The node then issues none, and `/health`
/// says so: a load balancer sends its requests to other nodes until the clocks agree.
final class ClockWatch: Sendable {
  /// Seconds by which the clocks may differ.
  static let differenceMax: Int64 = 30

  private let next = DueTime(every: 10)
  private let ahead = CoreLock<Int64?>(nil)

  /// Seconds that this machine's clock was ahead of the store's when they were last compared; nil for a store without
  /// a clock of its own.
  var clockAhead: Int64? { ahead.withLock { $0 } }

  /// The store's time, compared with this machine's.
  func sharedTime(of store: any Store, at own: UnixTime) throws(StoreError) -> UnixTime? {
    let shared = try store.sharedTime()
    ahead.withLock { $0 = shared.map { Int64(own - $0) } }
    return shared
  }

  /// Whether the clocks agree. Compares them at most once in ten seconds, and at once when this machine's jumped.
  func agrees(with store: any Store, at own: UnixTime) throws(StoreError) -> Bool {
    if next.isDue(at: own) { _ = try sharedTime(of: store, at: own) }
    return (clockAhead?.magnitude ?? 0) <= Self.differenceMax.magnitude
  }
}

/// A time that comes again and again.
final class DueTime: Sendable {
  private let next = CoreLock<UnixTime?>(nil)
  private let seconds: Int64

  init(every seconds: Int64) { self.seconds = seconds }

  /// Whether it has come. Only one of several threads is told so.
  func isDue(at now: UnixTime) -> Bool {
    next.withLock { next in
      // A clock that was set back does not end it.
      if let due = next, due - seconds <= now, now < due { return false }
      next = now + seconds
      return true
    }
  }
}
