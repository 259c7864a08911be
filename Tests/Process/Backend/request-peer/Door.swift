// SPDX-License-Identifier: Apache-2.0

import Foundation
import ProofBackend
import ProofModel
import ProofRequest

/// A gate and the gate keys of one app, the same in each process that a test starts: the test is about the
/// installation's key.
final class Door {
  private let secret: GateSecret
  private let token: GateToken
  private let verifier: RequestVerifier

  /// The handle in base64url.
  var name: String { Base64.encode(secret.keys.handle.bytes, .url) }

  init() throws {
    func bytes(_ value: UInt8, _ count: Int) -> SecretBytes {
      SecretBytes(copying: [UInt8](repeating: value, count: count).span)
    }
    let id = try GateID([UInt8](repeating: 1, count: 16))
    let issuer = try IssuerKey(seed: bytes(2, 32))
    let key = try GateIdentity.Key(bytes(3, 32), number: 1)
    secret = try GateSecret(bytes(4, 32), generation: 1)
    let now = UnixTime.now
    let grant = GateGrant(
      for: id, instance: try InstanceID([UInt8](repeating: 5, count: 16)), mode: .production,
      issued: now, notAfter: now + 3600, firstSeen: now, secret: secret)
    token = try grant.sealed(to: key.publicKey, signedBy: issuer)
    let identity = try GateIdentity(
      id: id, keys: [key], issuers: [issuer.publicKey], mode: .production)
    verifier = try RequestVerifier(
      identity, own: GateOwnKeys(of: id, [GateOwnSecret(bytes(6, 32), number: 1)]),
      replay: SQLiteReplayStore(at: NSTemporaryDirectory() + "replay-\(UUID().uuidString)"))
  }

  /// Adds the proof of the gate's key, and the gate token.
  func prove(_ head: inout RequestHead, body: ContentDigest?, _ question: Question) throws {
    try head.fields.append("proof-token", Base64.encode(token.bytes, .url))
    try secret.keys.withRequestKey { key in
      try StandardForm().sign(
        &head, body: body, with: key, keyID: name,
        created: UnixTime(seconds: question.created ?? 0),
        nonce: (question.word.map { $0 + "." } ?? "") + Base64.encode(Salt.random().bytes, .url))
    }
  }

  /// The verdict on a request whose route demands an installation's key: `signed`, or the reason of the refusal
  /// and the gate's word on the time.
  func judge(
    _ question: Question, _ head: RequestHead, installation: String
  ) throws -> (String, word: String?) {
    var route = RequestRoute(head.authority)
    route.needsInstallationKey = true
    let body = question.body.flatMap(Hexadecimal.decode) ?? []
    var request = ReceivedRequest(
      method: head.method, target: head.target, fields: head.fields, body: Digest(hashing: body),
      address: "192.0.2.1")
    request.installationKey = try InstallationPoint(Hexadecimal.decode(installation) ?? [])
    let judged = verifier.judge(request, on: route)
    if let rejection = judged.rejection {
      return ("\(rejection)", judged.fields.first { $0.name == "Proof-Nonce" }?.value)
    }
    return (judged.verdict?.isSignedByInstallation == true ? "signed" : "not signed", nil)
  }
}
