// SPDX-License-Identifier: Apache-2.0

import ProofModel
import Testing

@testable import ProofGate

/// The room for challenges that were answered wrongly: 32,768 sets of four marks, each for 63 bits
/// of a key.
@Suite struct MarkTests {
  /// A key whose first eight bytes make its mark, and whose next two choose its set.
  private static func key(_ mark: UInt64, set: UInt16 = 0, rest: UInt8 = 0) throws -> ReplayKey {
    var bytes = [UInt8](repeating: rest, count: 24)
    for place in 0..<8 { bytes[place] = UInt8(truncatingIfNeeded: mark >> (56 - 8 * place)) }
    bytes[8] = UInt8(set >> 8)
    bytes[9] = UInt8(set & 255)
    return try ReplayKey(bytes)
  }

  @Test("Each of 63 bits of a key makes another mark, and no key is marked in an empty room")
  func bits() throws {
    let keys = try [Self.key(0)] + (1..<64).map { try Self.key(1 << UInt64($0)) }
    let empty = SpentMarks()
    for key in keys { #expect(!empty.contains(key)) }
    for (place, key) in keys.enumerated() {
      let marks = SpentMarks()
      marks.insert(key)
      let marked = keys.indices.filter { marks.contains(keys[$0]) }
      #expect(marked == [place])
    }
    let marks = SpentMarks()
    for key in keys { marks.insert(key) }
    marks.insert(keys[63])
    #expect(marks.contains(keys[63]))
  }

  @Test("Each of 15 bits chooses another set, and no other bit of a key does")
  func sets() throws {
    let marks = SpentMarks()
    marks.insert(try Self.key(7 << 32))
    for bit in 0..<15 as Range<UInt16> {
      #expect(!marks.contains(try Self.key(7 << 32, set: 1 << bit)), "bit \(bit)")
    }
    #expect(marks.contains(try Self.key(7 << 32, set: 1 << 15)))
    #expect(marks.contains(try Self.key(7 << 32, rest: 255)))
    // Four keys of one mark in the first and the last sets have places of their own.
    let sets: [UInt16] = [0, 1, 0x7ffe, 0x7fff]
    for set in sets { marks.insert(try Self.key(9 << 32, set: set)) }
    for set in sets { #expect(marks.contains(try Self.key(9 << 32, set: set))) }
  }

  @Test("Four marks of a set stay, also if other sets were marked between them")
  func four() throws {
    let marks = SpentMarks()
    let keys = try (1...4 as ClosedRange<UInt64>).map { try Self.key($0 << 32) }
    for (number, key) in keys.enumerated() {
      marks.insert(key)
      marks.insert(key)
      for other in 0..<3 as Range<UInt64> {
        marks.insert(try Self.key((100 + other) << 32, set: UInt16(number) + 1))
      }
    }
    for key in keys { #expect(marks.contains(key)) }
  }

  @Test("In a set that is full the marks make room one after the other")
  func room() throws {
    let marks = SpentMarks()
    let keys = try (1...10 as ClosedRange<UInt64>).map { try Self.key($0 << 32) }
    for (number, key) in keys.enumerated() {
      marks.insert(key)
      let marked = keys.indices.filter { marks.contains(keys[$0]) }
      #expect(marked == Array(max(0, number - 3)...number))
    }
  }
}
