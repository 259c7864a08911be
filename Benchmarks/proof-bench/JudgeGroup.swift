// SPDX-License-Identifier: Apache-2.0

import ProofBackend
import ProofBench
import ProofJOSE
import ProofModel
import ProofRequest

/// A request judged as a whole by a backend that knows its app: head, route, proof, moment, replay store in memory.
func judgeGroup(_ sample: Sample) throws -> Group {
  let desk = try JudgeDesk(sample)
  let peer = try HMACPeer(byteCount: 480)
  return Group(
    name: "judge",
    candidates: [
      desk.candidate("judge.standard") { try desk.standard() },
      desk.candidate("judge.compact") { try desk.compact() },
      .whole("hmac.openssl", count: 100) { count in for _ in 0..<count { try peer.make() } },
    ],
    ratios: [("judge.standard", "hmac.openssl"), ("judge.compact", "hmac.openssl")])
}

/// A gate, one app that it knows, and requests of that app: each is new, so that each counts.
final class JudgeDesk {
  private static let host = "api.example.com"
  private static let target = "/v1/payments?to=7"
  private static let authorization = "Bearer 0123456789abcdef"

  private let verifier: RequestVerifier
  private let route = RequestRoute(JudgeDesk.host)
  private let keys: GateKeys
  private let keyID: String
  private let beacon: Beacon
  private let body = Digest(hashing: Array(#"{"cents":1200}"#.utf8))
  private var count: UInt32 = 0

  init(_ sample: Sample) throws {
    let id = GateID.random()
    let issuer = IssuerKey.random()
    let gate = try GateIdentity(
      id: id, keys: [GateIdentity.Key(.random(count: 32), number: 1)],
      issuers: [issuer.publicKey], mode: .production)
    let own = [UInt8](repeating: 5, count: 32)
    // The verifier has been up for longer than its window: one with an empty store refuses until then.
    let isUp = CoreLock(false)
    var settings = RequestVerifier.Settings()
    settings.clock = UnixClock {
      RequestSample.now - (isUp.withLock { $0 } ? 0 : 600)
    }
    verifier = try RequestVerifier(
      gate, own: GateOwnKeys(of: id, [GateOwnSecret(SecretBytes(copying: own.span), number: 1)]),
      replay: MemoryReplayStore(capacity: 10_000_000), settings: settings)
    isUp.withLock { $0 = true }
    let secret = try GateSecret(
      of: sample.measurement, for: id, instance: sample.instance, generation: 1, with: sample.key)
    keys = secret.keys
    keyID = keys.handle.withBytes { Base64.encode($0, .url) }
    let now = RequestSample.now
    beacon = try Beacon(
      header: BeaconKey(from: SecretBytes(copying: own.span), number: 1, of: id).header(at: now))
    let grant = GateGrant(
      for: id, instance: sample.instance, mode: .production, issued: now, notAfter: now + 3600,
      firstSeen: now - 86_400, secret: secret)
    let token = try grant.sealed(to: gate.publicKeys[0], signedBy: issuer)
    var first = try standard()
    try first.fields.append("Proof-Token", Base64.encode(token.bytes, .url))
    try judge(first)
  }

  func candidate(_ name: String, _ make: @escaping () throws -> ReceivedRequest) -> Candidate {
    Candidate(name: name, count: 100) { count in
      let requests = try (0..<count).map { _ in try make() }
      let start = ContinuousClock.now
      for request in requests { try self.judge(request) }
      return ContinuousClock.now - start
    }
  }

  func judge(_ request: ReceivedRequest) throws {
    let judgement = verifier.judge(request, on: route)
    if let rejection = judgement.rejection { throw PeerError("the request: \(rejection)") }
  }

  func standard() throws -> ReceivedRequest {
    var head = try RequestHead(
      method: "POST", scheme: .https, authority: Self.host, target: Self.target, fields: fields())
    let nonce = Base64.encode(Salt.random().bytes, .url)
    try keys.withRequestKey { key in
      try StandardForm().sign(
        &head, body: ContentDigest(body), with: key, keyID: keyID, created: RequestSample.now,
        nonce: beacon.header + "." + nonce)
    }
    return request(head.fields)
  }

  func compact() throws -> ReceivedRequest {
    count += 1
    let subject = CompactSubject.request(
      try RequestDigest(
        method: "POST", scheme: "https", authority: Self.host, target: Self.target, body: body,
        authorization: Self.authorization))
    var fields = try fields()
    try fields.append(
      "Proof",
      CompactDraft(
        created: RequestSample.now, start: 7, count: count, measured: 0, beacon: beacon
      ).text(for: subject, with: keys.compact))
    return request(fields)
  }

  private func fields() throws -> HeaderFields {
    try HeaderFields([
      ("Content-Type", "application/json"), ("Authorization", Self.authorization),
      ("Accept", "*/*"), ("User-Agent", "app/1.0"),
    ])
  }

  private func request(_ fields: HeaderFields) -> ReceivedRequest {
    ReceivedRequest(
      method: "POST", target: Self.target, fields: fields, body: body, address: "192.0.2.1")
  }
}
