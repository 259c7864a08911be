// SPDX-License-Identifier: Apache-2.0

import Foundation
import HTTPServing
import ProofBackend
import ProofJOSE
import ProofKitHTTP
import ProofKitKeys
import ProofModel
import ProofRequest
import ProofService
import Testing

@testable import ProofKit

/// All parties of a gate, over real TLS: the service, an API that judges requests in process, and an app.
@Suite("An app at a gate")
struct GateRoundTripTests {
  let parties: GateParties

  init() throws { parties = try GateParties() }

  @Test(
    "an app that passes is served: with its token at first, then without",
    arguments: [GateAdmission.Form.standard, .compact, .body])
  func honest(form: GateAdmission.Form) throws {
    try parties.setForm(form)
    let client = try parties.client()
    for number in 1...3 {
      let response = try client.performAndWait(parties.payment(number))
      #expect(response.status == 200 && response.body == Array("paid".utf8))
    }
    #expect(parties.seen.count { $0.fields.values(of: "proof-token").count == 1 } == 1)
    let facts = try #require(parties.judgements.last?.verdict?.facts)
    #expect(!facts.isFailed && facts.generation == 1)
    #expect(try parties.management.device(named: "latest").bytes == facts.instance.bytes)
  }

  @Test(
    "a route that demands the installation's key is served where the app signs by it, and then only",
    arguments: [GateAdmission.Form.standard, .compact])
  func installationKey(form: GateAdmission.Form) throws {
    let folder = "/var/tmp/proofkit-key-\(UInt64.random(in: 1 ... .max))"
    defer { try? FileManager.default.removeItem(atPath: folder) }
    let key = StoredInstallationKey(folder: folder)
    try parties.setForm(form, needsInstallationKey: true)
    let point = try key.identity().point
    parties.api.installationKey.withLock { $0 = point }
    let client = try parties.client(installationKey: key, signs: true)
    for number in 1...2 {
      #expect(try client.performAndWait(parties.payment(number)).status == 200)
    }
    #expect(parties.judgements.last?.verdict?.isSignedByInstallation == true)
    // Not signed, signed by another key, and an attestor without a key.
    #expect(try GateClient(client.session).performAndWait(parties.payment(3)).status == 401)
    let other = StoredInstallationKey(folder: folder + "/other")
    let thief = try parties.client(installationKey: other, signs: true)
    #expect(try thief.performAndWait(parties.payment(4)).status == 401)
    let bare = try parties.client(signs: true)
    #expect(throws: GateError.installationKey(nil)) {
      try bare.performAndWait(parties.payment(5))
    }
    // Guarding and signing again replaces both proofs.
    let session = client.session
    let twice = try session.signedByInstallation(
      session.guarded(session.signedByInstallation(session.guarded(parties.payment(6)))))
    #expect(try client.send(twice, .seconds(10), 1 << 16, Cancellation()).status == 200)
  }

  @Test("a digest in a header field of its own travels with the proof, and the API reads it")
  func digestField() throws {
    try parties.setForm(.compact, digestField: "ali_sign_whash")
    let client = try parties.client()
    for number in 1...2 {
      #expect(try client.performAndWait(parties.payment(number)).status == 200)
    }
    var sent = try #require(parties.seen.last)
    #expect(sent.fields.values(of: "ali_sign_whash").first?.utf8.count == 43)
    sent.target = "/pay?to=9"
    _ = parties.judge(sent)
    #expect(parties.judgements.last?.rejection == .digestField(.otherURL))
    sent.body.append(0x20)
    _ = parties.judge(sent)
    #expect(parties.judgements.last?.rejection == .digestField(.otherBody))
  }

  @Test("an API that has just started is served by its word on the time, at once")
  func restart() throws {
    let client = try parties.client()
    _ = try client.performAndWait(parties.payment(1))
    try parties.restart()
    #expect(try client.performAndWait(parties.payment(2)).status == 200)
    let refused = parties.judgements.compactMap { $0.rejection?.told }
    #expect(refused == [.token, .clock])
    #expect(parties.seen.count == 4)
  }

  @Test("a captured request counts once, and with another method, body, URL or authorization never")
  func captured() throws {
    let client = try parties.client()
    _ = try client.performAndWait(parties.payment(1))
    let sent = try #require(parties.seen.last)
    var replies: [Int] = []
    for change in [
      { _ in }, { $0.body = Array("{\"amount\":900}".utf8) }, { $0.target = "/pay?to=9" },
      { $0.method = "PUT" }, { try? $0.fields.set("authorization", "Bearer thief") },
    ] as [(inout Sent) -> Void] {
      var changed = sent
      change(&changed)
      replies.append(parties.judge(changed).status)
    }
    #expect(replies == [401, 401, 401, 401, 401])
    #expect(parties.judgements.suffix(5).allSatisfy { $0.verdict == nil })
  }

  @Test(
    "a stolen token is worth nothing without the keys, and a program without the SDK gets nothing")
  func stolen() throws {
    let client = try parties.client()
    _ = try client.performAndWait(parties.payment(1))
    let token = try #require(parties.seen.first?.fields.values(of: "proof-token").first)
    var bot = Sent(method: "POST", target: "/pay?to=7", fields: HeaderFields(), body: [])
    #expect(parties.judge(bot).status == 401)
    try bot.fields.set("proof-token", token)
    #expect(parties.judge(bot).status == 401)
  }

  @Test("an event token counts once, for its event, account and data")
  func events() throws {
    let client = try parties.client()
    _ = try client.performAndWait(parties.payment(1))
    let data = Array("order 17".utf8)
    let token = try client.session.eventToken(for: 3300, account: "user-7", data: data)
    #expect(token.cause == nil && token.text.utf8.count == 88)
    func judge(
      _ event: UInt16 = 3300, _ account: String? = "user-7", _ data: String = "order 17"
    ) -> EventJudgement {
      parties.api.events.judge(
        .init(token.text, event: event, account: account, data: Array(data.utf8)))
    }
    #expect(judge(9).reason == .unlistedEvent)
    #expect(!judge(3301).isValid && !judge(3300, "user-8").isValid)
    #expect(!judge(3300, "user-7", "order 18").isValid)
    #expect(judge().isValid)
    #expect(judge().reason == .refused(.replayed))
  }

  @Test("an app that failed its attestation sees what one that passed sees, and the API knows")
  func failing() throws {
    let passing = try parties.client()
    let good = try passing.performAndWait(parties.payment(1))
    try parties.management.set(.fail, for: try parties.management.device(named: "latest"))
    let failing = try parties.client()
    let bad = try failing.performAndWait(parties.payment(1))
    #expect(bad.status == good.status && bad.body == good.body)
    #expect(bad.fields.map(\.name) == good.fields.map(\.name))
    let verdicts = parties.judgements.compactMap(\.verdict)
    #expect(verdicts.map(\.facts.isFailed) == [false, true])
  }

  @Test("no proof leaves for a host that the account does not list")
  func otherHost() throws {
    let client = try parties.client()
    _ = try client.performAndWait(parties.payment(1))
    let before = parties.seen.count
    var request = parties.payment(2)
    request.url = "https://127.0.0.1:\(parties.service.port)/pay"
    #expect(throws: GateError.self) { try client.performAndWait(request) }
    #expect(parties.seen.count == before)
  }

  @Test(
    "redeemers of an audience get no gate: neither requests nor others' events can be judged by theirs"
  )
  func redeemers() throws {
    let management = parties.management
    try management.addEvents(EventRange(1...5, at: "web", for: "bank"))
    func read(_ audience: String?, after held: GateConfiguration? = nil) throws -> GateConfiguration
    {
      let text =
        try audience.map { try management.gateConfiguration("web", audience: $0) }
        ?? management.gateConfiguration("web")
      return try GateConfiguration(text, signedBy: parties.fingerprint, after: held)
    }
    let (bank, gate) = (try read("bank"), try read(nil))
    #expect(bank.audience == "bank" && gate.audience == nil)
    #expect(try bank.events(for: nil).map(\.numbers) == [1...5])
    #expect(try gate.events(for: "bank") == bank.events && gate.events.count == 2)
    #expect(bank.publicKeys.isEmpty && bank.issuers.isEmpty && bank.hosts.isEmpty)
    #expect(bank.accountKeys.map(\.number) == gate.accountKeys.map(\.number))
    let error = #expect(throws: GateConfigurationError.audienceOnly("bank")) {
      try bank.identity([parties.secretKey])
    }
    #expect(error?.description.contains("no requests") == true)
    #expect(throws: GateConfigurationError.noEvents("shop")) { try bank.events(for: "shop") }
    #expect(throws: GateConfigurationError.noEvents("")) { try gate.events(for: nil) }
    for (held, offered) in [(gate, "bank"), (bank, "shop"), (bank, nil)] as [(_, String?)] {
      #expect(throws: GateConfigurationError.otherAudience(held.audience, offered)) {
        try read(offered, after: held)
      }
    }
    #expect(try read("bank", after: bank).serial == bank.serial)
  }

  @Test("the gate takes no older configuration, no other gate's, and none by another key")
  func configurations() throws {
    let management = parties.management
    let older = try management.gateConfiguration("web")
    try management.add(ProofService.API("more.example.com", .proof, gate: "web"))
    let newer = try GateConfiguration(
      management.gateConfiguration("web"), signedBy: parties.fingerprint)
    #expect(newer.hosts.count == 2)
    #expect(throws: GateConfigurationError.self) {
      try GateConfiguration(older, signedBy: parties.fingerprint, after: newer)
    }
    #expect(throws: GateConfigurationError.untrusted) {
      try GateConfiguration(older, signedBy: Digest(hashing: [1]))
    }
    #expect(throws: GateConfigurationError.noKey) {
      try newer.identity([GateSecretKey(.random(count: 32))])
    }
    let signature = try #require(older.lastIndex(of: "."))
    let unsigned = older[...signature] + String(repeating: "A", count: 86)
    #expect(throws: GateConfigurationError.self) {
      try GateConfiguration(String(unsigned), signedBy: parties.fingerprint)
    }
    try management.addGate("other", publicKey: try parties.otherPublicKey())
    #expect(throws: GateConfigurationError.self) {
      try GateConfiguration(
        management.gateConfiguration("other"), signedBy: parties.fingerprint, after: newer)
    }
    #expect("\(newer)".hasPrefix("GateConfiguration(web, serial "))
  }
}

