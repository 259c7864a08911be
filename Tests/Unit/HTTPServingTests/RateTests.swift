// SPDX-License-Identifier: Apache-2.0

import ProofJOSE
import ProofModel
import Testing

@testable import HTTPServing

@Suite struct RateTests {
  @Test func `a bucket lets a burst through, then its rate, and says how long to wait`() {
    let limiter = RateLimiter()
    func wait(_ name: String, _ seconds: Int64, _ nanoseconds: Int32 = 0) -> Int? {
      limiter.wait(
        of: Array(name.utf8), rate: 2,
        at: UnixTime(seconds: seconds, nanoseconds: nanoseconds))
    }
    for _ in 0..<20 { #expect(wait("a", 100) == nil) }
    #expect(wait("a", 100) == 1)
    #expect(wait("b", 100) == nil)
    #expect(wait("a", 100, 500_000_000) == nil)
    #expect(wait("a", 100, 500_000_000) == 1)
    for _ in 0..<20 { #expect(wait("a", 200) == nil) }
    #expect(wait("a", 200) == 1)
  }

  @Test func `no rate is no limit, and a clock set back lets no request through for free`() {
    let limiter = RateLimiter()
    for _ in 0..<100 { #expect(limiter.wait(of: [1], rate: 0, at: UnixTime(seconds: 1)) == nil) }
    for _ in 0..<10 { #expect(limiter.wait(of: [1], rate: 1, at: UnixTime(seconds: 9)) == nil) }
    #expect(limiter.wait(of: [1], rate: 1, at: UnixTime(seconds: 9)) == 1)
  }

  @Test func `names beyond the bound share one bucket`() {
    let limiter = RateLimiter()
    let now = UnixTime(seconds: 1)
    for name in 0..<RateLimiter.namesMax {
      let bytes = [UInt8(name & 255), UInt8(name >> 8 & 255), UInt8(name >> 16)]
      _ = limiter.wait(of: bytes, rate: 1, at: now)
    }
    for name in 0..<10 as Range<UInt8> {
      #expect(limiter.wait(of: [9, 9, 9, name], rate: 1, at: now) == nil)
    }
    #expect(limiter.wait(of: [9, 9, 9, 99], rate: 1, at: now) == 1)
  }

  private static func name(_ number: Int) -> [UInt8] {
    [UInt8(number & 255), UInt8(number >> 8 & 255), UInt8(number >> 16)]
  }

  @Test(arguments: [1, 10] as [Int64])
  func `a name is forgotten when its bucket is full again, so that others have room`(
    _ seconds: Int64
  ) {
    let limiter = RateLimiter()
    func wait(_ name: [UInt8], _ seconds: Int64) -> Int? {
      limiter.wait(of: name, rate: 1, at: UnixTime(seconds: seconds))
    }
    #expect(wait(Self.name(0), 1) == nil)
    for number in 1..<RateLimiter.namesMax { _ = wait(Self.name(number), seconds) }
    // Nothing is forgotten before the time of a burst has passed: two strangers share a bucket.
    for _ in 0..<10 { #expect(wait([1, 1, 1, 1], 10) == nil) }
    #expect(wait([2, 2, 2, 2], 10) == 1)
    // Each of the buckets lacked one token, and has it again.
    for stranger in 3...4 as ClosedRange<UInt8> {
      let name = [UInt8](repeating: stranger, count: 4)
      for _ in 0..<10 { #expect(wait(name, 11) == nil) }
      #expect(wait(name, 11) == 1)
    }
  }

  @Test func `a bucket that is not full is remembered, and one of the future is not`() {
    let limiter = RateLimiter()
    func wait(_ seconds: Int64) -> Int? {
      limiter.wait(of: [1], rate: 1, at: UnixTime(seconds: seconds))
    }
    for _ in 0..<10 { #expect(wait(100) == nil) }
    for second in 101...130 as ClosedRange<Int64> {
      #expect(wait(second) == nil && wait(second) == 1, "\(second)")
    }
    // A clock that was set back keeps no name waiting for so long.
    for _ in 0..<10 { #expect(wait(50) == nil) }
    #expect(wait(50) == 1)
  }
}
