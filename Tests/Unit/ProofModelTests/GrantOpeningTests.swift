// SPDX-License-Identifier: Apache-2.0

import ProofModel
import Testing

/// Tokens, orders and delegations, opened: each field by itself.
@Suite("Documents that hardware opens")
struct GrantOpeningTests {
  private let world: World

  init() throws { world = try World() }

  private struct Parts {
    var deviceClasses: CommandClasses = []
    var delegableClasses: CommandClasses = []
    var generation: UInt32 = 5
    var notAfter: UnixTime?
    var version = TokenVersion.two
    var base: UInt32?
    var isUpcoming = false
    var ratchet: RatchetPolicy?
    var demandsSealing = false
    var permitsChannel = false
  }

  private func grant(_ parts: Parts) throws -> MeasurementGrant {
    try MeasurementGrant(
      for: world.hardware.identity.id, instance: world.instance, mode: .production,
      integrityClasses: CommandClasses(rawValue: 0x0107), deviceClasses: parts.deviceClasses,
      attempts: 258, uses: .limited(0x0403_0201), generation: parts.generation, issued: 1,
      notAfter: parts.notAfter, secrets: world.secrets, version: parts.version, base: parts.base,
      isUpcoming: parts.isUpcoming, ratchet: parts.ratchet, demandsSealing: parts.demandsSealing,
      permitsChannel: parts.permitsChannel, delegableClasses: parts.delegableClasses)
  }

  @Test("a token of each version gives back each field of its grant, set by itself")
  func tokens() throws {
    let changes: [(inout Parts) -> Void] = [
      { _ in }, { $0.version = .one }, { ($0.version, $0.notAfter) = (.one, 1) },
      { $0.deviceClasses = CommandClasses(rawValue: 0x0101) },
      { $0.delegableClasses = CommandClasses(rawValue: 0x0102) }, { $0.notAfter = 1 },
      { $0.notAfter = 2 }, { $0.base = 1 }, { $0.base = 2 }, { $0.base = 5 },
      { ($0.generation, $0.base) = (1, 1) }, { ($0.generation, $0.version) = (1, .one) },
      { $0.isUpcoming = true }, { $0.ratchet = .report }, { $0.ratchet = .refuse },
      { $0.demandsSealing = true }, { $0.permitsChannel = true },
    ]
    for (index, change) in changes.enumerated() {
      var parts = Parts()
      change(&parts)
      let opened = try world.hardware.open(world.token(grant(parts)))
      #expect(opened.integrityClasses.rawValue == 0x0107 && opened.attempts == 258, "\(index)")
      #expect(opened.deviceClasses == parts.deviceClasses, "\(index)")
      #expect(opened.delegableClasses == parts.delegableClasses, "\(index)")
      #expect(opened.uses == .limited(0x0403_0201) && opened.issued == 1)
      #expect(opened.generation == parts.generation && opened.notAfter == parts.notAfter)
      #expect(opened.version == parts.version, "\(index)")
      #expect(opened.base == parts.base ?? parts.generation, "\(index)")
      #expect(opened.isUpcoming == parts.isUpcoming && opened.ratchet == parts.ratchet, "\(index)")
      #expect(opened.demandsSealing == parts.demandsSealing, "\(index)")
      #expect(opened.permitsChannel == parts.permitsChannel, "\(index)")
      #expect(opened.instance == world.instance && opened.issuer == world.issuer.id)
    }
  }

