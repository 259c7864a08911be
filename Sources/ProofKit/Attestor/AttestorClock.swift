/// The clock of the cache, in a form that a test can set.
public struct AttestorClock: Sendable {
  /// A monotonic clock that goes on while the device sleeps: the time since some moment.
  public var uptime: @Sendable () -> Duration
  /// The time of day in Unix seconds, as the system has it. It may be wrong, and may be set.
  public var unixTime: @Sendable () -> Int64

  /// Describes a clock.
  ///
  /// - Parameters:
  ///   - uptime: The time since some moment.
  ///   - unixTime: The time of day in Unix seconds; nil for the system's.
  public init(
    uptime: @escaping @Sendable () -> Duration, unixTime: (@Sendable () -> Int64)? = nil
  ) {
    self.uptime = uptime
    self.unixTime = unixTime ?? { CoreSystem.unixTime }
  }

  /// The system's clock.
  public static let system = AttestorClock(uptime: { Self.origin.duration(to: .now) })

  private static let origin = ContinuousClock.now
}

/// The times of the app's side, all in one place.
public enum AttestorTimes {
  /// How long the very first start waits for a configuration, at most.
  public static let startUp = Duration.seconds(2)
  /// How long ``Attestor/fetchConfig()`` waits for a configuration, at most.
  public static let configuration = Duration.seconds(3)
  /// How long one fetch waits for the service, all requests together; measuring the app is not
  /// counted.
  public static let fetch = Duration.seconds(10)
  /// How long a blocking fetch waits, at most, unless the call says otherwise: the network's time,
  /// and time to measure a large app on a slow disk.
  public static let wait = Duration.seconds(120)
  /// How long a failure is remembered, so that a burst of calls fails at once.
  public static let failure = Duration.milliseconds(500)
  /// How long it is remembered that an API is unknown or needs no token.
  public static let unprotected = Duration.seconds(30)
  /// The longest lifetime of a secure string in the cache.
  public static let life = Duration.seconds(300)

  /// The time before a token's end at which it is no longer handed out: a tenth of its life, at
  /// least 1 s for its way to the API, at most 30 s.
  static func margin(of life: Duration) -> Duration {
    min(max(life / 10, .seconds(1)), .seconds(30))
  }
}
