// SPDX-License-Identifier: Apache-2.0

import ProofJOSE
import ProofModel

@testable import ProofService

/// A bench whose account has a gate, and the gate itself, which reads the configuration that the account hands out.
struct GateBench {
  var bench: Bench
  static let host = "pay.example.com"
  static let name = "door"
  let secretKey = [UInt8](repeating: 0x42, count: 32)

  init(_ store: any Store = MemoryStore(), policy: [PolicySetting: String] = [.deviceRate: "0"])
    throws
  {
    bench = try Bench(store, policy: policy)
    try bench.management.addGate(Self.name, publicKey: Self.publicKey(of: secretKey))
    try bench.management.add(API(Self.host, .proof, gate: Self.name))
  }

  static func publicKey(of secretKey: [UInt8]) throws -> [UInt8] {
    try GateIdentity.Key(SecretBytes(copying: secretKey.span), number: 1).publicKey.bytes
  }

  /// An app's result: the admission, and the secret that it derives itself.
  struct Admitted {
    let admission: GateAdmission
    let secret: GateSecret
    let answer: AttestationAnswer
  }

  func admit(
    _ app: TestApp, host: String = GateBench.host, properties: [AttestationReport.Property] = []
  ) throws -> Admitted {
    let challenge = try bench.challenge(app, .gate, host: host)
    let subject = AttestationReport.Subject(.gate, name: host, properties: properties)
    let (report, measurement) = try app.measured(subject, answering: challenge)
    let answer = try bench.send(report, challenge.draft.salt, app)
    guard let admission = answer.admission else { throw NoAdmission(outcome: answer.outcome) }
    let secret = try GateSecret(
      of: measurement, for: admission.gate, instance: InstanceID(app.device.bytes),
      generation: challenge.draft.generation, with: app.key)
    return Admitted(admission: admission, secret: secret, answer: answer)
  }

  /// The claims of the gate's configuration, its signature checked.
  func configuration(_ name: String = GateBench.name) throws -> JSONObject {
    let text = try bench.management.gateConfiguration(name)
    let token = try UnverifiedToken(reading: text)
    let key = try bench.account.snapshot().configurationKey.key
    _ = try JWSVerifier(key, keyID: .any).verify(text)
    guard token.type == "gate+jwt" else { throw NoAdmission(outcome: .badPayload) }
    return token.payload
  }

  /// The gate, as its configuration says.
  func gate(secretKeys: [[UInt8]]? = nil) throws -> GateIdentity {
    let claims = try configuration()
    var keys: [GateIdentity.Key] = []
    for secret in secretKeys ?? [secretKey] {
      for item in try objects(claims["xks"]) {
        let number = UInt8(item.integer("num") ?? 0)
        let key = try GateIdentity.Key(SecretBytes(copying: secret.span), number: number)
        if item.text("key") == Base64.encode(key.publicKey.bytes, .url) { keys.append(key) }
      }
    }
    let issuers = try objects(claims["iss"]).map { item in
      try IssuerPublicKey(Base64.decode(item.text("key") ?? "", .url) ?? [])
    }
    return try GateIdentity(
      id: GateID(Base64.decode(claims.text("gat") ?? "", .url) ?? []), keys: keys,
      issuers: issuers, mode: .production, floor: UnixTime(seconds: claims.integer("flr") ?? 0))
  }

  func objects(_ value: JSONValue?) throws -> [JSONObject] {
    guard case .array(let values)? = value else { throw NoAdmission(outcome: .badPayload) }
    return values.compactMap { if case .object(let object) = $0 { object } else { nil } }
  }

  var now: UnixTime { bench.clock.now }
}

/// An answer that has no admission.
struct NoAdmission: Error {
  let outcome: AttestationAnswer.Outcome
}

/// The events that a service logged.
final class HandLog: Sendable {
  private let events = CoreLock<[AttestationService.Event]>([])

  func add(_ event: AttestationService.Event) { events.withLock { $0.append(event) } }
  var all: [AttestationService.Event] { events.withLock { $0 } }
}

/// The gate tokens that a service issued.
final class HandGrants: Sendable {
  private let grants = CoreLock<[GateGrant]>([])

  func add(_ grant: GateGrant) { grants.withLock { $0.append(grant) } }
  var all: [GateGrant] { grants.withLock { $0 } }
}
