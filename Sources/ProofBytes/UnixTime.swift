// SPDX-License-Identifier: Apache-2.0

/// A time of day: the seconds since the beginning of 1970 in UTC, without leap seconds.
///
/// Its literals are whole seconds: `let issued: UnixTime = 1_800_000_000`.
public struct UnixTime: Sendable, Hashable {
  /// Whole seconds.
  public let seconds: Int64
  /// The fraction beyond them: 0 to 999,999,999.
  public let nanoseconds: Int32

  /// Makes a time.
  ///
  /// Traps if the nanoseconds are a second or more, or negative.
  ///
  /// - Parameters:
  ///   - seconds: Whole seconds.
  ///   - nanoseconds: The fraction beyond them.
  public init(seconds: Int64, nanoseconds: Int32 = 0) {
    precondition((0..<1_000_000_000).contains(nanoseconds))
    self.seconds = seconds
    self.nanoseconds = nanoseconds
  }

  /// Makes a time of whole seconds, bounded by the range that can be written.
  ///
  /// - Parameter seconds: Whole seconds.
  public init(clamping seconds: some BinaryInteger) {
    self.init(seconds: Int64(clamping: seconds))
  }

  /// The system's time.
  public static var now: UnixTime {
    let time = SystemClock.read()
    return UnixTime(seconds: time.seconds, nanoseconds: time.nanoseconds)
  }

  /// The time without its fraction.
  package var whole: UnixTime { UnixTime(seconds: seconds) }

  /// The last time that can be written.
  package static let last = UnixTime(seconds: .max)

  /// The whole seconds as the formats of this package write them, in 64 bits without a sign. A time
  /// before 1970 is 0, and the last second stands for the last one of such a format.
  package var unsigned: UInt64 { seconds == .max ? .max : UInt64(clamping: seconds) }
}

extension UnixTime: Strideable {
  /// The time some seconds later, bounded by the range that can be written.
  ///
  /// - Parameter seconds: The number of seconds; negative for earlier.
  /// - Returns: The time.
  public func advanced(by seconds: Int) -> UnixTime {
    let (sum, overflow) = self.seconds.addingReportingOverflow(Int64(seconds))
    let end: Int64 = seconds < 0 ? .min : .max
    return UnixTime(seconds: overflow ? end : sum, nanoseconds: nanoseconds)
  }

  /// The whole seconds from this time to another one, bounded by the range that can be written.
  ///
  /// - Parameter other: The other time.
  /// - Returns: The number of seconds, without the fractions; negative if the other time is earlier.
  public func distance(to other: UnixTime) -> Int {
    let (difference, overflow) = other.seconds.subtractingReportingOverflow(seconds)
    return overflow ? (other.seconds < seconds ? .min : .max) : Int(difference)
  }

  /// Whether one time is before another.
  ///
  /// - Parameters:
  ///   - one: A time.
  ///   - other: Another.
  /// - Returns: Whether it is earlier.
  public static func < (one: UnixTime, other: UnixTime) -> Bool {
    (one.seconds, one.nanoseconds) < (other.seconds, other.nanoseconds)
  }

  /// Whether two times are the same, to the nanosecond.
  ///
  /// - Parameters:
  ///   - one: A time.
  ///   - other: Another.
  /// - Returns: Whether they are the same.
  public static func == (one: UnixTime, other: UnixTime) -> Bool {
    (one.seconds, one.nanoseconds) == (other.seconds, other.nanoseconds)
  }
}

/// Seconds more and less, bounded by the range that can be written.
extension UnixTime {
  package static func + (time: UnixTime, seconds: some BinaryInteger) -> UnixTime {
    time.advanced(by: Int(clamping: seconds))
  }

  package static func - (time: UnixTime, seconds: some BinaryInteger) -> UnixTime {
    // Not -seconds: the least number has no opposite.
    let (difference, overflow) = time.seconds.subtractingReportingOverflow(
      Int64(clamping: seconds))
    let end: Int64 = seconds < 0 ? .max : .min
    return UnixTime(seconds: overflow ? end : difference, nanoseconds: time.nanoseconds)
  }

  package static func - (time: UnixTime, earlier: UnixTime) -> Int { earlier.distance(to: time) }

  package static func += (time: inout UnixTime, seconds: some BinaryInteger) {
    time = time + seconds
  }

  package static func -= (time: inout UnixTime, seconds: some BinaryInteger) {
    time = time - seconds
  }
}

extension UnixTime: ExpressibleByIntegerLiteral {
  /// Makes a time of whole seconds.
  ///
  /// - Parameter value: The seconds since 1970.
  public init(integerLiteral value: Int64) { self.init(seconds: value) }
}

extension UnixTime: CustomStringConvertible {
  /// The seconds since 1970, without needless digits.
  public var description: String {
    guard nanoseconds > 0 else { return "\(seconds)" }
    var fraction = CalendarDate.digits(Int64(nanoseconds), 9)
    while fraction.hasSuffix("0") { fraction.removeLast() }
    return "\(seconds).\(fraction)"
  }
}

/// The source of the time: the system, or a test.
public struct UnixClock: Sendable {
  private let read: @Sendable () -> UnixTime

  /// Makes a clock from a closure.
  ///
  /// - Parameter read: Gives the time; called from any thread.
  public init(_ read: @escaping @Sendable () -> UnixTime) { self.read = read }

  /// The system's clock.
  public static let system = UnixClock { .now }

  /// A clock that always tells the same time.
  ///
  /// - Parameter time: The time that it tells.
  /// - Returns: The clock.
  public static func fixed(_ time: UnixTime) -> UnixClock { UnixClock { time } }

  /// The time.
  public var now: UnixTime { read() }
}
