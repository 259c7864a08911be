// SPDX-License-Identifier: Apache-2.0

import Foundation

/// Changes inputs as a fuzzer does. The seed is printed: `PROOFKIT_FUZZ_SEED` repeats a run, and
/// `PROOFKIT_FUZZ_ROUNDS` says how long one is.
package struct Mutator {
  package static let rounds = number("PROOFKIT_FUZZ_ROUNDS") ?? 400
  private static let telling: [UInt8] = [
    0, 1, 2, 0x20, 0x22, 0x25, 0x2E, 0x5C, 0x7B, 0x7D, 0x7F, 0x80, 0xC0, 0xFF,
  ]

  private var generator: SeededGenerator

  package init(_ name: String) {
    let seed = Self.number("PROOFKIT_FUZZ_SEED").map(UInt64.init) ?? .random(in: 0...(1 << 40))
    print("fuzz \(name): PROOFKIT_FUZZ_SEED=\(seed) PROOFKIT_FUZZ_ROUNDS=\(Self.rounds)")
    generator = SeededGenerator(seed: seed)
  }

  private static func number(_ name: String) -> Int? {
    ProcessInfo.processInfo.environment[name].flatMap { Int($0) }
  }

  package mutating func pick<Value>(_ values: [Value]) -> Value {
    values.randomElement(using: &generator)!
  }

  /// One of the inputs with one to four changes; now and then nothing but noise.
  package mutating func mutant(of inputs: [[UInt8]]) -> [UInt8] {
    if Int.random(in: 0..<50, using: &generator) == 0 { return noise(200) }
    var bytes = pick(inputs)
    for _ in 0..<Int.random(in: 1...4, using: &generator) { change(&bytes, inputs) }
    return bytes
  }

  private mutating func noise(_ most: Int) -> [UInt8] {
    let count = Int.random(in: 0...most, using: &generator)
    return (0..<count).map { _ in .random(in: .min ... .max, using: &generator) }
  }

  private mutating func change(_ bytes: inout [UInt8], _ inputs: [[UInt8]]) {
    let place = Int.random(in: 0...bytes.count, using: &generator)
    let end = min(bytes.count, place + Int.random(in: 1...16, using: &generator))
    switch Int.random(in: 0..<7, using: &generator) {
    case 0 where place < bytes.count:
      bytes[place] ^= 1 << UInt8.random(in: 0..<8, using: &generator)
    case 1 where place < bytes.count: bytes[place] = pick(Self.telling)
    case 2: bytes.insert(contentsOf: noise(8), at: place)
    case 3: bytes.removeSubrange(place..<end)
    case 4: bytes.insert(contentsOf: bytes[place..<end], at: place)
    case 5:
      let other = pick(inputs)
      bytes = bytes[..<place] + other.suffix(Int.random(in: 0...other.count, using: &generator))
    default:
      // A length or number that is too small, too large, or the largest.
      let value = pick([0, 1, 2, 0xFF, 0xFFFF, 0x1_0000, 0x7FFF_FFFF, .max] as [UInt32])
      for index in place..<min(bytes.count, place + 4) {
        bytes[index] = UInt8(truncatingIfNeeded: value >> UInt32(8 * (index - place)))
      }
    }
  }
}
