// SPDX-License-Identifier: Apache-2.0

import ProofModel
import SeededRandom
import Testing

@testable import ProofKit

@Suite("Files of strings")
struct StringFileFuzzTests {
  @Test("records in another order, twice, or of another size are refused")
  func order() throws {
    let key = try stringKey(1)
    var file = StringFile()
    for name in ["a", "b"] {
      let place = StringFile.Place(key: key.id, name: key.place(of: name))
      try file.set(.init(place: place, sealed: key.seal(secret("1"), named: name)))
    }
    let bytes = file.bytes
    let size = (bytes.count - 40) / 2
    let (one, two) = (Array(bytes[8..<8 + size]), Array(bytes[(8 + size)..<(8 + 2 * size)]))
    func parsed(_ records: [UInt8], count: UInt8 = 2) throws -> StringFile {
      let body = bytes[..<6] + [count, 0] + records
      let label = Array("pfs1.strings....".utf8)
      return try StringFile(parsing: body + Digest(hashing: label + body).bytes)
    }
    #expect(try parsed(one + two) == file)
    for wrong in [two + one, one + one, one, one + two + [0]] {
      #expect(throws: StringFile.Damage.damaged) { try parsed(wrong) }
    }
    #expect(throws: StringFile.Damage.damaged) { try parsed(one + two, count: 1) }
    var short = one
    short[48] = 19
    #expect(throws: StringFile.Damage.damaged) { try parsed(Array(short.prefix(71)), count: 1) }
  }

  @Test("a mutated file is refused, or has one spelling; opening its strings never crashes")
  func mutants() throws {
    let keys = try [stringKey(1), stringKey(2)]
    var file = StringFile()
    for (index, key) in keys.enumerated() {
      for name in ["a", "bc", "\(index)"] {
        try file.set(
          .init(
            place: .init(key: key.id, name: key.place(of: name)),
            sealed: key.seal(secret("value of \(name)"), named: name)))
      }
    }
    let good = file.bytes
    #expect(try StringFile(parsing: good) == file)
    #expect(try StringFile(parsing: StringFile().bytes).records.isEmpty)
    var mutator = Mutator("file of strings")
    for _ in 0..<Mutator.rounds {
      let mutant = mutator.mutant(of: [good, StringFile().bytes])
      let label = Array("pfs1.strings....".utf8)
      // The same under a check that is right.
      let body = mutant.dropLast(32)
      for bytes in [mutant, body + Digest(hashing: label + body).bytes] {
        guard let read = try? StringFile(parsing: bytes) else { continue }
        #expect(read.bytes == bytes)
        for record in read.records {
          for key in keys {
            let name = key.open(record.sealed, at: record.place.name)?.name
            #expect(name == nil || key.place(of: name!) == record.place.name)
          }
        }
      }
    }
  }
}
