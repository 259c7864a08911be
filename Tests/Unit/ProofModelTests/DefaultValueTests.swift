// SPDX-License-Identifier: Apache-2.0

import Testing

@testable import ProofModel

/// The values that a caller leaves out, with the numbers written out.
@Suite("Values that a caller leaves out")
struct DefaultValueTests {
  private let world: World
  private let nonce = try! ProofNonce([UInt8](repeating: 5, count: 16))

  init() throws { world = try World() }

  @Test("a gate's grant, a draft and rules have none of their facts")
  func gates() throws {
    let grant = GateGrant(
      for: .random(), instance: .random(), mode: .production, issued: 3, notAfter: 4,
      firstSeen: 2, secret: try .random(generation: 1))
    #expect(grant.properties == 0 && !grant.isFailed && !grant.isForced && grant.findings == [])
    #expect(grant.app == nil && grant.responseCode == nil)
    #expect(grant.issuer == nil && grant.keyNumber == nil)
    #expect(grant.issued == 3 && grant.notAfter == 4 && grant.firstSeen == 2)
    let draft = CompactDraft(created: 5, start: 6, count: 7, measured: 8)
    #expect(draft.created == 5 && draft.start == 6 && draft.count == 7 && draft.measured == 8)
    #expect(draft.event == 0 && draft.accountKey == 0 && draft.beacon == nil)
    #expect(!draft.isYoung && !draft.isInErrorState)
    let rules = CompactToken.Rules(now: 5)
    #expect(rules.now == 5 && rules.window == 60 && rules.newest == 0 && rules.event == 0)
    #expect(rules.measuredMax == 255 && rules.beacons == nil)
    let token = try GateToken(
      Array("PG".utf8) + [1, 1, 1, 1, 2, 3] + [UInt8](repeating: 7, count: 280))
    let admission = try GateAdmission(
      gate: GateID([UInt8](1...16)), generation: 4, life: 9, token: token, accountKey: nil,
      hosts: ["a"])
    #expect(admission.form == .standard && admission.freshness == 0 && admission.events == [])
    #expect(admission.headers == .init(proof: "proof", token: "proof-token", digest: nil))
    #expect(admission.generation == 4 && admission.life == 9)
  }

  @Test("a baseline, a source, an answer and a grant have their least")
  func others() throws {
    let draft = try BaselineDraft(salt: .random(), sources: World.sources())
    #expect(draft.policy == .full && draft.generation == 1 && draft.limitLog2 == 33)
    let source = try Source(SourceID(.app, 1))
    #expect(source.version == 1 && source.groupsLog2 == 0 && source.groupCount == 1)
    let answer = Answer(.held, to: nonce, with: world.secrets)
    #expect(answer.detail == 0 && answer.counter == 0 && !answer.isHint)
    let ratchet = Ratchet(.report, of: try TokenDigest([UInt8](repeating: 1, count: 16)))
    #expect(ratchet.lastAccepted == 0 && ratchet.value == nil && ratchet.after == nil)
    let told = AttestationAnswer(to: world.draft.salt, .done)
    #expect(told.configSerial == 0 && told.forcedPinsSerial == 0 && told.tokenLifetime == 0)
    #expect(told.token.isEmpty && told.responseCode.isEmpty && told.rejectionReasons.isEmpty)
    #expect(told.secureString == nil && told.messageKey == nil && told.admission == nil)
    let grant = try world.grant(generation: 6)
    #expect(grant.version == .one && grant.base == 6 && grant.notAfter == nil)
    #expect(grant.ratchet == nil && grant.delegableClasses == [] && !grant.isUpcoming)
    #expect(!grant.demandsSealing && !grant.permitsChannel && grant.secrets.form == .diversified)
    #expect(Delegation.Loan.usesMax == 65_534)
  }

