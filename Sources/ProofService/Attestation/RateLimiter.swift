internal import ProofModel
internal import ProofJOSE

/// Lets each name through so many times a second, and so many at once as in ten seconds: a bucket of
/// tokens each, filled by the clock that is passed in.
///
/// Names are forgotten when their bucket is full again, so memory follows the traffic of the last ten
/// seconds, and never exceeds a bound: beyond it, unknown names share one bucket.
final class RateLimiter: Sendable {
  private struct Bucket {
    var tokens: Double
    var filled: Double
  }

  private struct State {
    var buckets: [[UInt8]: Bucket] = [:]
    var swept = -Double.infinity
  }

  /// Names that are told apart at the same time.
  static let namesMax = 100_000
  static let burstSeconds = 10.0

  private let state = CoreLock(State())

  /// Takes a token of a name's bucket.
  ///
  /// - Parameters:
  ///   - name: Whose.
  ///   - rate: Tokens a second; 0 for no limit.
  ///   - now: The time.
  /// - Returns: Nil if there was one, otherwise after how many seconds there will be.
  func wait(of name: [UInt8], rate: Int, at now: UnixTime) -> Int? {
    guard rate > 0 else { return nil }
    let time = Double(now.seconds) + Double(now.nanoseconds) / 1e9
    let rate = Double(rate)
    let burst = rate * Self.burstSeconds
    return state.withLock { state in
      if time - state.swept >= Self.burstSeconds || time < state.swept {
        state.swept = time
        state.buckets = state.buckets.filter { _, bucket in
          bucket.tokens + (time - bucket.filled) * rate < burst && bucket.filled <= time
        }
      }
      let isKnown = state.buckets[name] != nil
      let key = isKnown || state.buckets.count < Self.namesMax ? name : []
      var bucket = state.buckets[key] ?? Bucket(tokens: burst, filled: time)
      // A clock that was set back fills nothing.
      bucket.tokens = min(burst, bucket.tokens + max(0, time - bucket.filled) * rate)
      bucket.filled = time
      defer { state.buckets[key] = bucket }
      guard bucket.tokens >= 1 else { return Int(((1 - bucket.tokens) / rate).rounded(.up)) }
      bucket.tokens -= 1
      return nil
    }
  }
}
