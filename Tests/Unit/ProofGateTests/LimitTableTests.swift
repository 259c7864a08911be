// SPDX-License-Identifier: Apache-2.0

import ProofBackend
import ProofModel
import Testing

@testable import ProofGate

/// The table of rate limits: rows of eight names. The one whose bucket is the fullest makes room.
@Suite struct LimitTableTests {
  private static let hour = RouteLimit(.address, 1, per: .hour)
  private static let second = RouteLimit(.address, 1, per: .second)

  /// A name whose row is given; `number` is 1 or more.
  private static func name(_ number: UInt64, row: UInt64 = 0) -> HashedName {
    HashedName(bits: row << 32 | number)
  }

  @Test("Eight names of a row are counted at the same time, and a ninth one takes a place")
  func row() {
    let table = LimitTable(capacity: 8)
    #expect(table.capacity == 8 && table.byteCount == 128)
    for number in 1...8 as ClosedRange<UInt64> {
      // The time at which the bucket is full again rises with the number.
      #expect(table.wait(of: Self.name(number), Self.hour, at: number) == nil)
    }
    for number in 1...8 as ClosedRange<UInt64> {
      #expect(
        table.wait(of: Self.name(number), Self.hour, at: 100) == 3_600_000_000 - 100 + number)
    }
    #expect(table.forgotten == 0)
    #expect(table.wait(of: Self.name(9), Self.hour, at: 100) == nil)
    #expect(table.forgotten == 1)
    #expect(
      table.wait(of: Self.name(2), Self.hour, at: 100) != nil, "only the fullest is forgotten")
    #expect(table.wait(of: Self.name(1), Self.hour, at: 100) == nil)
    #expect(table.forgotten == 2)
  }

  @Test("A row is chosen by the upper half of a name")
  func rows() {
    let table = LimitTable(capacity: 16)
    let names = (0...1 as ClosedRange<UInt64>).flatMap { row in
      (1...8 as ClosedRange<UInt64>).map { Self.name($0 | $0 << 28, row: row) }
    }
    for name in names { #expect(table.wait(of: name, Self.hour, at: 5) == nil) }
    for name in names { #expect(table.wait(of: name, Self.hour, at: 5) == 3_600_000_000) }
    #expect(table.forgotten == 0)
    // Names beyond the last row begin with the first one again.
    #expect(table.wait(of: Self.name(9, row: 6), Self.hour, at: 5) == nil)
    #expect(table.forgotten == 1)
    let second = names.suffix(8)
    for name in second { #expect(table.wait(of: name, Self.hour, at: 5) != nil) }
  }

  @Test("A bucket that is full again is not forgotten, and the first moment of a clock is one")
  func full() {
    for (now, forgotten) in [(999_999, 1), (1_000_000, 0)] as [(UInt64, UInt64)] {
      let table = LimitTable(capacity: 8)
      for number in 1...8 as ClosedRange<UInt64> {
        #expect(table.wait(of: Self.name(number), Self.second, at: 0) == nil)
      }
      #expect(table.forgotten == 0)
      #expect(table.wait(of: Self.name(9), Self.second, at: now) == nil)
      #expect(table.forgotten == forgotten, "\(now)")
    }
  }

  @Test("Names differ from 1 on, and 0 is one of them")
  func names() {
    let table = LimitTable(capacity: 8)
    #expect(table.wait(of: Self.name(0), Self.hour, at: 5) == nil)
    #expect(table.wait(of: Self.name(0), Self.hour, at: 5) != nil)
    #expect(table.wait(of: Self.name(1), Self.hour, at: 5) != nil, "0 marks a place without a name")
    #expect(table.wait(of: Self.name(2), Self.hour, at: 5) == nil)
  }

  @Test("The largest count fills a bucket by one in each microsecond")
  func largest() {
    let table = LimitTable(capacity: 8)
    #expect(table.wait(of: Self.name(7), Self.hour, at: 5) == nil)
    // The bucket of the hour is empty for longer than a second takes to fill one.
    #expect(table.wait(of: Self.name(7), RouteLimit(.address, 1_000_000, per: .second), at: 5) == 1)
    #expect(table.wait(of: Self.name(7), RouteLimit(.address, 999_999, per: .second), at: 5) == 1)
    #expect(table.wait(of: Self.name(7), RouteLimit(.address, 500_000, per: .second), at: 5) == 2)
  }

  @Test("A wait is told in whole seconds that are over by then")
  func seconds() {
    for (passed, seconds) in [(0, 2), (1, 1), (999_999, 1), (1_000_000, nil)]
      as [(UInt64, Int?)]
    {
      let time = CoreLock<UInt64>(7)
      let limits = GateLimits { time.withLock { $0 } }
      #expect(limits.take(.address, "x", [Self.second], rule: "a") == nil)
      time.withLock { $0 += passed }
      #expect(limits.take(.address, "x", [Self.second], rule: "a")?.seconds == seconds)
    }
  }
}
