// SPDX-License-Identifier: Apache-2.0

internal import ProofBytes

/// A point in time as tokens give it: seconds since 1970, leap seconds left out (NumericDate).
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

  /// The time some seconds later, bounded by the range that can be written.
  ///
  /// - Parameter seconds: The number of seconds; negative for earlier.
  /// - Returns: The time.
  public func advanced(by seconds: Int) -> UnixTime {
    let (sum, overflow) = self.seconds.addingReportingOverflow(Int64(seconds))
    let end: Int64 = seconds < 0 ? .min : .max
    return UnixTime(seconds: overflow ? end : sum, nanoseconds: nanoseconds)
  }

  /// Reads a number digit by digit, without rounding through binary floating point. Fractions beyond
  /// nanoseconds are dropped.
  ///
  /// `nil` for a time before 1970 or after the year 9999.
  init?(_ number: JSONNumber) {
    var digits: [UInt8] = []
    var point: Int?
    var exponent = 0
    var isExponentNegative = false
    var isInExponent = false
    let isNegative = number.text.utf8.first == UInt8(ascii: "-")
    for character in number.text.utf8 {
      switch character {
      case UInt8(ascii: "."):
        point = digits.count
      case UInt8(ascii: "e"), UInt8(ascii: "E"):
        isInExponent = true
      case UInt8(ascii: "-"):
        if isInExponent { isExponentNegative = true }
      case UInt8(ascii: "0")...UInt8(ascii: "9"):
        let digit = character - UInt8(ascii: "0")
        if isInExponent {
          // Larger exponents make no difference.
          exponent = min(exponent * 10 + Int(digit), 1_000)
        } else {
          digits.append(digit)
        }
      default:
        break
      }
    }
    guard !isNegative || digits.allSatisfy({ $0 == 0 }) else { return nil }
    let shift = (point ?? digits.count) + (isExponentNegative ? -exponent : exponent)
    func digit(at place: Int) -> Int64 {
      let index = place + shift
      return digits.indices.contains(index) ? Int64(digits[index]) : 0
    }
    // Places above the largest accepted number must be zeros.
    let leading = digits.prefix(max(0, shift - 12))
    guard leading.allSatisfy({ $0 == 0 }) else { return nil }
    var seconds: Int64 = 0
    for place in -12..<0 { seconds = seconds * 10 + digit(at: place) }
    var nanoseconds: Int64 = 0
    for place in 0..<9 { nanoseconds = nanoseconds * 10 + digit(at: place) }
    guard (0...JOSELimits.lastSecond).contains(seconds) else { return nil }
    self.init(seconds: seconds, nanoseconds: Int32(nanoseconds))
  }

  /// The time as a JSON number, without needless digits.
  var number: JSONNumber {
    guard nanoseconds > 0 else { return JSONNumber(seconds) }
    var fraction = String(nanoseconds)
    fraction = String(repeating: "0", count: 9 - fraction.count) + fraction
    while fraction.hasSuffix("0") { fraction.removeLast() }
    return JSONNumber(checked: "\(seconds).\(fraction)")
  }
}

extension UnixTime: Comparable {
  /// Whether one time is before another.
  ///
  /// - Parameters:
  ///   - one: A time.
  ///   - other: Another.
  /// - Returns: Whether it is earlier.
  public static func < (one: UnixTime, other: UnixTime) -> Bool {
    (one.seconds, one.nanoseconds) < (other.seconds, other.nanoseconds)
  }
}

extension UnixTime: CustomStringConvertible {
  /// The seconds since 1970.
  public var description: String { number.text }
}

/// The source of the time: the system, or a test.
public struct JOSEClock: Sendable {
  private let read: @Sendable () -> UnixTime

  /// Makes a clock from a closure.
  ///
  /// - Parameter read: Gives the time; called from any thread.
  public init(_ read: @escaping @Sendable () -> UnixTime) { self.read = read }

  /// The system's clock.
  public static let system = JOSEClock {
    let time = SystemClock.read()
    return UnixTime(seconds: time.seconds, nanoseconds: time.nanoseconds)
  }

  /// A clock that always tells the same time.
  ///
  /// - Parameter time: The time that it tells.
  /// - Returns: The clock.
  public static func fixed(_ time: UnixTime) -> JOSEClock { JOSEClock { time } }

  /// The time.
  public var now: UnixTime { read() }
}