  @Test("hardware is provisioned with counter, time and floor 0, and its challenges never end")
  func hardware() throws {
    let keys = try HardwareKeys(
      id: .random(), secretKey: secret(3, 32), mode: .production,
      issuers: [world.issuer.publicKey])
    let platform = BenchPlatform()
    try Verifier.provision(keys, on: platform)
    let records = try CoreRecords(on: platform, secretKey: secret(3, 32))
    #expect(copy(try records.load(0, byteCount: 24).payload) == [UInt8](repeating: 0, count: 24))
    let secrets = world.measurement.secrets(for: keys.identity.id, with: world.key)
    let grant = try MeasurementGrant(
      for: keys.identity.id, instance: world.instance, mode: .production,
      integrityClasses: World.classes, attempts: 1, uses: .limited(9), generation: 1, issued: 1,
      secrets: secrets)
    var link = Link(try Verifier(keys, on: platform))
    let token = try grant.sealed(to: keys.identity, signedBy: world.issuer)
    #expect(try link.present(token).verdict == .held)
    let challenge = try link.challenge()
    platform.set(seconds: 1_000_000)
    let proved = ProvedCommand(
      openDoor, proving: .integrity, from: world.instance, to: keys.identity.id,
      answering: challenge, with: secrets)
    #expect(link.send(proved.message).verdict == .accepted)
  }
}

@Suite("Choices among values")
struct ChoiceTests {
  @Test("a difference is empty if both classes are compared and no group differs")
  func differences() throws {
    let change = Difference.Change(source: try SourceID(.app, 1), group: 0, candidates: [])
    for device in [false, true] {
      for app in [false, true] {
        for changes in [[], [change]] {
          let difference = Difference(
            deviceComparable: device, appComparable: app, changes: changes)
          #expect(difference.isEmpty == (device && app && changes.isEmpty))
          #expect(("\(difference)" == "nothing differs") == difference.isEmpty)
        }
      }
    }
  }

  /// docs/SERVICE.md, sections 2 and 7.
  @Test("an instance id takes source 5 of the device alone, and an app digest app 2 and 3")
  func records() throws {
    func evidence(changing other: Int? = nil) throws -> EvidenceSet {
      let sources: [(EvidenceClass, UInt8)] = [
        (.device, 1), (.device, 2), (.device, 3), (.device, 5), (.device, 6), (.app, 1), (.app, 2),
        (.app, 3), (.app, 4), (.app, 5), (.environment, 2), (.environment, 3), (.environment, 5),
      ]
      return try EvidenceSet(
        sources.enumerated().map { index, source in
          try EvidenceRecord(
            SourceID(source.0, source.1), name: "n",
            digest: Digest(hashing: [UInt8(index), index == other ? 1 : 0]))
        })
    }
    let own = try evidence()
    for index in 0..<13 {
      let other = try evidence(changing: index)
      let isOther = InstanceID(of: other, account: "a") != InstanceID(of: own, account: "a")
      #expect(isOther == (index == 3), "\(index)")
      #expect((AppDigest(of: other) != AppDigest(of: own)) == [6, 7].contains(index), "\(index)")
    }
  }

  @Test("a room of a pool is wiped before another secret gets it")
  func rooms() {
    for use in [SecretPool.Use.requests, .events] {
      let pool = SecretPool(for: use)
      var size = 0
      var seen: [UInt8] = []
      do {
        let room = unsafe pool.slot { _ in }
        size = room.byteCount
      }
      do {
        let room = unsafe pool.slot { memory in
          unsafe memory.initializeMemory(as: UInt8.self, repeating: 0xA5, count: size)
        }
        seen = unsafe room.withPointer {
          unsafe Array(UnsafeRawBufferPointer(start: $0, count: size))
        }
        #expect(seen == [UInt8](repeating: 0xA5, count: size))
      }
      _ = unsafe pool.slot { memory in
        seen = unsafe Array(UnsafeRawBufferPointer(start: memory, count: size))
      }
      #expect(size > 32 && pool.slabCount == 1)
      #expect(seen == [UInt8](repeating: 0, count: size))
    }
  }
}
