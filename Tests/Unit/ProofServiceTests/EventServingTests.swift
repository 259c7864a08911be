// SPDX-License-Identifier: Apache-2.0

import Console
import EventServing
import Foundation
import HTTPServing
import ProofBackend
import ProofJOSE
import ProofModel
import Synchronization
import Testing

@testable import ProofService

/// A store that answered at the start, and never since.
struct GoneStore: RedemptionStore {
  private static let failure = ReplayStoreFailure.unavailable(place: "test", reason: "gone")

  func begin(at now: UnixTime) -> ReplayMemory { ReplayMemory(highest: 0, gap: nil) }

  func insert(
    _ key: ReplayKey, until expiry: UnixTime, at now: UnixTime
  ) throws(ReplayStoreFailure) -> Bool { throw Self.failure }

  func judgement(under name: ReplayKey) throws(ReplayStoreFailure) -> [UInt8]? {
    throw Self.failure
  }

  func record(
    _ record: ReplayRecord, using key: ReplayKey?, until expiry: UnixTime, at now: UnixTime
  ) throws(ReplayStoreFailure) -> ReplayRecording { throw Self.failure }

  func redeem(
    _ redemption: Redemption, at now: UnixTime, _ judged: (EventCounts) -> [UInt8]
  ) throws(ReplayStoreFailure) -> RedemptionEnd { throw Self.failure }

  func forget(account: ReplayKey) throws(ReplayStoreFailure) -> Int { throw Self.failure }
}

/// The lines of a log.
final class Lines: Sendable {
  private let texts = Mutex<[String]>([])

  func add(_ line: String) { texts.withLock { $0.append(line) } }

  /// The last line since the call before.
  func take() -> String? {
    texts.withLock { texts in
      defer { texts = [] }
      return texts.last
    }
  }
}

/// The listener for events at the service: the gate's handler, and a redeemer that learns apps from the service.
@Suite struct EventServingTests {
  /// A service with a gate, an audience, its redeemer, and the handler with one credential.
  struct Office {
    let world: GateBench
    let handler: EventHandler
    let verifier: EventVerifier
    let beacons: BeaconKey
    let files = Workplace()
    let lines = Lines()

    let configuration: ProofBackend.GateConfiguration

