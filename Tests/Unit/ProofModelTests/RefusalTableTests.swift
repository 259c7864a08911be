// SPDX-License-Identifier: Apache-2.0

import ProofModel
import Testing

/// Written by hand from docs/reasons.txt.
@Suite("The table of details of refusals")
struct RefusalTableTests {
  private static let rows: [(UInt8, UInt16, RefusalDetail, Mender?)] = [
    (16, 0, .attemptsLeft(0), .online), (16, 9, .attemptsLeft(9), .online),
    (18, 1, .noChallenge, .retry), (18, 2, .otherChallenge, .retry),
    (18, 3, .challengeTimedOut, .retry), (18, 4, .challengeEnded, .retry),
    (18, 5, .sealReplaced, .retry), (18, 6, .noChannel, .retry),
    (19, 1, .classNotPermitted, .operator), (19, 2, .integrityDemanded, .online),
    (19, 3, .sealedDemanded, .developer), (19, 4, .grantSpent, .user),
    (19, 5, .ownerCannot, .user), (19, 9, .notDelegable, .operator), (22, 1, .noMember, .online),
    (34, 1, .daysPast(1), .online), (34, 65_534, .daysPast(65_534), .online),
    (34, 65_535, .ahead, .operator), (35, 1, .belowFloor, .online),
    (35, 2, .olderGeneration, .online), (37, 1, .otherMode, .developer),
    (37, 2, .literalForm, .operator), (37, 3, .suite, .operator), (38, 7, .slots(7), .operator),
    (39, 1, .laterVersion, .operator), (39, 2, .laterSuite, .operator),
    (39, 3, .reservedBit, .operator), (39, 4, .unknownKind, .operator),
    (49, 30, .seconds(30), nil), (50, 1, .notStored, .operator), (50, 2, .notDrawn, .operator),
    (50, 3, .notStarted, .operator),
  ]

  @Test("each number is its detail, with the code and the party of the page")
  func rows() throws {
    for (number, value, detail, mender) in Self.rows {
      let verdict = try #require(Verdict(rawValue: number))
      #expect(RefusalDetail(of: verdict, number: value) == detail)
      #expect(detail.code == "LOCK-\(number).\(value)" && detail.mender == mender)
    }
  }

  @Test("a number that the page does not have is no detail")
  func others() {
    // Details of these verdicts are counts, so that each number is one.
    let counts: Set<UInt8> = [16, 34, 38, 49]
    for verdict in Verdict.allCases where !counts.contains(verdict.rawValue) {
      let known = Set(Self.rows.filter { $0.0 == verdict.rawValue }.map(\.1))
      for number in UInt16(0)...20 where !known.contains(number) {
        #expect(RefusalDetail(of: verdict, number: number) == nil, "\(verdict) \(number)")
      }
    }
  }
}

@Suite("Texts of an attestation at their bounds")
struct AttestationTextTests {
  private static func question(_ account: Int = 4, _ version: Int = 1, _ host: Int = 4) throws
    -> AttestationQuestion
  {
    func text(_ count: Int) -> String { String(repeating: "a", count: count) }
    return AttestationQuestion(
      keyID: try KeyID([UInt8](1...8)), device: try InstanceID([UInt8](1...16)), purpose: .gate,
      configSerial: 1, account: text(account), sdkVersion: text(version), host: text(host))
  }

  @Test("a text of 1,024 bytes is read, and a longer one is malformed")
  func question() throws {
    for question in [
      try Self.question(1_024), try Self.question(4, 1_024), try Self.question(4, 1, 253),
    ] {
      let read = try AttestationQuestion(question.bytes)
      #expect(read == question)
    }
    for question in [try Self.question(1_025), try Self.question(4, 1_025)] {
      let count = question.bytes.count
      #expect(throws: ProofError.malformed("attestation question", byteCount: count)) {
        try AttestationQuestion(question.bytes)
      }
    }
  }
}

@Suite("Texts of keys")
struct KeyTextTests {
  @Test("name the kind, and show nothing of the key")
  func texts() throws {
    let world = try World()
    for kind in ProofKind.allCases {
      let state = ProofKeyState(kind, world.secrets)
      #expect(state.description == "ProofKeyState(secret, \(kind))")
      #expect(Mirror(reflecting: state).children.isEmpty)
    }
  }
}
