// SPDX-License-Identifier: Apache-2.0

/// The time for which the readings of one connection count as the present state.
///
/// A primary that was cut off from its synchronous standby, and replaced, still answers readings:
/// its state is old. It commits nothing. So a connection commits a write of its own, and its readings
/// count for ``life`` from the moment before that call was sent. A change that another primary
/// acknowledges is therefore in force after ``life`` at the latest.
struct ReadingLease {
  /// Less than a second, so that a ban is in force everywhere within one.
  static let life = Duration.milliseconds(700)
  /// A lease with less than this left is renewed with the next call.
  private static let renewal = Duration.milliseconds(350)

  private var end: ContinuousClock.Instant?

  /// Whether readings count at a moment.
  func holds(at now: ContinuousClock.Instant) -> Bool { end.map { now < $0 } ?? false }

  /// Whether the next call is to renew it.
  func isDue(at now: ContinuousClock.Instant) -> Bool {
    end.map { $0 - now < Self.renewal } ?? true
  }

  /// Notes a commit that the server answered; it was sent at `begin` or later.
  mutating func renew(sentAt begin: ContinuousClock.Instant) { end = begin + Self.life }
}
