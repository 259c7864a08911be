// SPDX-License-Identifier: Apache-2.0

package import ProofJOSE
internal import ProofModel

/// A token-bucket rate limiter: one bucket for each name, filled by the clock that is passed in.
///
/// A name is forgotten when its bucket is full again, so memory follows the traffic of one burst.
/// It never exceeds a bound: beyond it, unknown names share one bucket.
package final class RateLimiter: Sendable {
  private struct Bucket {
    var tokens: Double
    var filled: Double
  }

  private struct State {
    var buckets: [[UInt8]: Bucket] = [:]
    var swept = -Double.infinity
  }

  /// The most names that have a bucket of their own at the same time.
  static let namesMax = 100_000

  private let unit: Double
  private let burst: Double
  private let state = CoreLock(State())

  /// Makes a limiter.
  ///
  /// - Parameters:
  ///   - unit: The unit of time of rates, in seconds.
  ///   - burst: The capacity of a bucket, in seconds of its rate.
  package init(per unit: Double = 1, burst: Double = 10) {
    self.unit = unit
    self.burst = burst
  }

  /// Takes a token of a name's bucket.
  ///
  /// - Parameters:
  ///   - name: The bucket's name.
  ///   - rate: Tokens in a unit of time; 0 for no limit.
  ///   - now: The time.
  ///   - isTaken: Whether to take the token; otherwise the bucket is only read.
  /// - Returns: Nil if the bucket had a token; otherwise the seconds until it has one.
  package func wait(of name: [UInt8], rate: Int, at now: UnixTime, isTaken: Bool = true) -> Int? {
    guard rate > 0 else { return nil }
    let time = Double(now.seconds) + Double(now.nanoseconds) / 1e9
    let rate = Double(rate) / unit
    let burstSeconds = burst
    let burst = rate * burstSeconds
    return state.withLock { state in
      if time - state.swept >= burstSeconds || time < state.swept {
        state.swept = time
        state.buckets = state.buckets.filter { _, bucket in
          bucket.tokens + (time - bucket.filled) * rate < burst && bucket.filled <= time
        }
      }
      let isKnown = state.buckets[name] != nil
      let key = isKnown || state.buckets.count < Self.namesMax ? name : []
      var bucket = state.buckets[key] ?? Bucket(tokens: burst, filled: time)
      // If the clock was set back, add nothing.
      bucket.tokens = min(burst, bucket.tokens + max(0, time - bucket.filled) * rate)
      bucket.filled = time
      defer { state.buckets[key] = bucket }
      guard bucket.tokens >= 1 else { return Int(((1 - bucket.tokens) / rate).rounded(.up)) }
      if isTaken { bucket.tokens -= 1 }
      return nil
    }
  }
}
