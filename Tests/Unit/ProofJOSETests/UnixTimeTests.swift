// SPDX-License-Identifier: Apache-2.0

import Testing

@testable import ProofJOSE

@Suite("Unix time")
struct UnixTimeTests {
  @Test(
    "A number is read digit by digit",
    arguments: [
      ("0", 0, 0), ("-0", 0, 0), ("-0.0e5", 0, 0), ("1800000000", 1_800_000_000, 0),
      ("1800000000.5", 1_800_000_000, 500_000_000), ("1.8e9", 1_800_000_000, 0),
      ("18E+8", 1_800_000_000, 0), ("18000000005e-1", 1_800_000_000, 500_000_000),
      ("1800000000.1234567891", 1_800_000_000, 123_456_789), ("0.0000000019", 0, 1),
      ("253402300799", 253_402_300_799, 0),
      ("253402300799.999999999", 253_402_300_799, 999_999_999),
      ("9007199254.740993", 9_007_199_254, 740_993_000), ("1e-400", 0, 0), ("0e999", 0, 0),
      ("123456789012345678901234567890e-20", 1_234_567_890, 123_456_789),
      ("0.00000000018e20", 18_000_000_000, 0),
    ] as [(String, Int64, Int32)])
  func read(text: String, seconds: Int64, nanoseconds: Int32) {
    #expect(
      UnixTime(JSONNumber(checked: text)) == UnixTime(seconds: seconds, nanoseconds: nanoseconds))
  }

  @Test(
    "Times before 1970 or after the year 9999 are refused",
    arguments: [
      "-1", "-0.1", "-1e-9", "253402300800", "1800000000000", "1e12", "1e308", "1e400",
      "9223372036854775807", "9223372036854775808", "18446744073709551616", "1e999999999999999999",
      "99999999999999999999999999999999999999999999999999999999999999", "1e18446744073709551616",
    ])
  func refused(text: String) {
    #expect(UnixTime(JSONNumber(checked: text)) == nil)
  }

  @Test(
    "A time is written as short as it can be",
    arguments: [
      (5, 0, "5"), (5, 500_000_000, "5.5"), (0, 1, "0.000000001"), (1, 120, "1.00000012"),
    ]
      as [(Int64, Int32, String)])
  func written(seconds: Int64, nanoseconds: Int32, text: String) {
    let time = UnixTime(seconds: seconds, nanoseconds: nanoseconds)
    #expect(time.number.text == text)
    #expect(UnixTime(time.number) == time)
  }

  @Test("Times are ordered, and advance without overflow")
  func arithmetic() {
    #expect(UnixTime(seconds: 1) < UnixTime(seconds: 1, nanoseconds: 1))
    #expect(UnixTime(seconds: 1, nanoseconds: 9) < UnixTime(seconds: 2))
    #expect(UnixTime(seconds: .max).advanced(by: 1).seconds == .max)
    #expect(UnixTime(seconds: .min).advanced(by: -1).seconds == .min)
    #expect(UnixTime(seconds: 5).advanced(by: -7) == UnixTime(seconds: -2))
    #expect(UnixTime(seconds: 5, nanoseconds: 9) - 7 == UnixTime(seconds: -2, nanoseconds: 9))
    #expect((UnixTime.last + 1, UnixTime.last + UInt64.max) == (.last, .last))
    let first = UnixTime(seconds: .min)
    #expect(
      (first - 1, first - UInt64.max, UnixTime(seconds: 0) - Int64.min) == (first, first, .last))
  }

  @Test("The distance of two times is in whole seconds, and bounded")
  func distance() {
    #expect(UnixTime(seconds: 5, nanoseconds: 999_999_999).distance(to: 7) == 2)
    #expect(UnixTime(seconds: 7) - UnixTime(seconds: 9) == -2)
    let first = UnixTime(seconds: .min)
    #expect((first.distance(to: .last), UnixTime.last.distance(to: first)) == (.max, .min))
  }

  @Test("Formats without a sign begin at 1970, and their last second is the last time")
  func unsigned() {
    #expect(UnixTime(seconds: -1).unsigned == 0)
    #expect(UnixTime(seconds: 5, nanoseconds: 9).unsigned == 5)
    #expect(UnixTime(seconds: .max - 1).unsigned == UInt64(Int64.max) - 1)
    #expect(UnixTime.last.unsigned == .max)
    #expect(UnixTime(clamping: UInt64.max) == .last)
    #expect(UnixTime(clamping: UInt64(5)) == 5)
    #expect(UnixTime(seconds: 5, nanoseconds: 9).whole == 5)
  }

  @Test("The system's clock goes, and a fixed one stands")
  func clocks() {
    #expect(UnixClock.system.now > UnixTime(seconds: 1_700_000_000))
    #expect(UnixClock.fixed(Sample.now).now == Sample.now)
  }
}
