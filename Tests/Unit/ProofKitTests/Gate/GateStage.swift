// SPDX-License-Identifier: Apache-2.0

import ProofModel
import ProofRequest
import Testing

@testable import ProofKit

/// A gate within the test's process: opens tokens and judges proofs with ProofModel and ProofRequest.
final class TestGate: Sendable {
  static let audience = AudienceID.random()

  struct Settings {
    var form = GateAdmission.Form.compact
    var headers = GateAdmission.Headers(proof: "x-proof", token: "x-token", digest: "x-digest")
    var freshness: UInt8 = 0
    var life: UInt32 = 3_600
    var hosts = ["api.example.com", "pay.example.com"]
    var hasAccountKey = true
    var events: ClosedRange<UInt16> = 3300...3400
    var issued = 0
  }

  let id = GateID.random()
  let settings = CoreLock(Settings())
  private let secretKey = [UInt8](repeating: 7, count: 32)
  private let issuer = IssuerKey.random()
  private let accountBytes = [UInt8](repeating: 9, count: 32)

  func set(_ change: (inout Settings) -> Void) { settings.withLock { change(&$0) } }

  private func key() throws -> GateIdentity.Key {
    let bytes = secretKey
    return try GateIdentity.Key(SecretBytes(copying: bytes.span), number: 1)
  }

  func accountKey() throws -> GateAccountKey {
    let bytes = accountBytes
    return try GateAccountKey(SecretBytes(copying: bytes.span), number: 3)
  }

  func admission(
    _ measurement: Measurement, _ instance: InstanceID, _ generation: UInt32
  ) throws -> GateAdmission {
    let settings = settings.withLock { settings in
      settings.issued += 1
      return settings
    }
    let secret = try GateSecret(
      of: measurement, for: id, instance: instance, generation: generation, with: .sdk)
    let grant = GateGrant(
      for: id, instance: instance, mode: .development, issued: 1_900_000_000,
      notAfter: 1_900_000_000 + UInt64(settings.life), firstSeen: 1_900_000_000, secret: secret)
    return try GateAdmission(
      gate: id, generation: generation, life: settings.life,
      token: grant.sealed(to: key().publicKey, signedBy: issuer),
      accountKey: settings.hasAccountKey ? accountKey() : nil, form: settings.form,
      headers: settings.headers, freshness: settings.freshness, hosts: settings.hosts,
      events: [.init(settings.events, for: Self.audience, life: 60)])
  }

  /// Opens the token of a request.
  func open(_ request: Request) throws -> GateSecret {
    let name = settings.withLock { $0.headers.token }
    let bytes = Base64.decode(request.values(of: name).first ?? "", .url) ?? []
    let gate = try GateIdentity(
      id: id, keys: [key()], issuers: [issuer.publicKey], mode: .development)
    return try gate.open(bytes, at: 1_900_000_001).secret
  }

  /// Checks a compact proof of a whole request, as the gate reads it.
  func check(_ request: Request, account: String? = nil, secret: GateSecret? = nil) throws
    -> CompactToken
  {
    let head = try RequestHead(method: request.method, url: request.url)
    let digest = try RequestDigest(
      method: head.method, scheme: "https", authority: head.authority, target: head.target,
      body: Digest(hashing: request.body ?? []),
      authorization: request.values(of: "authorization").first)
    return try CompactToken(
      checking: request.values(of: "x-proof").first ?? "",
      for: .request(digest, account: account.map { try accountKey().digest(of: $0) }),
      with: (secret ?? open(request)).keys.compact)
  }

  /// Checks an event token.
  func check(
    _ token: EventToken, _ secret: GateSecret, account: String? = nil, data: [UInt8] = []
  ) throws -> CompactToken {
    try CompactToken(
      checking: token.text,
      for: .event(
        data: data.isEmpty ? nil : Digest(hashing: data),
        account: account.map { try accountKey().digest(of: $0) }),
      with: secret.eventKeys(for: Self.audience))
  }
}

/// A session with everything around it. Its thread does not run: the test does the work.
struct GateStage {
  let stage: Stage
  let gate = TestGate()
  let session: GateSession
  let lines = CoreLock<[(Log.Level, String)]>([])
  let process = CoreLock<UInt64>(1)

  var time: ManualClock { stage.time }
  var service: InProcessService { stage.service }

  init(
    store: GateStore? = nil, log: Log.Level = .none, jitter: Double = 0.5,
    _ service: InProcessService = InProcessService(), isInitialized: Bool = true,
    isStarted: Bool = true, host: String = "api.example.com", allowsPlainLoopback: Bool = false,
    gate change: (inout TestGate.Settings) -> Void = { _ in }
  ) throws {
    stage = try Stage(service, isInitialized: isInitialized)
    gate.set(change)
    let (lines, process, gate) = (lines, process, gate)
    session = try GateSession(
      stage.attestor, for: host,
      options: .init(
        store: store,
        log: Log(upTo: log) { level, line in lines.withLock { $0.append((level, line)) } },
        allowsPlainLoopback: allowsPlainLoopback),
      random: { jitter }, process: { process.withLock { $0 } })
    service.set { $0.admit = { try gate.admission($0, $1, $2) } }
    if isStarted {
      _ = session.begin(nil)
      _ = session.work()
    }
  }

  let request = Request(
    "POST", "https://api.example.com/payments?x=1",
    fields: [
      HeaderField("Content-Type", "application/json"), HeaderField("Authorization", "Bearer t"),
    ],
    body: Array(#"{"cents":5}"#.utf8))

  /// Does the work, and says when there is more to do.
  func due() throws -> Duration {
    let next = session.work()
    return try #require(next ?? nil)
  }

  /// How many admissions the service was asked for.
  var asked: Int { service.count("report") }
}

extension Handover {
  /// Waits for the value without a thread of the pool: the task that gives it may need that thread.
  ///
  /// A wait of five minutes ends the process, and says where it stands.
  @discardableResult func arrival(
    _ file: StaticString = #fileID, _ line: UInt = #line
  ) async -> Value {
    let value = await withCheckedContinuation { continuation in
      CoreThread.run { continuation.resume(returning: self.wait(for: .seconds(300))) }
    }
    guard let value else { preconditionFailure("the wait at \(file):\(line) has no end") }
    return value
  }
}
