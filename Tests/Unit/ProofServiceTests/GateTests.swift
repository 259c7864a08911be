// SPDX-License-Identifier: Apache-2.0

import HTTPServing
import ProofJOSE
import ProofModel
import Testing

@testable import ProofService

@Suite struct GateTests {
  @Test func `an app that passes is admitted, and its gate reads what the service judged`() throws {
    let world = try GateBench(policy: [.deviceRate: "0", .rejection: "none"])
    let bench = world.bench
    try bench.management.add(API("b.example.com", .proof, gate: GateBench.name))
    try bench.management.addEvents(EventRange(3300...3400, at: GateBench.name, for: "shop"))
    bench.clock.advance(by: 100)
    let firstSeen = world.now
    _ = try bench.attest(bench.app)
    bench.clock.advance(by: 50)
    let admitted = try world.admit(
      bench.app,
      properties: [
        .init("finding.3.4.memfd", "x"), .init("finding.1.2", "y"), .init("finding.3.4", "z"),
        .init("finding.9.1", "no class"), .init("finding.1.0", "no number"),
      ])
    let admission = admitted.admission
    #expect(admitted.answer.outcome == .done && admitted.answer.token.isEmpty)
    #expect(admission.generation == 1 && admission.life == 3_600 && admission.freshness == 0)
    #expect(admission.hosts == ["b.example.com", GateBench.host])
    #expect(admission.events(of: 3350)?.life == 60 && admission.events(of: 3401) == nil)

    let grant = try world.gate().open(admission.token.bytes, at: world.now)
    #expect(grant.gate == admission.gate && grant.instance.bytes == bench.app.device.bytes)
    #expect(!grant.isFailed && !grant.isForced && grant.mode == .production)
    #expect(grant.issued == world.now && grant.notAfter == world.now + 3_600)
    #expect(grant.firstSeen == firstSeen)
    #expect(grant.responseCode == admitted.answer.responseCode)
    // The environment's findings are properties as well: injected code, as the operator's rules know it.
    #expect(grant.properties == Properties([.injected]).rawValue)
    #expect(grant.findings == [GateFinding(category: 1, number: 2), .init(category: 3, number: 4)])
    #expect(grant.app == Array(bench.app.digest.bytes.prefix(16)))
    // App and gate have the same secret, and so the same keys.
    #expect(grant.secret.generation == 1)
    #expect(grant.secret.keys.handle == admitted.secret.keys.handle)
    let mine = admitted.secret.keys.withRequestKey { SecretBytes(copying: $0) }
    let theirs = grant.secret.keys.withRequestKey { SecretBytes(copying: $0) }
    let isSame = mine.matches(theirs)
    #expect(isSame)
    let audience = try #require(admission.events(of: 3300)).audience
    let events = [admitted.secret, grant.secret].map { $0.eventKeys(for: audience).handle }
    #expect(events[0] == events[1])
    // The account key is the one that the gate has.
    let keys = try world.objects(try world.configuration()["aks"])
    let bytes = try #require(Base64.decode(keys[0].text("key") ?? "", .url))
    let known = try GateAccountKey(SecretBytes(copying: bytes.span), number: 1)
    #expect(try known.digest(of: "ann") == admission.accountKey?.digest(of: "ann"))
    #expect(admission.accountKey?.number == 1)
  }

  /// Rule: a failing app cannot tell from any answer that it failed. The same app, the same moment, before and after
  /// an operator's decision: only random bytes and the gate's sealed token differ.
  @Test func `an app that fails gets an admission that looks like every other`() throws {
    let world = try GateBench(policy: [.deviceRate: "0", .responseCodes: "off"])
    let bench = world.bench
    try bench.management.addEvents(EventRange(1...9, at: GateBench.name, for: "shop"))
    var seen: [[UInt8]] = []
    var flags: [Bool] = []
    for decision in [nil, .fail, .pass] as [DeviceRule.Decision?] {
      try bench.management.set(decision, for: bench.app.device)
      let admitted = try world.admit(bench.app)
      let grant = try world.gate().open(admitted.admission.token.bytes, at: world.now)
      flags.append(grant.isFailed)
      #expect(grant.isForced == (decision != nil))
      // The gate's rule for failed apps can apply: their proofs verify.
      #expect(grant.secret.keys.handle == admitted.secret.keys.handle)
      var bytes = admitted.answer.bytes(with: bench.app.key)
      // The salt, the generation, the sealed part and the tag are other ones each time, for every app.
      let admission = bytes.count - 32 - admitted.admission.bytes.count
      for range in [4..<20, admission + 17..<admission + 21, admission + 33..<admission + 313] {
        bytes.replaceSubrange(range, with: [UInt8](repeating: 0, count: range.count))
      }
      seen.append(Array(bytes.dropLast(32)))
    }
    #expect(flags == [false, true, false])
    #expect(seen[0] == seen[1] && seen[1] == seen[2])
  }

