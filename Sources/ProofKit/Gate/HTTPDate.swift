// SPDX-License-Identifier: Apache-2.0

import ProofBytes

/// A moment in the form of the field `Date` (RFC 9110, section 5.6.7), such as `Sun, 06 Nov 1994 08:49:37 GMT`.
struct HTTPDate: Sendable, Hashable {
  let time: UnixTime

  private static let months = Array("JanFebMarAprMayJunJulAugSepOctNovDec".utf8)

  init?(_ text: String) {
    let bytes = Array(text.utf8)
    func number(_ range: Range<Int>) -> Int64? {
      var value: Int64 = 0
      for byte in bytes[range] {
        guard 0x30...0x39 ~= byte else { return nil }
        value = value * 10 + Int64(byte - 0x30)
      }
      return value
    }
    guard bytes.count == 29, bytes[26...].elementsEqual("GMT".utf8), bytes[3] == 0x2C,
      bytes[19] == 0x3A, bytes[22] == 0x3A, let month = Self.month(bytes[8..<11])
    else { return nil }
    guard
      let day = number(5..<7), let year = number(12..<16), let hour = number(17..<19),
      let minute = number(20..<22), let second = number(23..<25),
      1...31 ~= day, 1970...9999 ~= year, hour < 24, minute < 60, second <= 60
    else { return nil }
    let days = CalendarDate(year: year, month: month, day: day).daysSince1970
    time = UnixTime(seconds: ((days * 24 + hour) * 60 + minute) * 60 + second)
  }

  /// 1 to 12.
  private static func month(_ name: ArraySlice<UInt8>) -> Int64? {
    for number in 0..<12 where months[number * 3..<number * 3 + 3].elementsEqual(name) {
      return Int64(number + 1)
    }
    return nil
  }
}
