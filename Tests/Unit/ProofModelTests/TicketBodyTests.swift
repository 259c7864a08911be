// SPDX-License-Identifier: Apache-2.0

import Testing

@testable import ProofModel

@Suite("A grant in a ticket")
struct TicketBodyTests {
  private static func grant(_ gate: GateID, _ mode: Mode = .production) throws -> GateGrant {
    GateGrant(
      for: gate, instance: .random(), mode: mode, issued: 1_900_000_001,
      notAfter: 1_900_003_602, firstSeen: 1_800_000_003,
      secret: try .random(generation: 0x0706_0504))
  }

  private static func bytes(of grant: GateGrant) -> [UInt8] { copy(grant.ticketBody) }

  private static func read(_ bytes: [UInt8], for gate: GateID) -> GateGrant? {
    GateGrant(ticketBody: SecretBytes(copying: bytes.span), for: gate)
  }

  @Test("has each flag and each optional fact by itself")
  func singleFacts() throws {
    let issuer = IssuerKey.random().publicKey.id
    let changes: [(inout GateGrant) -> Void] = [
      { _ in }, { $0.isFailed = true }, { $0.isForced = true }, { $0.properties = 0x0403_0201 },
      { $0.responseCode = "ABCDEFGHIJ" }, { $0.app = [1] + [UInt8](repeating: 0, count: 15) },
      { $0.app = [UInt8](repeating: 0, count: 15) + [1] }, { $0.issuer = issuer },
      { $0.findings = [GateFinding(category: 2, number: 9)] },
      { $0.findings = (1...16).map { GateFinding(category: $0, number: 17 - $0) } },
    ]
    for (change, mode) in changes.flatMap({ [($0, Mode.production), ($0, .development)] }) {
      let gate = GateID.random()
      var grant = try Self.grant(gate, mode)
      change(&grant)
      let bytes = Self.bytes(of: grant)
      #expect(bytes.count == 148)
      let read = try #require(Self.read(bytes, for: gate))
      #expect(read.isFailed == grant.isFailed && read.isForced == grant.isForced)
      #expect(read.properties == grant.properties && read.responseCode == grant.responseCode)
      #expect(read.app == grant.app && read.findings == grant.findings)
      #expect((read.issuer ?? issuer) == (grant.issuer ?? read.issuer ?? issuer))
      #expect(read.mode == mode && read.gate == gate && read.instance == grant.instance)
      #expect(read.issued == 1_900_000_001 && read.notAfter == 1_900_003_602)
      #expect(read.firstSeen == 1_800_000_003 && read.secret.generation == 0x0706_0504)
      #expect(read.secret.keys.handle == grant.secret.keys.handle)
    }
  }

  /// Written by hand from docs/SPEC.md, section 16.
  @Test("has the bytes of its table")
  func layout() throws {
    var grant = try Self.grant(try GateID([UInt8](repeating: 9, count: 16)))
    grant.isForced = true
    grant.properties = 0x0403_0201
    grant.responseCode = "ABCDEFGHIJ"
    grant.app = [UInt8](1...16)
    grant.findings = [GateFinding(category: 2, number: 9)]
    let bytes = Self.bytes(of: grant)
    var expected = grant.instance.bytes + [UInt8](1...16) + [2, 9]
    expected += [UInt8](repeating: 0, count: 30) + Array("ABCDEFGHIJ".utf8)
    expected += [2, Mode.production.rawValue, 4, 5, 6, 7, 1, 2, 3, 4]
    for seconds in [1_900_000_001, 1_900_003_602, 1_800_000_003] as [UInt64] {
      expected += (0..<8).map { UInt8(truncatingIfNeeded: seconds >> ($0 * 8)) }
    }
    expected += [UInt8](repeating: 0, count: 8)
    #expect(Array(bytes.suffix(expected.count)) == expected)
    #expect(expected.count == 148 - GateSecret.byteCount)
  }

  @Test("of another size, or with a mode or generation that does not exist, is none")
  func malformed() throws {
    let gate = GateID.random()
    let bytes = Self.bytes(of: try Self.grant(gate))
    #expect(Self.read(bytes, for: gate) != nil)
    for count in [1, 147] { #expect(Self.read(Array(bytes.prefix(count)), for: gate) == nil) }
    #expect(Self.read(bytes + [0], for: gate) == nil)
    let facts = GateSecret.byteCount
    for (place, values) in [
      (facts + 75, [0xEE]), (facts + 76, [0, 0, 0, 0]), (facts + 76, [255, 255, 255, 255]),
    ] as [(Int, [UInt8])] {
      var changed = bytes
      changed.replaceSubrange(place..<place + values.count, with: values)
      #expect(Self.read(changed, for: gate) == nil)
    }
  }
}
