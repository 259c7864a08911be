// SPDX-License-Identifier: Apache-2.0

import Synchronization

/// Measures the parts of a step's time.
final class Stopwatch: Sendable {
  enum Share {
    case measurement
    case cryptography
    case network
  }

  private struct State {
    var shares: [Share: Duration] = [:]
    /// For each open measurement, the time that inner ones took already.
    var inner: [Duration] = []
  }

  private let state = Mutex(State())

  /// Times a piece of work. Work timed within it counts for its own share alone.
  ///
  /// The app does one thing at a time, so the innermost piece is the one begun last.
  func time<Value, Failure: Error>(
    _ share: Share, _ work: () throws(Failure) -> Value
  ) throws(Failure) -> Value {
    let start = ContinuousClock.now
    state.withLock { $0.inner.append(.zero) }
    defer {
      let elapsed = ContinuousClock.now - start
      state.withLock { state in
        let inner = state.inner.removeLast()
        state.shares[share, default: .zero] += elapsed - inner
        if let last = state.inner.indices.last { state.inner[last] += elapsed }
      }
    }
    return try work()
  }

  /// Adds a piece of work that contains no other timed work.
  func add(_ elapsed: Duration, to share: Share) {
    state.withLock { $0.shares[share, default: .zero] += elapsed }
  }

  /// The shares since the last call; the rest of the total is the link's.
  func take(of total: Duration, overLink: Bool) -> StepTime {
    let shares = state.withLock { state in
      defer { state.shares = [:] }
      return state.shares
    }
    var time = StepTime(
      total: total.milliseconds, measurement: shares[.measurement, default: .zero].milliseconds,
      cryptography: shares[.cryptography, default: .zero].milliseconds,
      network: shares[.network, default: .zero].milliseconds)
    let rest = max(0, time.total - time.measurement - time.cryptography - time.network)
    if overLink { time.link = rest } else { time.cryptography += rest }
    return time
  }
}

extension Duration {
  fileprivate var milliseconds: Double { self / .milliseconds(1) }
}
