// SPDX-License-Identifier: Apache-2.0

package import ProofModel

/// A leaky bucket: how much of an ``OpeningBudget/Rate`` is taken.
///
/// A clock that goes back gives nothing back, and takes nothing.
package struct RateBucket: Sendable {
  private var spent = 0.0
  private var time: UnixTime = 0

  /// A full allowance.
  package init() {}

  /// Takes one; false if none is left.
  ///
  /// - Parameters:
  ///   - rate: The rate.
  ///   - now: The time.
  /// - Returns: Whether one was left.
  package mutating func take(_ rate: OpeningBudget.Rate, at now: UnixTime) -> Bool {
    spent = spent(rate, at: now)
    time = max(time, now)
    guard spent + 1 <= rate.burst else { return false }
    spent += 1
    return true
  }

  private func spent(_ rate: OpeningBudget.Rate, at now: UnixTime) -> Double {
    max(0, spent - Double(max(0, now - time)) * rate.perSecond)
  }

  /// The loss if the allowance is forgotten, in thousandths of those that were taken.
  func loss(at now: UnixTime, _ rate: OpeningBudget.Rate) -> UInt64 {
    UInt64(min(spent(rate, at: now), 1e9) * 1000)
  }

  /// Gives back one that was taken.
  mutating func giveBack() { spent = max(0, spent - 1) }
}