    init(
      canJudge: Bool = true, store: any RedemptionStore = MemoryReplayStore(), rate: Int? = nil
    ) throws {
      world = try GateBench()
      let management = world.bench.management
      try management.addEvents(EventRange(3300...3310, at: GateBench.name, for: "shop"))
      let gate = try management.gate(GateBench.name).id
      let own = [UInt8](repeating: 0x33, count: 32)
      beacons = try BeaconKey(from: SecretBytes(copying: own.span), number: 1, of: gate)
      let initial = try management.initialConfiguration().split(separator: "#").last
      let fingerprint = try Digest(#require(Base64.decode(String(initial ?? ""))))
      configuration = try ProofBackend.GateConfiguration(
        management.gateConfiguration(GateBench.name, audience: "shop"), signedBy: fingerprint)
      var settings = EventVerifier.Settings()
      settings.clock = world.bench.clock.clock
      verifier = try EventVerifier(
        by: configuration, name: "shop", beacons: beacons, replay: store,
        settings: settings)
      let path = files.path(of: "credentials")
      let digest = Hexadecimal.encode(Digest(hashing: Array("secret".utf8)).bytes)
      try Data("shop \(digest) 99999999999\n".utf8).write(to: URL(filePath: path))
      try FileManager.default.setAttributes([.posixPermissions: 0o600], ofItemAtPath: path)
      let options = try EventOptions(
        Options(
          ["--events", "127.0.0.1:0", "--event-credentials", path, "--event-replay", "memory"]
            + (rate.map { ["--event-rate", "\($0)"] } ?? []),
          taking: EventOptions.known), nil)
      let place = EventHandler.Place("proof_service") { [verifier] in canJudge ? verifier : nil }
      handler = try EventHandler(
        place, #require(options),
        log: HTTPLog(.text, clock: .fixed(0), write: { [lines] in lines.add($0) }))
    }

    func event(_ secret: GateSecret, for admission: GateAdmission) throws -> String {
      let audience = try #require(admission.events(of: 3300)).audience
      var draft = CompactDraft(
        created: world.now, start: 7, count: 1, measured: 3,
        beacon: try Beacon(header: beacons.header(at: world.now)))
      draft.event = 3300
      return try draft.text(for: .event(), with: secret.eventKeys(for: audience))
    }

    /// A token that counts, of an app that the service has admitted, and the app's secret. Later than a token that
    /// an earlier process could have accepted, which a redeemer with its store in memory refuses.
    func admitted() throws -> (token: String, secret: GateSecret) {
      world.bench.clock.advance(by: 200)
      let admitted = try world.admit(world.bench.app)
      for grant in world.bench.grants.all { verifier.admit(grant) }
      return (try event(admitted.secret, for: admitted.admission), admitted.secret)
    }

    func ask(_ path: String, _ body: String) -> HTTPResponse {
      handler.respond(
        to: HTTPRequest(
          method: "POST", path: path, headers: ["authorization": "Bearer secret"],
          body: Array(body.utf8)))
    }

    func post(_ token: String, _ credential: String?) throws -> (status: Int, body: JSONObject) {
      let response = handler.respond(
        to: HTTPRequest(
          method: "POST", path: "/v1/event",
          headers: credential.map { ["authorization": "Bearer \($0)"] } ?? [:],
          body: Array(#"{"token":"\#(token)","event":3300}"#.utf8)))
      guard case .object(let body) = try JSONValue(parsing: response.body.span) else {
        throw Refused(response)
      }
      return (response.status, body)
    }
  }

  @Test("A token of an app that the service has admitted counts once, with the credential alone")
  func once() throws {
    let office = try Office()
    // A redeemer with its store in memory accepts no token that an earlier process could have accepted.
    office.world.bench.clock.advance(by: 200)
    let admitted = try office.world.admit(office.world.bench.app)
    let token = try office.event(admitted.secret, for: admitted.admission)
    #expect(try office.post(token, "secret").body.text("reason") == "unknown-app")
    let grants = office.world.bench.grants.all
    #expect(grants.count == 1)
    for grant in grants { office.verifier.admit(grant) }
    for credential in [nil, "", "secret ", "other"] {
      #expect(try office.post(token, credential).status == 401)
    }
    let said = try office.post(token, "secret")
    #expect(said.status == 200 && said.body.flag("valid") == true, "\(said)")
    #expect(said.body.text("device") == office.world.bench.app.device.description)
    #expect(try office.post(token, "secret").body.text("reason") == "replayed")
  }

  @Test("The log names asker, event, result, risk and installation, and neither account nor token")
  func log() throws {
    let office = try Office()
    let (token, secret) = try office.admitted()
    #expect(try office.post(token, nil).status == 401)
    let refused = try #require(office.lines.take())
    #expect(
      refused.hasSuffix(
        "event refused reason=\"the credential is missing or does not count\"\n"))

    let question = #"{"token":"\#(token)","event":3300,"key":"once"}"#
    let first = office.ask("/v1/event", question)
    #expect(first.status == 200)
    let judged = try #require(office.lines.take())
    let handle = Base64.encode(secret.keys.handle.bytes, .url)
    let words = "event judged asker=shop number=3300 result=valid risk=none"
    #expect(judged.hasSuffix("\(words) handle=\(handle)\n"), "\(judged)")
    #expect(office.ask("/v1/event", question).body != first.body)
    let repeated = try #require(office.lines.take())
    #expect(repeated.hasSuffix("\(words) repeated=yes handle=\(handle)\n"), "\(repeated)")
    #expect(office.ask("/v1/forget", #"{"account":"ann"}"#).status == 200)
    let forgotten = try #require(office.lines.take())
    #expect(forgotten.contains("account forgotten asker=shop devices="), "\(forgotten)")
    for line in [judged, repeated, forgotten] {
      // The handle is random: it may have these letters.
      let words = line.replacing(handle, with: "")
      #expect(!words.contains("ann") && !line.contains(token) && !words.contains("once"))
    }
  }

  @Test("A service notes what it has issued: no refused report, none that lost to another one")
  func grants() throws {
    let world = try GateBench()
    let bench = world.bench
    _ = try bench.attest(bench.app)
    _ = try bench.attest(bench.app, .gate, name: Bench.plain)
    #expect(bench.grants.all.isEmpty)
    let challenges = try (0..<2).map { _ in
      try bench.challenge(bench.app, .gate, host: GateBench.host)
    }
    let subject = AttestationReport.Subject(.gate, name: GateBench.host)
    for challenge in challenges {
      _ = try bench.send(
        bench.app.report(subject, answering: challenge), challenge.draft.salt, bench.app)
    }
    #expect(bench.grants.all.map(\.secret.generation) == [1])
    let admitted = try world.admit(bench.app)
    #expect(bench.grants.all.count == 2)
    #expect(bench.grants.all[1].secret.keys.handle == admitted.secret.keys.handle)
  }

  @Test(
    "Without its store nothing is judged or forgotten: 503, and the question can be asked again")
  func storeIsGone() throws {
    let office = try Office(store: GoneStore())
    let (token, _) = try office.admitted()
    let said = office.ask("/v1/event", #"{"token":"\#(token)","event":3300}"#)
    #expect(said.status == 503 && said.headers["retry-after"] == "1")
    #expect(office.ask("/v1/forget", #"{"account":"a"}"#).status == 503)
  }

  @Test("The only audience of a configuration is the one that is redeemed for")
  func onlyAudience() throws {
    let office = try Office()
    let store = MemoryReplayStore()
    let configuration = office.configuration
    let own = try GateOwnKeys(
      of: configuration.gate,
      [try GateOwnSecret(SecretBytes(copying: [UInt8](repeating: 1, count: 32).span), number: 1)])
    for name in [nil, "shop"] {
      let redeemer = try EventPlace(audience: name, store: store).redeemer(configuration, own)
      #expect(EventPlace(audience: name, store: store).canFollow(configuration, redeemer))
      #expect(redeemer.audience == office.verifier.audience)
    }
    let other = EventPlace(audience: "other", store: store)
    #expect(throws: (any Error).self) { try other.redeemer(configuration, own) }
  }

  @Test("Without a redeemer to judge by, a question is answered with 503")
  func closed() throws {
    let office = try Office(canJudge: false)
    let admitted = try office.world.admit(office.world.bench.app)
    let token = try office.event(admitted.secret, for: admitted.admission)
    #expect(try office.post(token, "secret").status == 503)
    #expect(try office.post(token, "other").status == 401)
  }
}