  @Test func `an app whose evidence fails is told apart by its gate alone`() throws {
    let world = try GateBench()
    var failing = world.bench.app
    failing.evidence[TestApp.Name(.app, 2, "executable")] = Digest(hashing: Array("other".utf8))
    let good = try world.admit(world.bench.app)
    let bad = try world.admit(failing)
    #expect(good.answer.outcome == bad.answer.outcome)
    #expect(good.admission.bytes.count == bad.admission.bytes.count)
    #expect(bad.answer.rejectionReasons.isEmpty)
    let grant = try world.gate().open(bad.admission.token.bytes, at: world.now)
    #expect(grant.isFailed && !grant.isForced)
    #expect(grant.properties & 1 << UInt32(Property.appNotRegistered.rawValue) != 0)
    #expect(world.bench.service.metrics[.admissions] == 1)
    #expect(world.bench.service.metrics[.admissionsFailed] == 1)
  }

  /// Rule: renewing what opens a gate never touches what opens a lock.
  @Test func `a hundred renewals leave the generation that opens locks where it was`() throws {
    let world = try GateBench()
    let bench = world.bench
    _ = try bench.attest(bench.app, .measurement, name: Bench.lockAPI)
    let device = bench.app.device
    #expect(try bench.store.device(device)?.generation == 1)
    for renewal in 1...100 as ClosedRange<UInt32> {
      #expect(try world.admit(bench.app).admission.generation == renewal)
    }
    #expect(try bench.store.device(device)?.generation == 1)
    let challenge = try bench.challenge(bench.app, .measurement)
    #expect(challenge.draft.generation == 2, "the lock's line goes on where it was")
    // A measurement for locks leaves the gate's line as it was, and so does another gate.
    _ = try bench.attest(bench.app, .measurement, name: Bench.lockAPI)
    #expect(try world.admit(bench.app).admission.generation == 101)
    let other = [UInt8](repeating: 0x51, count: 32)
    try bench.management.addGate("other", publicKey: GateBench.publicKey(of: other))
    try bench.management.add(API("other.example.com", .proof, gate: "other"))
    #expect(try world.admit(bench.app, host: "other.example.com").admission.generation == 1)
  }

  @Test func `two reports under one generation give one admission`() throws {
    let world = try GateBench()
    let bench = world.bench
    let challenges = try (0..<2).map { _ in
      try bench.challenge(bench.app, .gate, host: GateBench.host)
    }
    #expect(challenges[0].draft.generation == challenges[1].draft.generation)
    let subject = AttestationReport.Subject(.gate, name: GateBench.host)
    let outcomes = try challenges.map { challenge in
      try bench.send(
        bench.app.report(subject, answering: challenge), challenge.draft.salt, bench.app
      ).outcome
    }
    #expect(outcomes == [.done, .askAgain])
  }

  @Test func `only an API behind a gate admits, and it gives no tokens`() throws {
    let world = try GateBench()
    let bench = world.bench
    for (host, outcome) in [
      (Bench.api, AttestationAnswer.Outcome.noGate), (Bench.lockAPI, .noGate),
      (Bench.plain, .noGate), ("unknown.example.com", .unknownDomain), ("", .unknownDomain),
    ] {
      let answer = try bench.attest(bench.app, .gate, name: host)
      #expect(answer.outcome == outcome && answer.admission == nil, "\(host)")
    }
    for purpose in [AttestationPurpose.token, .measurement] {
      let answer = try bench.attest(bench.app, purpose, name: GateBench.host)
      #expect(answer.outcome == .unprotectedDomain && answer.token.isEmpty)
    }
    #expect(bench.service.metrics[.admissionsRefused] == 5)
    // Asked for one gate, reported for another: the generation is of another line.
    let other = [UInt8](repeating: 0x51, count: 32)
    try bench.management.addGate("other", publicKey: GateBench.publicKey(of: other))
    try bench.management.add(API("other.example.com", .proof, gate: "other"))
    let challenge = try bench.challenge(bench.app, .gate, host: "other.example.com")
    let report = try bench.app.report(
      AttestationReport.Subject(.gate, name: GateBench.host), answering: challenge)
    #expect(try bench.send(report, challenge.draft.salt, bench.app).outcome == .askAgain)
    let id = try bench.management.gate("other").id
    #expect(try bench.store.generation(of: bench.app.device, at: id) == nil)
  }