/// A request as an API has received it.
struct Sent: Sendable {
  var method: String
  var target: String
  var fields: HeaderFields
  var body: [UInt8]
}

/// Service, API and app of one account.
final class GateParties {
  /// An API whose every request needs a proof.
  final class PaidAPI: HTTPHandler {
    let events: EventVerifier
    private let verifier: CoreLock<RequestVerifier>
    private let made: @Sendable (UnixClock) throws -> RequestVerifier
    /// The installation's key that the account's records name.
    let installationKey = CoreLock<InstallationPoint?>(nil)
    private let state: CoreLock<(route: RequestRoute, sent: [Sent], judged: [RequestJudgement])>

    init(
      _ configuration: GateConfiguration, redeemer: GateConfiguration, _ key: GateSecretKey,
      host: String
    ) throws {
      // An API that has been up for five minutes: one that has just started waits for its window to pass.
      let isUp = CoreLock(false)
      let clock = UnixClock {
        let now = UnixClock.system.now
        return isUp.withLock { $0 } ? now : UnixTime(seconds: now.seconds - 300)
      }
      let own = SecretBytes.random(count: 32)
      var eventSettings = EventVerifier.Settings()
      eventSettings.clock = clock
      events = try EventVerifier(
        by: redeemer, name: "shop",
        beacons: BeaconKey(from: own, number: 1, of: configuration.gate),
        replay: MemoryReplayStore(), settings: eventSettings)
      let ownBytes = own.withBytes { GateParties.copy($0) }
      let (identity, events) = (try configuration.identity([key]), events)
      made = { clock in
        var settings = RequestVerifier.Settings()
        settings.clock = clock
        let secret = try GateOwnSecret(SecretBytes(copying: ownBytes.span), number: 1)
        return try RequestVerifier(
          identity, own: GateOwnKeys(of: identity.id, [secret]),
          replay: MemoryReplayStore(), events: [events], settings: settings)
      }
      verifier = CoreLock(try made(clock))
      state = CoreLock((try #require(configuration.route(for: host)), [], []))
      isUp.withLock { $0 = true }
    }

    var seen: [Sent] { state.withLock { $0.sent } }
    var judged: [RequestJudgement] { state.withLock { $0.judged } }

    /// Another process takes this one's place.
    func restart() throws {
      let fresh = try made(.system)
      verifier.withLock { $0 = fresh }
    }

    func set(_ route: RequestRoute) { state.withLock { $0.route = route } }

    func respond(to request: HTTPRequest) -> HTTPResponse {
      var fields = HeaderFields()
      for field in request.fields { try? fields.append(field.name, field.value) }
      return judge(
        Sent(method: request.method, target: request.target, fields: fields, body: request.body))
    }

    func judge(_ sent: Sent) -> HTTPResponse {
      let route = state.withLock { state in
        state.sent.append(sent)
        return state.route
      }
      var received = ReceivedRequest(
        method: sent.method, target: sent.target, fields: sent.fields,
        body: Digest(hashing: sent.body), address: "127.0.0.1")
      received.installationKey = installationKey.withLock { $0 }
      let judgement = verifier.withLock { $0 }.judge(received, on: route)
      state.withLock { $0.judged.append(judgement) }
      var headers: [String: String] = [:]
      for field in judgement.fields { headers[field.name] = field.value }
      return judgement.verdict == nil
        ? HTTPResponse(status: 401, headers: headers)
        : HTTPResponse(status: 200, headers: headers, body: Array("paid".utf8))
    }
  }

  /// Takes the place of the API until its port is known.
  private final class Place: HTTPHandler {
    private let target = CoreLock<PaidAPI?>(nil)

    func put(_ api: PaidAPI) { target.withLock { $0 = api } }

    func respond(to request: HTTPRequest) -> HTTPResponse {
      target.withLock { $0 }?.respond(to: request) ?? HTTPResponse(status: 503)
    }
  }

  let management: Management
  let service: HTTPServer
  let api: PaidAPI
  let fingerprint: Digest
  let secretKey: GateSecretKey
  private let server: HTTPServer
  private let host: String
  private let reference: ReferenceService
  private let transport: CurlTransport

  init() throws {
    reference = try ReferenceService()
    let folder = (reference.greeting.authority as NSString).deletingLastPathComponent
    let certificate = HTTPCertificateFiles(
      chain: folder + "/good.pem", privateKey: folder + "/good.key")
    let place = Place()
    server = try HTTPServer(HTTPServerSettings(certificate: certificate), handler: place)
    host = "127.0.0.1:\(server.port)"

    let (account, _) = try Account.create(
      "demo", in: MemoryStore(),
      lockedBy: .keyFile(JOSESecret(copying: [UInt8](repeating: 7, count: 32).span)),
      url: "https://127.0.0.1:1")
    management = Management(account)
    service = try HTTPServer(
      HTTPServerSettings(certificate: certificate),
      handler: AttestationService(account: account))
    try management.setURL("https://127.0.0.1:\(service.port)")
    try management.setServicePins([try #require(reference.greeting.pins["good"])])
    let sdkKey = MeasurementProofKey.sdk.withBytes { bytes in
      JOSESecret(copying: Self.copy(bytes).span)
    }
    try management.addSDKBuild(key: sdkKey, name: "test", mode: .development)
    var policy = try management.policy()
    policy.rejection = []
    policy.deviceRate = 0
    policy.addressRate = 0
    try management.set(policy)

    let secret = SecretBytes.random(count: 32)
    let publicKey = try secret.withBytes { bytes in
      try GateIdentity.Key(SecretBytes(copying: bytes), number: 1).publicKey.bytes
    }
    var settings = GateSettings()
    settings.freshness = 5
    try management.addGate("web", publicKey: publicKey, mode: .development, settings: settings)
    try management.add(ProofService.API(host, .proof, gate: "web"))
    try management.addEvents(EventRange(EventRange.standard, at: "web", for: "shop"))
    let short = try management.initialConfiguration()
    let text = try #require(short.split(separator: "#").last)
    fingerprint = try Digest(#require(Base64.decode(String(text), .standard)))
    let configuration = try GateConfiguration(
      management.gateConfiguration("web"), signedBy: fingerprint)
    #expect(configuration.hosts == [host] && configuration.mode == .development)
    secretKey = try GateSecretKey(secret)
    let redeemer = try GateConfiguration(
      management.gateConfiguration("web", audience: "shop"), signedBy: fingerprint)
    api = try PaidAPI(configuration, redeemer: redeemer, secretKey, host: host)
    place.put(api)
    transport = CurlTransport(.init(authorities: reference.greeting.authority))
  }

  var seen: [Sent] { api.seen }
  var judgements: [RequestJudgement] { api.judged }

  func judge(_ sent: Sent) -> HTTPResponse { api.judge(sent) }
  func restart() throws { try api.restart() }

  static func copy(_ bytes: RawSpan) -> [UInt8] {
    bytes.byteOffsets.map { unsafe bytes.unsafeLoad(fromByteOffset: $0, as: UInt8.self) }
  }

  /// Has apps prove in another form, and the API's route take it.
  func setForm(
    _ form: GateAdmission.Form, digestField: String? = nil, needsInstallationKey: Bool = false
  ) throws {
    var settings = GateSettings()
    settings.form = form
    settings.digestHeader = digestField
    try management.changeGate("web", settings)
    let configuration = try GateConfiguration(
      management.gateConfiguration("web"), signedBy: fingerprint)
    var route = try #require(configuration.route(for: host))
    route.unanchored = .passes
    route.needsInstallationKey = needsInstallationKey
    #expect(route.fields.digest == digestField)
    api.set(route)
  }

  /// A client of an app that was started and admitted.
  func client(
    installationKey: (any InstallationKey)? = nil, signs: Bool = false
  ) throws -> GateClient {
    let attestor = Attestor(
      observer: FixedScene(), over: transport, installationKey: installationKey)
    try attestor.initializeAndWait(management.signedConfiguration())
    let session = try GateSession(attestor, for: host)
    let ready = Handover<GateError?>()
    session.start { ready.give($0) }
    if let error = ready.wait() { throw error }
    return GateClient(session, over: transport, signsByInstallation: signs)
  }

  func payment(_ number: Int) -> Request {
    Request(
      "POST", "https://\(host)/pay?to=\(number)",
      fields: [HeaderField("Content-Type", "application/json")],
      body: Array("{\"amount\":100}".utf8))
  }

  func otherPublicKey() throws -> [UInt8] {
    try GateIdentity.Key(.random(count: 32), number: 1).publicKey.bytes
  }
}
