// SPDX-License-Identifier: Apache-2.0

public import ProofModel

/// The clock of the cache, in a form that a test can set.
public struct AttestorClock: Sendable {
  /// A monotonic clock that goes on while the device sleeps: the time since some moment.
  public var uptime: @Sendable () -> Duration
  /// The time of day, as the system has it. It may be wrong, and may be set.
  public var time: UnixClock

  /// Describes a clock.
  ///
  /// - Parameters:
  ///   - uptime: The time since some moment.
  ///   - time: The time of day.
  public init(
    uptime: @escaping @Sendable () -> Duration, time: UnixClock = .system
  ) {
    self.uptime = uptime
    self.time = time
  }

  /// The system's clock.
  public static let system = AttestorClock(uptime: { Self.origin.duration(to: .now) })

  private static let origin = ContinuousClock.now
}

/// The times of the app's side, all in one place.
public enum AttestorTimes {
  /// The longest wait of the very first start for a configuration.
  public static let startUp = Duration.seconds(2)
  /// The longest wait of ``Attestor/update()``.
  public static let configuration = Duration.seconds(3)
  /// The time limit of one fetch: all its requests to the service together, but not measuring the
  /// app.
  public static let fetch = Duration.seconds(10)
  /// The longest wait of a blocking fetch, unless the call gives another: the network's time, and
  /// time to measure a large app on a slow disk.
  public static let wait = Duration.seconds(120)
  /// The time for which a failure is cached, so that a burst of calls fails at once.
  public static let failure = Duration.milliseconds(500)
  /// The time for which the cache knows that an API is unknown or needs no token.
  public static let unprotected = Duration.seconds(30)
  /// The time for which an address of the service that failed is tried after its fail-over address.
  public static let failover = Duration.seconds(300)
  /// The longest lifetime of a secure string in the cache.
  public static let life = Duration.seconds(300)

  /// The time before a token's end at which it is no longer handed out: a tenth of its life, at
  /// least 1 s for its way to the API, at most 30 s.
  static func margin(of life: Duration) -> Duration {
    min(max(life / 10, .seconds(1)), .seconds(30))
  }
}