  @Test func `another gate, another key and another issuer do not open a token`() throws {
    let world = try GateBench()
    let token = try world.admit(world.bench.app).admission.token
    let gate = try world.gate()
    _ = try gate.open(token.bytes, at: world.now)
    let bad = [UInt8](repeating: 0x51, count: 32)
    try world.bench.management.addGate("other", publicKey: GateBench.publicKey(of: bad))
    let issuers = [IssuerKey.random().publicKey]
    let others: [(GateIdentity, GateRefusal)] = [
      (try identity(of: gate.id, bad, issuers), .tokenSeal),
      (try identity(of: gate.id, world.secretKey, issuers), .tokenIssuer),
      (try identity(of: world.bench.management.gate("other").id, bad, issuers), .tokenGate),
    ]
    for (other, refusal) in others {
      #expect(throws: refusal) { try other.open(token.bytes, at: world.now) }
    }
    #expect(throws: GateRefusal.tokenExpired) {
      try gate.open(token.bytes, at: world.now + 3_601)
    }
  }

  private func identity(
    of id: GateID, _ secret: [UInt8], _ issuers: [IssuerPublicKey]
  ) throws -> GateIdentity {
    try GateIdentity(
      id: id, keys: [.init(SecretBytes(copying: secret.span), number: 1)], issuers: issuers,
      mode: .production)
  }

  /// The issuers of gates are apart from those of locks: no verb signs a lock's token with one, and a lock takes
  /// neither what it signed nor its form.
  @Test func `a lock refuses a gate's token, also one that trusts the gate's issuer`() throws {
    let world = try GateBench()
    let token = try world.admit(world.bench.app).admission.token
    #expect(throws: ProofError.malformed("measurement token", byteCount: 288)) {
      try MeasurementToken(token.bytes)
    }
    // With the lock's own magic in the place of the gate's, at a lock with the same id, key and issuer.
    let issuer = try #require(try world.objects(try world.configuration()["iss"]).first)
    let publicKey = try IssuerPublicKey(Base64.decode(issuer.text("key") ?? "", .url) ?? [])
    let lock = try HardwareKeys(
      id: HardwareID(world.bench.management.gate(GateBench.name).id.bytes),
      secretKey: SecretBytes(copying: world.secretKey.span), mode: .production,
      issuers: [publicKey])
    var forged = token.bytes
    forged.replaceSubrange(0..<2, with: Array("PT".utf8))
    forged.replaceSubrange(4..<8, with: lock.identity.id.bytes[0..<4])
    let relabelled = try MeasurementToken(forged)
    #expect(throws: ProofError.notSigned("measurement token")) { try lock.open(relabelled) }
  }

  @Test func `the log names the handle and never the device`() throws {
    let events = HandLog()
    let world = try GateBench()
    let service = AttestationService(
      account: world.bench.account, clock: world.bench.clock.clock, log: { events.add($0) })
    func send(_ path: String, _ body: [UInt8]) -> HTTPResponse {
      service.respond(
        to: HTTPRequest(method: "POST", path: path, body: body, peer: "192.0.2.7"))
    }
    let app = world.bench.app
    var handles: [String] = []
    for round in 0..<3 {
      let question = app.question(.gate, host: GateBench.host)
      let challenge = try AttestationChallenge(send("/v1/challenge", question.bytes).body)
      let subject = AttestationReport.Subject(.gate, name: GateBench.host)
      var (report, measurement) = try app.measured(subject, answering: challenge)
      if round == 2 { report[report.count - 1] ^= 1 }
      _ = send("/v1/report", report)
      handles.append(
        try GateSecret(
          of: measurement, for: world.bench.management.gate(GateBench.name).id,
          instance: InstanceID(app.device.bytes), generation: challenge.draft.generation,
          with: app.key
        ).keys.handle.description)
    }
    let lines = events.all.filter { $0.name == "report" }.map { event in
      event.details.map { "\($0.name)=\($0.value)" }.joined(separator: " ")
    }
    #expect(lines.count == 3)
    for line in lines { #expect(!line.contains(app.device.description)) }
    #expect(lines[0].contains("handle=\(handles[0])") && lines[1].contains("handle=\(handles[1])"))
    #expect(lines[2].contains("unbelievable") && lines[2].contains("handle=none"))
    #expect(handles[0] != handles[1])
    // The operator finds the device of the newest handle.
    let summary = try #require(try world.bench.management.devices().first)
    #expect("\(summary.shown["handles"] ?? .null)".contains(handles[1]))
  }
}
