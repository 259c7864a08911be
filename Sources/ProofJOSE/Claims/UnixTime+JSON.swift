// SPDX-License-Identifier: Apache-2.0

// One type of time for all roles.
@_exported public import ProofBytes

extension UnixTime {
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
  var number: JSONNumber { JSONNumber(checked: description) }
}
