// SPDX-License-Identifier: Apache-2.0

import Testing

@testable import ProofModel

@Suite("Collection modes on the wire")
struct CollectionModeTests {
  private func question(
    _ mode: CollectionMode, hasKey: Bool = false
  ) throws -> AttestationQuestion {
    AttestationQuestion(
      keyID: try KeyID([2, 1, 1, 1, 1, 1, 1, 1]),
      device: try InstanceID([UInt8](repeating: 7, count: 16)),
      purpose: .gate, configSerial: 5, account: "door", sdkVersion: "1", host: "api.example.com",
      hasKey: hasKey, withholding: mode)
  }

  @Test("a question says what is withheld in version 3, and is unchanged where nothing is")
  func questions() throws {
    #expect(try question([]).bytes[2] == 1 && question([], hasKey: true).bytes[2] == 2)
    for hasKey in [false, true] {
      let plain = try question([], hasKey: hasKey).bytes
      for raw in 1...7 as ClosedRange<UInt8> {
        let asked = try question(CollectionMode(rawValue: raw), hasKey: hasKey)
        #expect(try AttestationQuestion(asked.bytes) == asked)
        // The fields of the earlier versions, then mode and flag, then those about the key.
        let tail = hasKey ? 1 : 0
        let expected =
          [0x50, 0x41, 3] + plain[3..<plain.count - tail] + [raw, hasKey ? 1 : 0]
          + plain.suffix(tail)
        #expect(asked.bytes == expected)
      }
    }
  }

  @Test("a mode of nothing, an unknown bit, a flag that is none, and a missing byte are refused")
  func malformed() throws {
    let good = try question(.withoutExtras).bytes
    for raw in [0, 8, 0x84] as [UInt8] {
      var bytes = good
      bytes[bytes.count - 2] = raw
      #expect(throws: ProofError.self) { _ = try AttestationQuestion(bytes) }
    }
    var flag = good
    flag[flag.count - 1] = 2
    #expect(throws: ProofError.self) { _ = try AttestationQuestion(flag) }
    #expect(throws: ProofError.self) { _ = try AttestationQuestion(good.dropLast()) }
    #expect(throws: ProofError.self) { _ = try AttestationQuestion(good + [0]) }
    // A challenge has no version 3.
    var other = good
    other[3] = 2
    #expect(throws: ProofError.tooNew("attestation challenge")) {
      _ = try AttestationChallenge(other)
    }
  }

  @Test("basic facts and unique identifiers name their sources; nothing else is ever withheld")
  func sources() throws {
    func withheld(_ mode: CollectionMode) throws -> [String] {
      var found: [String] = []
      for evidenceClass in [EvidenceClass.device, .app, .environment] {
        for number in 1...20 as ClosedRange<UInt8> {
          let source = try SourceID(evidenceClass, number)
          if mode.withholds(source) { found.append("\(evidenceClass.rawValue)/\(number)") }
        }
      }
      return found
    }
    #expect(try withheld([]) == [] && withheld(.withoutExtras) == [])
    #expect(try withheld(.withoutBasicFacts) == ["1/2", "3/8", "3/9"])
    #expect(try withheld(.withoutUniqueIdentifiers) == ["1/1", "1/3", "1/4"])
    #expect(try withheld(.notGranted) == ["1/1", "1/2", "1/3", "1/4", "3/8", "3/9"])
    #expect(CollectionMode.notGranted.text == "basic,unique,extra")
  }
}
