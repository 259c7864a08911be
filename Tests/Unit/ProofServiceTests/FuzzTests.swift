// SPDX-License-Identifier: Apache-2.0

import HTTPServing
import ProofBackend
import ProofJOSE
import ProofModel
import SeededRandom
import Testing

@testable import ProofService

/// The parsers of service and backend under inputs that are almost right. The first inputs are what
/// the library writes itself, so they are never out of date. What must hold is said of each; that
/// nothing traps is what the process's life shows.
@Suite struct FuzzTests {
  @Test func `messages: what is taken has one encoding, and is taken again as the same`() throws {
    let bench = try Bench()
    var mutator = Mutator("messages")
    let challenge = try bench.challenge(bench.app)
    let salt = challenge.draft.salt
    var subject = AttestationReport.Subject(.customJWT, name: "", payload: Array("{}".utf8))
    subject.dataHash = Digest(hashing: [1])
    subject.properties = [.init("os", "Debian"), .init("finding.3.4", "é")]
    let answers = [
      AttestationAnswer(to: salt, .done, tokenLifetime: 300, token: "a.b.c", responseCode: "ARC"),
      AttestationAnswer(to: salt, .rejected, rejectionReasons: "debug,root", secureString: "s"),
    ].map { $0.bytes(with: bench.app.key) }
    let point = try InstallationPoint([UInt8](repeating: 9, count: 64))
    let claim = InstallationClaim(
      point, in: .tpm, secret: try CredentialSecret([UInt8](repeating: 8, count: 32)))
    let credential = KeyCredential(
      object: [UInt8](repeating: 7, count: 68), seed: [UInt8](repeating: 6, count: 256))
    let signed = try bench.app.report(
      subject, answering: challenge,
      signedBy: (claim, { _ in try? InstallationSignature([UInt8](repeating: 5, count: 64)) }))
    let inputs =
      try [
        bench.app.question().bytes, bench.app.question(.measurement).bytes, challenge.bytes,
        bench.app.report(subject, answering: challenge), signed,
        bench.app.question(hasKey: true).bytes, bench.app.question(.gate, host: Bench.api).bytes,
        bench.app.question(
          endorsement: Endorsement(point, certificate: [UInt8](repeating: 4, count: 900))
        ).bytes,
      ]
      + [KeyDemand.nothing, .evidence, .credential(credential)].map {
        AttestationChallenge(challenge.draft, lifetime: 60, configSerial: 1, key: $0).bytes
      } + answers
    var swapped = challenge.bytes
    swapped.swapAt(38, 42)
    #expect(throws: ProofError.self, "sources in another order") {
      try AttestationChallenge(swapped)
    }
    var taken = 0
    for _ in 0..<4 * Mutator.rounds {
      let bytes = mutator.mutant(of: inputs)
      if let question = try? AttestationQuestion(bytes) {
        #expect(question.bytes == bytes)
        taken += 1
      }
      if let read = try? AttestationChallenge(bytes) {
        #expect(read.bytes == bytes)
        taken += 1
      }
      if let report = try? AttestationReport(bytes) {
        let isOriginal = bytes == inputs[3] || bytes == signed
        let isBelieved =
          (try? report.measurement(under: challenge.draft, with: bench.app.key)) != nil
        #expect(isBelieved == isOriginal, "only the app's own report is believed")
        taken += 1
      }
      let isAnswer = (try? AttestationAnswer(bytes, to: salt, with: bench.app.key)) != nil
      #expect(isAnswer == answers.contains(bytes), "only the service's own answer is taken")
    }
    #expect(taken > 0, "some mutants parse, or nothing was tried")
  }

  @Test func `the service answers every body by a status of its page, and believes none`() throws {
    let bench = try Bench()
    var mutator = Mutator("bodies")
    var statuses: [Int: Int] = [:]
    for round in 0..<Mutator.rounds {
      bench.clock.advance(by: 1)
      let challenge = try bench.challenge(bench.app)
      let report = try bench.app.report(
        AttestationReport.Subject(.token, name: Bench.api), answering: challenge)
      let endorsement = Endorsement(
        try InstallationPoint([UInt8](repeating: 9, count: 64)), certificate: [0x30, 0x82, 0, 0])
      let bodies = [
        report, bench.app.question().bytes, challenge.bytes,
        bench.app.question(endorsement: endorsement).bytes,
      ]
      // The first body is right, and the second is none, so that two statuses come in any case.
      let body =
        round == 0 ? bodies[1] : round == 1 ? [] : mutator.mutant(of: bodies)
      let path = round % 4 == 0 ? "/v1/challenge" : "/v1/report"
      let response = bench.post(path, body)
      statuses[response.status, default: 0] += 1
      #expect([200, 400, 404].contains(response.status), "\(path) \(response.status)")
      guard response.status == 200, path == "/v1/report", body != report else { continue }
      let named = try Salt(Array(response.body[4..<20]))
      let answer = try AttestationAnswer(response.body, to: named, with: bench.app.key)
      #expect([.askAgain, .unbelievable].contains(answer.outcome))
      #expect(answer.token.isEmpty && answer.tokenLifetime == 0)
    }
    #expect(statuses.count > 1, "\(statuses)")
  }

  @Test func `management: every argument is taken, or refused with a status and a sentence`() throws
  {
    let bench = try Bench()
    _ = try bench.attest(bench.app)
    var mutator = Mutator("management")
    let digest = String(repeating: "cd", count: 32)
    let arguments = [
      #"{"host":"x.example.com","kind":"token","kid":"k","pins":["\#(Base64.encode(hex(digest)))"]}"#,
      #"{"host":"y.example.com"}"#, "{}", "", #"{"host":"*","pins":[]}"#,
      #"{"digest":"\#(digest)","name":"n","development":true,"expireAfter":60}"#,
      #"{"token-lifetime":"60","rejection":"debug,root","issuer":"us"}"#, #"{"count":3}"#,
      #"{"device":"latest","annotations":"debug"}"#, #"{"confirm":"YES"}"#,
      #"{"url":"https://b.example.com"}"#, #"{"alg":"ES256","kid":"k"}"#, #"{"kid":"k"}"#,
      #"{"token":"e30.e30.AA"}"#, #"{"host":"api.example.com","valid":false,"boundTo":"t"}"#,
      #"{"code":"ABCDEFGHIJ"}"#, #"{"key":"AAECAwQFBgcICQoLDA0ODw==","name":"s"}"#,
      #"{"id":"0101010101010101","name":"s","mode":"development"}"#,
      #"{"id":"\#(digest.prefix(32))","publicKey":"\#(digest)","mode":"production","literal":true}"#,
      #"{"id":"\#(digest.prefix(32))","publicKey":"\#(digest)","features":["token-2"]}"#,
      #"{"id":"\#(digest.prefix(32))","factorySecret":"\#(Base64.encode(hex(digest)))"}"#,
      #"{"id":"\#(digest.prefix(32))","features":["token-2","factory-secret"]}"#,
      #"{"name":"a","value":"b"}"#, #"{"encoding":"base64url"}"#, #"{"printable":true}"#,
      #"{"name":"g","publicKey":"\#(digest)","life":60,"form":"compact","floor":1}"#,
      #"{"name":"g","what":"issuer","step":"next"}"#, #"{"name":"g","device":"latest"}"#,
      #"{"gate":"g","audience":"shop","numbers":"1-9","life":60,"account":true}"#,
      #"{"name":"g"}"#, #"{"numbers":"1-9"}"#, #"{"name":"c","kind":"work","level":16}"#,
      #"{"name":"r","when":"failed","level":"high","reason":"x"}"#,
      #"{"name":"d","kind":"person","life":300,"gate":"g"}"#, #"{"all":true,"watch":true}"#,
      #"{"host":"z.example.com","kind":"proof","gate":"g"}"#,
    ].map { Array($0.utf8) }
    let verbs = [
      "secret/get", "secret/change", "sealing/get", "devkey/change", "api/list", "api/add",
      "api/remove", "registration/add", "registration/remove", "policy/set", "device/list",
      "device/pass", "device/annotate", "pin/set", "pin/remove", "pin/service", "pin/force",
      "config/url", "config/show", "keyset/add", "keyset/get", "keyset/remove", "token/check",
      "token/example", "arc/read", "sdk/new", "sdk/add", "sdk/revoke", "hardware/add",
      "hardware/list", "hardware/change", "hardware/sealed-secret", "hardware/replace-factory-key",
      "hardware/revoke", "string/set",
      "string/remove", "gate/add", "gate/change",
      "gate/list", "gate/show", "gate/rotate", "gate/revoke", "gate/configuration", "gate/remove",
      "event/add", "event/list", "event/remove", "challenge/add", "challenge/list",
      "challenge/remove", "gate/watch", "risk/add", "risk/list", "risk/remove",
    ]
    let right = #"{"host":"first.example.com","kind":"token"}"#
    var statuses: [Int: Int] = [:]
    for round in 0..<2 * Mutator.rounds {
      bench.clock.advance(by: 1)
      var verb =
        round % 10 == 0
        ? String(decoding: mutator.mutant(of: verbs.map { Array($0.utf8) }), as: UTF8.self)
        : mutator.pick(verbs)
      let isSame = round % 3 == 0
      var body = isSame ? mutator.pick(arguments) : mutator.mutant(of: arguments)
      // The first call is right, and the second is wrong, so that both statuses come in any case.
      if round < 2 { (verb, body) = ("api/add", Array((round == 0 ? right : "{}").utf8)) }
      let response = bench.service.respond(
        to: HTTPRequest(
          method: "POST", path: "/v1/manage/\(verb)",
          headers: ["authorization": "Bearer \(bench.managementToken)"], body: body,
          peer: "192.0.2.9"))
      statuses[response.status, default: 0] += 1
      #expect([200, 400, 404, 409].contains(response.status), "\(verb) \(response.status)")
      let answer = try? JSONValue(parsing: response.body.span)
      if response.status == 200 { #expect(answer != nil) }
    }
    #expect(statuses[200, default: 0] > 0 && statuses[400, default: 0] > 0, "\(statuses)")
    // The account is whole after every change: it opens and still attests.
    _ = try bench.management.configuration()
    _ = bench.post("/v1/challenge", bench.app.question().bytes)
  }

  @Test func `rows of the store: what is read is written as the same`() throws {
    let bench = try Bench()
    var mutator = Mutator("rows")
    let keys = try HardwareKeys(
      id: .random(), secretKey: .random(count: 32), mode: .production,
      issuers: [IssuerKey.random().publicKey])
    try bench.management.addHardware(
      keys.identity, name: "door", factorySecret: secret([UInt8](1...32)))
    _ = try bench.management.addKey(.es256, id: "k")
    try bench.management.set(HostPins("x.example.com", [Base64.encode([UInt8](1...32))]))
    try bench.management.set(.pass, for: bench.app.device)
    try bench.management.addGate(
      "g", publicKey: GateBench.publicKey(of: [UInt8](repeating: 9, count: 32)))
    try bench.management.prepareGateKey(.issuer, of: "g")
    func fuzz<R: Record>(_: R.Type) throws {
      let rows = try bench.store.rows(of: R.table)
      #expect(!rows.isEmpty, "\(R.noun)")
      var taken = 0
      for round in 0..<Mutator.rounds / 2 {
        let value =
          round == 0 ? rows[0].value : mutator.mutant(of: rows.map(\.value))
        let key =
          round % 5 == 1
          ? String(decoding: mutator.mutant(of: rows.map { Array($0.key.utf8) }), as: UTF8.self)
          : rows[0].key
        guard let record = try? R(StoreRow(key, value)) else { continue }
        let again = try R(StoreRow(record.key, record.bytes))
        #expect(again.bytes == record.bytes && again.key == record.key)
        taken += 1
      }
      #expect(taken > 0, "\(R.noun)")
    }
    try fuzz(RegisteredHardware.self)
    try fuzz(API.self)
    try fuzz(Registration.self)
    try fuzz(SDKBuild.self)
    try fuzz(KeySetKey.self)
    try fuzz(HostPins.self)
    try fuzz(DeviceRule.self)
    try fuzz(Gate.self)
  }
}
