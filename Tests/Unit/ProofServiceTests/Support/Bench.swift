// SPDX-License-Identifier: Apache-2.0

import HTTPServing
import ProofJOSE
import ProofModel
import Synchronization

@testable import ProofService

/// A service with an account, an app that passes, and a clock in the hand.
struct Bench {
  let clock = HandClock()
  let store: any Store
  let account: Account
  let management: Management
  let service: AttestationService
  let grants = HandGrants()
  let managementToken: String
  var app: TestApp

  static let api = "api.example.com"
  static let lockAPI = "lock.example.com"
  static let plain = "plain.example.com"

  init(
    _ store: any Store = MemoryStore(), policy: [PolicySetting: String] = [:], grace: Int64 = 0,
    log: HandLog = HandLog()
  ) throws {
    self.store = store
    (account, managementToken) = try Account.create(
      "door", in: store, lockedBy: keyFile(), url: "https://attest.example.com:8443",
      clock: clock.clock)
    management = Management(account, clock: clock.clock)
    service = AttestationService(
      account: account, clock: clock.clock, grace: grace,
      noteGrant: { [grants] in grants.add($0) }, log: { log.add($0) })
    let key = [UInt8](1...16)
    try management.addSDKBuild(key: secret(key), name: "test", mode: .production)
    app = TestApp(
      key: try MeasurementProofKey(SecretBytes(copying: key.span), mode: .production))
    try management.add(API(Self.api))
    try management.add(API(Self.lockAPI, .measurement))
    try management.add(API(Self.plain, .none))
    try management.register(app.digest, name: "door 1.0")
    var settings = Policy()
    for (setting, value) in policy { try settings.set(setting, to: value) }
    try management.set(settings)
  }

  func post(_ path: String, _ body: [UInt8], peer: String = "192.0.2.7") -> HTTPResponse {
    service.respond(to: HTTPRequest(method: "POST", path: path, body: body, peer: peer))
  }

  func get(_ path: String, query: [String: String] = [:]) -> HTTPResponse {
    service.respond(
      to: HTTPRequest(method: "GET", path: path, query: query, peer: "192.0.2.7"))
  }

  func challenge(
    _ app: TestApp, _ purpose: AttestationPurpose = .token, host: String = ""
  ) throws -> AttestationChallenge {
    let response = post("/v1/challenge", app.question(purpose, host: host).bytes)
    guard response.status == 200 else { throw Refused(response) }
    return try AttestationChallenge(response.body)
  }

  func send(_ report: [UInt8], _ salt: Salt, _ app: TestApp) throws -> AttestationAnswer {
    let response = post("/v1/report", report)
    guard response.status == 200 else { throw Refused(response) }
    return try AttestationAnswer(response.body, to: salt, with: app.key)
  }

  /// Asks and reports.
  func attest(
    _ app: TestApp, _ subject: AttestationReport.Subject
  ) throws -> AttestationAnswer {
    let challenge = try challenge(app, subject.purpose, host: subject.name)
    return try send(app.report(subject, answering: challenge), challenge.draft.salt, app)
  }

  func attest(
    _ app: TestApp, _ purpose: AttestationPurpose = .token, name: String = Bench.api
  ) throws -> AttestationAnswer {
    try attest(app, AttestationReport.Subject(purpose, name: name))
  }

  /// The claims of a token that the account's secret signed; throws if it did not.
  func claims(_ token: String, audience: String? = Bench.api) throws -> Claims {
    let key = try JSONWebKey(secret: management.secret(), algorithm: .hs256)
    return try JWSVerifier(key, keyID: .any).claims(
      of: token, under: ClaimsPolicy(clock: clock.clock, audience: audience))
  }

  /// The claims of a token that the account's key for custom tokens signed; throws if it did not.
  func customClaims(_ token: String) throws -> Claims {
    let key = try JSONWebKey(secret: management.customKey(), algorithm: .hs256)
    return try JWSVerifier(key, keyID: .any).claims(
      of: token, under: ClaimsPolicy(clock: clock.clock, type: "custom+jwt"))
  }

  /// The claims of a token that the account's key sealed; throws if it did not.
  func sealedClaims(_ token: String) throws -> Claims {
    let key = try JSONWebKey(secret: management.sealingKey(), algorithm: .direct)
    return try JWEDecrypter(key, keyID: .any).claims(
      of: token, under: ClaimsPolicy(clock: clock.clock, audience: Self.lockAPI))
  }
}

/// A response that was expected to be an answer.
struct Refused: Error, CustomStringConvertible {
  let response: HTTPResponse

  init(_ response: HTTPResponse) { self.response = response }

  var description: String {
    "\(response.status) \(String(decoding: response.body, as: UTF8.self))"
  }
}
