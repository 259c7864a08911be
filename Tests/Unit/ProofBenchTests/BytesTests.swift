// SPDX-License-Identifier: Apache-2.0

import ProofBytes
import Testing

@Suite("Dates of the calendar")
struct CalendarDateTests {
  private static func isLeap(_ year: Int64) -> Bool {
    year % 4 == 0 && (year % 100 != 0 || year % 400 == 0)
  }

  /// Counts up day by day, by the rules of the Gregorian calendar.
  @Test("each day of 830 years has its number, and each number its day")
  func days() {
    let lengths: [Int64] = [31, 28, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31]
    var count: Int64 = 0
    var wrong = 0
    for year in Int64(1970)..<2800 {
      for (index, length) in lengths.enumerated() {
        let last = length + (index == 1 && Self.isLeap(year) ? 1 : 0)
        for day in 1...last {
          let date = CalendarDate(year: year, month: Int64(index) + 1, day: day)
          if date.daysSince1970 != count || CalendarDate(daysSince1970: count) != date {
            wrong += 1
          }
          count += 1
        }
      }
    }
    #expect(wrong == 0 && count == 303_151)
    // Before 1970 the same rules count down.
    #expect(CalendarDate(daysSince1970: -1) == CalendarDate(year: 1969, month: 12, day: 31))
    #expect(CalendarDate(year: 1600, month: 2, day: 29).daysSince1970 == -135_081)
    #expect(
      CalendarDate(daysSince1970: -135_081) == CalendarDate(year: 1600, month: 2, day: 29))
  }

  @Test("a date is written with four, two and two digits")
  func text() {
    #expect(CalendarDate(year: 2026, month: 1, day: 9).text == "2026-01-09")
    #expect(CalendarDate(year: 987, month: 12, day: 31).text == "0987-12-31")
    #expect(CalendarDate(year: 12_345, month: 10, day: 10).text == "12345-10-10")
    #expect(CalendarDate.digits(0, 3) == "000" && CalendarDate.digits(1_234, 3) == "1234")
    #expect(CalendarDate.digits(12, 3) == "012" && CalendarDate.digits(5, 0) == "5")
  }

  @Test("a time is written with the digits of its fraction that count")
  func times() {
    let texts: [(Int64, Int32, String)] = [
      (5, 0, "5"), (5, 1, "5.000000001"), (5, 500_000_000, "5.5"), (-5, 10, "-5.00000001"),
      (0, 999_999_999, "0.999999999"),
    ]
    for (seconds, nanoseconds, text) in texts {
      #expect(UnixTime(seconds: seconds, nanoseconds: nanoseconds).description == text)
    }
    var time: UnixTime = 10
    time += 5
    #expect(time == 15)
    time -= 7
    #expect(time == 8 && time - UnixTime(seconds: 3) == 5)
    #expect(UnixTime(seconds: .max) - -1 == UnixTime(seconds: .max))
    #expect(UnixTime(seconds: .min) - 1 == UnixTime(seconds: .min))
    #expect(UnixTime(seconds: .min).advanced(by: -1) == UnixTime(seconds: .min))
    #expect(UnixTime(seconds: .max).advanced(by: 1) == UnixTime(seconds: .max))
    #expect(UnixTime(clamping: UInt64.max) == UnixTime(seconds: .max))
  }
}

@Suite("Texts with percent signs")
struct PercentTests {
  @Test("letters, digits and four more characters stay, and each other byte is escaped")
  func bytes() {
    let plain = "azAZ09-._~"
    #expect(PercentEncoding.encoded(plain) == plain)
    for byte in UInt8(0)..<128 {
      let text = String(decoding: [byte], as: UTF8.self)
      let isPlain =
        (0x61...0x7A).contains(byte) || (0x41...0x5A).contains(byte)
        || (0x30...0x39).contains(byte) || "-._~".utf8.contains(byte)
      let digits = String(byte, radix: 16, uppercase: true)
      let escaped = "%" + (digits.utf8.count == 1 ? "0" : "") + digits
      #expect(PercentEncoding.encoded(text) == (isPlain ? text : escaped))
    }
    #expect(PercentEncoding.encoded("a b\u{fc}") == "a%20b%C3%BC")
  }
}

@Suite("Random numbers of a seed")
struct SplitMixTests {
  /// The first numbers of the reference implementation (prng.di.unimi.it/splitmix64.c) for the seed
  /// 1234567.
  @Test("are those of the reference")
  func reference() {
    var random = SplitMix64(seed: 1_234_567)
    #expect(
      (0..<5).map { _ in random.next() } == [
        6_457_827_717_110_365_317, 3_203_168_211_198_807_973, 9_817_491_932_198_370_423,
        4_593_380_528_125_082_431, 16_408_922_859_458_223_821,
      ])
  }
}
