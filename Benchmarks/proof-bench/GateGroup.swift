// SPDX-License-Identifier: Apache-2.0

import ProofBackend
import ProofBench
import ProofGate
import ProofJOSE
import ProofModel
import ProofRequest

/// A proxy's question answered by a gate in process: parsed, judged, with its verdict signed.
func gateGroup(_ sample: Sample) throws -> Group {
  let door = try GateDoor(sample)
  let peer = try HMACPeer(byteCount: 480)
  return Group(
    name: "gate",
    candidates: [
      door.candidate("gate.standard") { try door.proven() },
      door.candidate("gate.clearance") { door.cleared },
      door.candidate("gate.challenge", status: 428) { door.bare },
      .whole("hmac.openssl", count: 100) { count in for _ in 0..<count { try peer.make() } },
    ],
    ratios: [
      ("gate.standard", "hmac.openssl"), ("gate.clearance", "hmac.openssl"),
      ("gate.challenge", "hmac.openssl"),
    ])
}

/// A gate beside a proxy, one app that it knows, and a client with a clearance.
final class GateDoor {
  typealias Line = (name: String, value: String)

  private static let host = "api.example.com"
  private static let address = "192.0.2.1"
  private static let rules =
    "route pay\npath /v1/*\nneed proof\nroute search\npath /search\nneed work 1\n"

  private let gate: ForwardGate
  private let keys: GateKeys
  private let keyID: String
  private let body = ContentDigest(Digest(hashing: Array(#"{"cents":1200}"#.utf8)))
  private static let client: [Line] = [
    ("Accept", "*/*"), ("User-Agent", "app/1.0"), ("Accept-Encoding", "gzip"),
  ]
  private(set) var cleared: [Line] = []
  let bare: [Line] = told("GET", "/search?q=coffee") + client

  init(_ sample: Sample) throws {
    let id = GateID.random()
    let issuer = IssuerKey.random()
    let bytes = [UInt8](repeating: 9, count: 32)
    let key = try GateIdentity.Key(SecretBytes(copying: bytes.span), number: 1)
    let configuration = try Self.configuration(id, key.publicKey.bytes, issuer.publicKey.bytes)
    let identity = try configuration.identity([GateSecretKey(SecretBytes(copying: bytes.span))])
    let own = try GateOwnKeys(of: id, [GateOwnSecret(SecretBytes(copying: bytes.span), number: 1)])
    // The gate has been up for longer than its windows: one with an empty store refuses until then.
    let isUp = CoreLock(false)
    let clock = UnixClock {
      RequestSample.now - (isUp.withLock { $0 } ? 0 : 8000)
    }
    var settings = RequestVerifier.Settings()
    settings.clock = clock
    let replay = MemoryReplayStore(capacity: 10_000_000)
    let requests = try RequestVerifier(identity, own: own, replay: replay, settings: settings)
    gate = try ForwardGate(
      ForwardGate.Rules(
        configuration, RouteFile(Array(Self.rules.utf8)), .original, takesRouteNames: false,
        watchesAll: false), requests, own: own,
      desks: GateDesks(own, replay: replay, clock: clock))
    isUp.withLock { $0 = true }
    let now = RequestSample.now
    let secret = try GateSecret(
      of: sample.measurement, for: id, instance: sample.instance, generation: 1, with: sample.key)
    keys = secret.keys
    keyID = keys.handle.withBytes { Base64.encode($0, .url) }
    let grant = GateGrant(
      for: id, instance: sample.instance, mode: .production, issued: now, notAfter: now + 3600,
      firstSeen: now - 200_000, secret: secret)
    let token = try grant.sealed(to: identity.publicKeys[0], signedBy: issuer)
    _ = try ask(try proven() + [("Proof-Token", Base64.encode(token.bytes, .url))], 200)
    let asked = try ask(bare, 428)
    let challenge = asked.fields.first { $0.name == "Proof-Challenge" }?.value ?? ""
    var solver = try WorkSolver(challenge)
    var solution: String?
    while solution == nil { solution = solver.step() }
    let passed = try ask(
      bare + [("Proof-Challenge", challenge), ("Proof-Answer", solution ?? "")], 200)
    cleared = bare + passed.fields.filter { $0.name == "Proof-Clearance" }
  }

  private static func configuration(
    _ id: GateID, _ key: [UInt8], _ issuer: [UInt8]
  ) throws -> GateConfiguration {
    let signing = try JSONWebKey.random(.edDSA)
    guard let publicKey = signing.publicBytes else { throw PeerError("no public key") }
    func text(_ bytes: [UInt8]) -> String { Base64.encode(bytes, .url) }
    let payload = """
      {"acc":"demo","nam":"web","gat":"\(text(id.bytes))","ser":1,"iat":\(RequestSample.now),"use":3600,\
      "mod":"production","flr":0,"frm":"standard","hdr":{"proof":"proof","token":"proof-token"},\
      "hst":["\(host)"],"xks":[{"num":1,"sta":"active","key":"\(text(key))"}],"aks":[],\
      "iss":[{"id":"i","sta":"active","key":"\(text(issuer))"}],"rev":[],"evt":[],\
      "key":"\(text(publicKey))"}
      """
    return try GateConfiguration(
      JWSSigner(signing).sign(payload: Array(payload.utf8).span, type: "gate+jwt"),
      signedBy: Digest(hashing: Array("pfa1.config-key.".utf8) + publicKey))
  }

  func candidate(
    _ name: String, status: Int = 200, _ make: @escaping () throws -> [Line]
  ) -> Candidate {
    Candidate(name: name, count: 100) { count in
      let questions = try (0..<count).map { _ in try make() }
      let start = ContinuousClock.now
      for question in questions { try self.ask(question, status) }
      return ContinuousClock.now - start
    }
  }

  /// The answer to a question, which must have this status.
  @discardableResult
  func ask(_ lines: [Line], _ status: Int) throws -> ForwardAnswer {
    let answer = gate.answer(lines, from: Self.address, at: RequestSample.now)
    guard answer.status == status else {
      throw PeerError("the gate: \(answer.status), \(answer.reason ?? answer.code)")
    }
    return answer
  }

  private static func told(_ method: String, _ target: String) -> [Line] {
    ForwardStyle.original.told(method: method, target: target, host: host)
  }

  /// A request of the app that is new, so that it counts.
  func proven() throws -> [Line] {
    let target = "/v1/payments?to=7"
    var head = try RequestHead(
      method: "POST", scheme: .https, authority: Self.host, target: target,
      fields: HeaderFields(Self.client + [("Content-Type", "application/json")]))
    let nonce = Base64.encode(Salt.random().bytes, .url)
    try keys.withRequestKey { key in
      try StandardForm().sign(
        &head, body: body, with: key, keyID: keyID, created: RequestSample.now, nonce: nonce)
    }
    return Self.told("POST", target) + head.fields.fields.map { ($0.name, $0.value) }
  }
}
