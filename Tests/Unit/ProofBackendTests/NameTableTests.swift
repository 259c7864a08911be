// SPDX-License-Identifier: Apache-2.0

import ProofModel
import Testing

@testable import ProofBackend

/// The table of names: rows of eight, and a new name takes the entry with the least to lose.
@Suite struct NameTableTests {
  /// A name whose row is given; `number` is 1 or more.
  private static func name(_ number: UInt64, row: UInt64 = 0) -> HashedName {
    HashedName(bits: row << 32 | number)
  }

  /// Sets the value of a name; a value is its own loss.
  private static func put(_ value: UInt64, _ name: HashedName, in table: inout NameTable<UInt64>) {
    let place = table.place(of: name) { $0 }
    table[place] = value
  }

  private static func value(_ name: HashedName, in table: NameTable<UInt64>) -> UInt64? {
    table.held(name).map { table[$0] }
  }

  @Test("A full row gives up the value with the least to lose, and counts it if it loses something")
  func least() {
    var table = NameTable(capacity: 8, first: 0 as UInt64)
    for number in 1...8 as ClosedRange<UInt64> {
      #expect(Self.value(Self.name(number), in: table) == nil)
      Self.put(number ^ 1, Self.name(number), in: &table)
    }
    // Name 1 has the value 0: it is as good as a new one.
    let ninth = table.place(of: Self.name(9)) { $0 }
    #expect(table[ninth] == 0 && table.forgotten == 0 && table.held(Self.name(1)) == nil)
    table[ninth] = 100
    for (new, gone) in [(10, 3), (11, 2), (12, 5)] as [(UInt64, UInt64)] {
      Self.put(200, Self.name(new), in: &table)
      #expect(table.held(Self.name(gone)) == nil, "\(gone)")
    }
    #expect(table.forgotten == 3)
    for number in [4, 6, 7, 8] as [UInt64] {
      #expect(Self.value(Self.name(number), in: table) == number ^ 1)
    }
    #expect(Self.value(Self.name(9), in: table) == 100)
  }

  @Test("The upper half of a name is its row, and rows do not take each other's places")
  func rows() {
    var table = NameTable(capacity: 32, first: 0 as UInt64)
    #expect(table.capacity == 32 && NameTable<UInt64>.byteCount(of: 32) == 512)
    for row in 0..<4 as Range<UInt64> {
      for number in 1...8 as ClosedRange<UInt64> {
        Self.put(row * 10 + number, Self.name(number << 28 | number, row: row), in: &table)
      }
    }
    #expect(table.forgotten == 0)
    Self.put(7, Self.name(9, row: 6), in: &table)
    #expect(table.forgotten == 1 && table.held(Self.name(1 << 28 | 1, row: 2)) == nil)
    for row in [0, 1, 3] as [UInt64] {
      for number in 1...8 as ClosedRange<UInt64> {
        let name = Self.name(number << 28 | number, row: row)
        #expect(Self.value(name, in: table) == row * 10 + number)
      }
    }
  }

  @Test("Names are equal if their bits are, and 0 is the name 1")
  func names() {
    #expect(HashedName(bits: 0).bits == 1 && HashedName(bits: 2).bits == 2)
    #expect(HashedName("a") == HashedName("a") && HashedName("a") != HashedName("b"))
    var table = NameTable(capacity: 8, first: 5 as UInt64)
    #expect(table.held(HashedName(bits: 0)) == nil, "a place without a name")
    let place = table.place(of: HashedName(bits: 0)) { $0 }
    #expect(table[place] == 5 && table.held(HashedName(bits: 1)) == place)
  }

  @Test("For all orders of use a name has the value that it put last, or none")
  func model() {
    for seed in 1...200 as ClosedRange<UInt64> {
      var random = SplitMix64(seed: seed)
      var (table, model) = (NameTable(capacity: 32, first: 0 as UInt64), [HashedName: UInt64]())
      for _ in 0..<400 {
        let name = Self.name(1 + random.next() % 12, row: random.next() % 4)
        if let held = Self.value(name, in: table) { #expect(held == model[name]) }
        let value = random.next() % 50
        Self.put(value, name, in: &table)
        model[name] = value
        let held = (0..<4 as Range<UInt64>).map { row in
          (1...12 as ClosedRange<UInt64>).count { table.held(Self.name($0, row: row)) != nil }
        }
        #expect(held.allSatisfy { $0 <= 8 })
      }
    }
  }
}