  @Test("a factory secret seals tokens of version two in the diversified form, for its hardware")
  func factories() throws {
    let id = world.hardware.identity.id
    let own = try FactorySecret(of: id, drawn: secret(1, 32))
    let literal = world.measurement.secrets(for: id, with: world.key, form: .literal)
    func seal(
      _ version: TokenVersion, _ secrets: HardwareSecrets? = nil, with factory: FactorySecret
    ) throws -> MeasurementToken {
      try MeasurementGrant(
        for: id, instance: world.instance, mode: .production, integrityClasses: World.classes,
        attempts: 1, uses: .limited(1), generation: 1, issued: 1,
        secrets: secrets ?? world.secrets, version: version
      ).sealed(to: world.hardware.identity, with: factory, signedBy: world.issuer)
    }
    #expect(try seal(.two, with: own).bytes[2...3] == [2, 2])
    #expect(throws: ProofError.wrongMode("measurement grant")) { try seal(.one, with: own) }
    #expect(throws: ProofError.wrongMode("measurement grant")) {
      try seal(.two, literal, with: own)
    }
    #expect(throws: ProofError.notForThisHardware("factory secret")) {
      try seal(.two, with: FactorySecret(of: .random(), drawn: secret(1, 32)))
    }
  }

  @Test("a grant's classes are told in hexadecimal")
  func classes() throws {
    for (delegable, device, field) in [
      (0x0108, 0, "set of classes to delegate"), (0, 0x0108, "set of classes for a device match"),
    ] as [(UInt16, UInt16, String)] {
      var parts = Parts()
      parts.delegableClasses = CommandClasses(rawValue: delegable)
      parts.deviceClasses = CommandClasses(rawValue: device)
      #expect(
        throws: ProofError.outOfRange(field: field, value: "0x108", allowed: "a subset of 0x107")
      ) { try grant(parts) }
    }
    var parts = Parts()
    (parts.version, parts.delegableClasses) = (.one, CommandClasses(rawValue: 0x0102))
    #expect(
      throws: ProofError.outOfRange(
        field: "set of classes to delegate", value: "0x102", allowed: "none in version one")
    ) { try grant(parts) }
  }

  @Test("a token's and a delegation's answer has counter 0, and another one is to another message")
  func counters() throws {
    let token = try world.token(grant(Parts()))
    let loan = try Delegation.Loan(
      of: CommandClasses(rawValue: 1), to: TokenDigest([UInt8](repeating: 3, count: 16)), uses: 1,
      until: 9, serial: 1)
    let lender = try Delegation.Lender(
      world.instance, at: world.hardware.identity.id, generation: 1, token: token.digest)
    let delegation = Delegation(loan, from: lender, with: world.secrets)
    let readers: [(ProofNonce, (Answer) throws -> Receipt)] = [
      (try ProofNonce(token.digest.bytes), { try token.receipt(of: $0, with: world.secrets) }),
      (delegation.nonce, { try delegation.receipt(of: $0, with: world.secrets) }),
    ]
    for (nonce, receipt) in readers {
      let answer = Answer(.held, detail: 4, counter: 0, to: nonce, with: world.secrets)
      let read = try receipt(answer)
      #expect(read.verdict == .held && read.detail == 4 && read.counter == 0)
      #expect(read.nonce == nonce)
      for counter in [1, UInt64.max] {
        let other = Answer(.held, detail: 4, counter: counter, to: nonce, with: world.secrets)
        #expect(throws: ProofError.answerToAnother(expected: 0, actual: counter)) {
          try receipt(other)
        }
      }
    }
  }

  @Test("a delegation hints at its hardware by the first four bytes of the id")
  func hints() throws {
    let id = world.hardware.identity.id
    let digest = try TokenDigest([UInt8](repeating: 3, count: 16))
    let lender = try Delegation.Lender(world.instance, at: id, generation: 1, token: digest)
    let made = Delegation(
      try .init(takingBackFrom: digest, serial: 1), from: lender, with: world.secrets)
    for delegation in [made, try Delegation(made.bytes), try Delegation(text: made.text)] {
      for index in id.bytes.indices {
        let other = try HardwareID(flipped(id.bytes, bit: 8 * index))
        #expect(delegation.hints(at: other) == (index > 3), "\(index)")
        guard index < 4 else { continue }
        #expect(throws: ProofError.notForThisHardware("delegation")) {
          try delegation.check(with: world.secrets, at: other, token: digest)
        }
      }
      try delegation.check(with: world.secrets, at: id, token: digest)
    }
  }

  /// docs/SPEC.md, section 12, the payload of the first record.
  @Test("hardware begins with the counter, the time and the floor that provision it")
  func provisioned() throws {
    let keys = try HardwareKeys(
      id: .random(), secretKey: secret(3, 32), mode: .production,
      issuers: [world.issuer.publicKey])
    let platform = BenchPlatform()
    let records = try CoreRecords(on: platform, secretKey: secret(3, 32))
    try Verifier.provision(
      keys, on: platform, epoch: 1_800_000_000, floor: 1_700_000_000, counter: 4_096)
    let payload = copy(try records.load(0, byteCount: 24).payload)
    #expect(
      payload == little(UInt64(4_096)) + little(UInt64(1_800_000_000))
        + little(UInt64(1_700_000_000)))
    #expect(try Verifier(keys, on: platform).epoch == 1_800_000_000)
    let other = BenchPlatform()
    try Verifier.provision(keys, on: other)
    let fresh = copy(
      try CoreRecords(on: other, secretKey: secret(3, 32)).load(0, byteCount: 24).payload)
    #expect(fresh.dropFirst(8).allSatisfy { $0 == 0 })
    #expect(try Verifier(keys, on: other).epoch == nil)
  }
}
