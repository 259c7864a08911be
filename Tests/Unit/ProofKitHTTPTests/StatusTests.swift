// SPDX-License-Identifier: Apache-2.0

import Foundation
import ProofKit
import ProofKitHTTP
import ProofModel
import Testing

/// Each status, by the real condition, against a real service process on the loopback interface.
@Suite("Status over a real connection")
struct StatusTests {
  let service: ReferenceService
  let attestor: Attestor
  let api = "api.example.com"

  init() throws {
    service = try ReferenceService()
    attestor = Attestor(
      observer: FixedScene(),
      over: CurlTransport(.init(authorities: service.greeting.authority)))
  }

  private func fetch(_ domain: String? = nil) throws -> FetchResult {
    attestor.fetchTokenAndWait(for: domain ?? api)
  }

  @Test("success: from the short form to a token, in one go")
  func success() async throws {
    try service.set(["pins": ["api.example.com": [service.greeting.pins["good"]]]])
    try await attestor.initialize(service.shortForm())
    attestor.setDataHash(of: "Bearer x")
    attestor.setUserProperty("$error")
    let result = try await attestor.fetchToken(for: api)
    #expect(result.status == .success, "\(result)")
    #expect(result.token.split(separator: ".").count == 3 && result.arc.count == 10)
    let last = try service.last()
    #expect(last.subject == api && last.purpose == 1 && last.user_property == "$error")
    let hash = Data(Digest(hashing: Array("Bearer x".utf8)).bytes).base64EncodedString()
    let device = try Base64.encode(attestor.readInstance().bytes)
    #expect(last.data_hash == hash && last.device == device)
    let claims = try #require(
      try JSONSerialization.jsonObject(with: Data(result.loggableToken.utf8)) as? [String: Any])
    #expect(claims["pay"] as? String == hash && (claims["sip"] as? String)?.count == 6)
    #expect(try claims["did"] as? String == Base64.encode(attestor.readInstance().bytes))
    #expect(try await attestor.fetchToken(for: api) == result)
    #expect(attestor.pins.rule(for: api) == .keys([service.greeting.pins["good"]!]))
    #expect(try service.seen().paths["/v1/report"] == 1)
  }

  @Test("success of a measurement: the service made the same configuration")
  func measurement() throws {
    try attestor.initializeAndWait(service.configuration())
    let result = try fetch("lock.example.com?measurement")
    #expect(result.status == .success, "\(result)")
    #expect(result.token.split(separator: ".", omittingEmptySubsequences: false).count == 5)
    #expect(result.loggableToken == #"{"error":"encrypted token"}"#)
    let config = try #require(result.measurementConfig)
    #expect(Data(config.bytes).base64EncodedString() == (try service.last().config))
    #expect(
      try attestor.integrityMeasurementProof(nonce: [UInt8](1...16), config: config.bytes)
        .bytes.count == 32)
  }

  @Test(
    "no network: no server listens, or the name does not resolve",
    arguments: [
      "https://127.0.0.1:1", "https://attest.invalid",
    ])
  func noNetwork(url: String) throws {
    try attestor.initializeAndWait(service.configuration(["url": url]))
    #expect(try fetch().status == .noNetwork)
  }

  @Test(
    "poor network: the service hangs longer than a fetch may take", .timeLimit(.minutes(5)),
    arguments: ["hang", "stall"])
  func poorNetwork(how: String) throws {
    try attestor.initializeAndWait(service.configuration())
    try service.behave(how)
    let clock = ContinuousClock()
    var result: FetchResult?
    let took = try clock.measure { result = try fetch() }
    #expect(result?.status == .poorNetwork)
    print("a hanging service (\(how)) cost \(took), allowed are \(AttestorTimes.fetch)")
    try expectNothingLost()
  }

  @Test("poor network: a server accepts the connection and never shakes hands")
  func silent() throws {
    try attestor.initializeAndWait(service.configuration(["url": service.url("silent")]))
    #expect(try fetch().status == .poorNetwork)
    #expect(try service.seen().connections["silent"] == 1)
  }

  /// The service behaves again: the same app goes on where it was. Another property, because a failure
  /// is remembered for half a second.
  private func expectNothingLost() throws {
    try service.behave(nil)
    attestor.setUserProperty("again")
    #expect(try fetch().status == .success)
  }

  @Test(
    "poor network: half an answer and a reset connection, at each of the two messages",
    arguments: [
      ("half", "/v1/challenge"), ("half", "/v1/report"), ("reset", "/v1/challenge"),
      ("reset", "/v1/report"),
    ])
  func halfAnswer(how: String, path: String) throws {
    try attestor.initializeAndWait(service.configuration())
    try service.behave(how, at: path)
    #expect(try fetch().status == .poorNetwork)
    // Two rounds, and in the first the report twice. A request on a kept connection that was reset before
    // any answer is also sent again by libcurl itself, on a new connection.
    let counts = ["half /v1/report": 3, "reset /v1/report": 5]
    #expect(try service.seen().paths[path] == counts["\(how) \(path)"] ?? 2)
    try expectNothingLost()
  }

  @Test(
    "man in the middle: another key, a stranger's certificate, an expired one, another name, TLS 1.1",
    arguments: ["otherkey", "stranger", "expired", "wrongname", "outdated"])
  func manInTheMiddle(listener: String) throws {
    // The signed configuration pins the key; the address leads to another server.
    try attestor.initializeAndWait(service.configuration(["url": service.url(listener)]))
    let result = try fetch()
    #expect(result.status == .mitmDetected, "\(result)")
    #expect(result.token.isEmpty)
    let seen = try service.seen()
    #expect(seen.connections[listener] ?? 0 > 0 && seen.bytes[listener] == 0)
    // Nothing is lost: the same app in another network.
    try attestor.initializeAndWait(service.configuration(), comment: "reinit")
    #expect(try fetch().status == .success)
  }

  @Test(
    "no service: 503, 500, 429, a redirect, garbage, no HTTP, a gigabyte, at each message",
    arguments: ["503", "500", "429", "redirect", "garbage", "nothttp", "huge"],
    ["/v1/challenge", "/v1/report"])
  func noService(how: String, path: String) throws {
    try attestor.initializeAndWait(service.configuration())
    try service.behave(Int(how) as Any? ?? how, at: path)
    let result = try fetch()
    #expect(result.status == .noService, "\(result)")
    try expectNothingLost()
  }

  @Test("bad URL: no host, and a measurement for an API whose tokens are not encrypted")
  func badURL() throws {
    try attestor.initializeAndWait(service.configuration())
    #expect(try fetch("http://api.example.com").status == .badURL)
    #expect(try fetch(api + "?measurement").status == .badURL)
    #expect(try service.last().purpose == 2)
  }

  @Test("unknown URL, unprotected URL")
  func domains() throws {
    try attestor.initializeAndWait(service.configuration())
    #expect(try fetch("other.example.com").status == .unknownURL)
    #expect(try fetch("open.example.com").status == .unprotectedURL)
  }

  @Test("not initialised")
  func notInitialized() throws {
    #expect(try fetch().status == .notInitialized)
    #expect(try service.seen().paths.isEmpty)
  }

  @Test("an app that fails still gets a token, and the reasons; a development key passes")
  func failing() throws {
    try service.set(["fails": true, "reasons": "debug,app-not-registered"])
    try attestor.initializeAndWait(service.configuration())
    let result = try fetch()
    #expect(result.status == .success && !result.token.isEmpty)
    #expect(result.rejectionReasons == "debug,app-not-registered")
    attestor.setDevelopmentKey("let me in")
    #expect(try fetch().rejectionReasons == "")
    #expect(try service.last().development_key == "let me in")
  }

  @Test("rejected, disabled, unknown key, bad key, and secure strings that come and go")
  func secureStrings() throws {
    try attestor.initializeAndWait(service.configuration())
    #expect(attestor.fetchSecureStringAndWait("map key").secureString == "pk-123")
    #expect(attestor.fetchSecureStringAndWait("no such").status == .unknownKey)
    #expect(attestor.fetchSecureStringAndWait("").status == .badKey)
    #expect(
      attestor.fetchSecureStringAndWait("own", newDefinition: "\u{E4}").secureString == "\u{E4}")
    #expect(attestor.fetchSecureStringAndWait("own").secureString == "\u{E4}")
    #expect(attestor.fetchSecureStringAndWait("own", newDefinition: "").status == .unknownKey)
    try service.set(["strings_enabled": false])
    #expect(attestor.fetchSecureStringAndWait("a").status == .disabled)
    try service.set(["strings_enabled": true, "fails": true, "reasons": "root"])
    let rejected = attestor.fetchSecureStringAndWait("b")
    #expect(rejected.status == .rejected && rejected.rejectionReasons == "root")
    #expect(rejected.arc.count == 10 && rejected.secureString == nil)
  }

  @Test("the second service's keys open what they sealed before, and a failing app's do not")
  func ownStrings() async throws {
    let folder = "/var/tmp/proofkit-strings-\(UInt64.random(in: 1 ... .max))"
    defer { try? FileManager.default.removeItem(atPath: folder) }
    try attestor.initializeAndWait(service.configuration())
    let strings = attestor.secureStrings(in: SecureStringStore(folder: folder))
    try await strings.define("session", as: "s3cret")
    let (first, second) = (String(repeating: "11", count: 32), String(repeating: "22", count: 32))
    /// Each change of the property asks the service anew.
    func read(_ secrets: [String], fails: Bool = false) async throws -> String? {
      try service.set(["string_secrets": secrets, "fails": fails])
      attestor.setUserProperty("\(secrets.count)")
      attestor.setUserProperty(nil)
      do throws(SecureStringError) {
        return try await strings.ownString(named: "session").text
      } catch {
        guard case .notThere = error else { throw error }
        return nil
      }
    }
    #expect(try await read([first]) == "s3cret")
    #expect(try await read([first], fails: true) == nil)
    #expect(try await read([second]) == nil)
    #expect(try await read([second, first]) == "s3cret")
    #expect(try await read([second]) == "s3cret")
    #expect(try await read([first]) == nil)
  }

  @Test("messages are signed by the key that came with the token, as the second service does it")
  func signedMessages() throws {
    let hexadecimal = (1...32).map { String(format: "%02x", $0) }.joined()
    try service.set(["message_key": hexadecimal])
    try attestor.initializeAndWait(service.configuration())
    #expect(attestor.messageSignature(of: "m") == nil)
    let result = try fetch()
    #expect(result.loggableToken.contains(#""mskid":"key-1""#))
    let message = "POST /open " + result.token
    let expected = try service.signature(of: message, key: hexadecimal)
    #expect(attestor.messageSignature(of: message) == expected)
    // An app that fails has a key too, and another one.
    try service.set(["fails": true])
    attestor.setUserProperty("other")
    let failing = try fetch()
    #expect(failing.status == .success)
    let other = "POST /open " + failing.token
    #expect(attestor.messageSignature(of: other) != nil)
    #expect(
      try attestor.messageSignature(of: other) != service.signature(of: other, key: hexadecimal))
    // A message with the token of before is signed by the key that came with that.
    #expect(attestor.messageSignature(of: message) == expected)
  }

  @Test("custom tokens: the claims as they are; disabled, rejected, bad payload")
  func customTokens() throws {
    try attestor.initializeAndWait(service.configuration())
    let result = attestor.fetchCustomJWTAndWait(#"{"sub":"me","n":[1]}"#)
    #expect(result.status == .success)
    #expect(result.loggableToken.hasPrefix(#"{"sub":"me","n":[1],"exp":"#))
    #expect(attestor.fetchCustomJWTAndWait("[1]").status == .badPayload)
    try service.set(["custom_enabled": false])
    #expect(attestor.fetchCustomJWTAndWait(#"{"a":1}"#).status == .disabled)
    try service.set(["custom_enabled": true, "fails": true])
    #expect(attestor.fetchCustomJWTAndWait(#"{"a":2}"#).status == .rejected)
  }

  @Test("internal error: an account that the service does not know")
  func internalError() throws {
    try service.set(["name": "renamed"])
    try attestor.initializeAndWait(service.configuration(["acc": "acme"]))
    let result = try fetch()
    #expect(result.status == .internalError && result.reason.contains("no such account"))
  }

  @Test("a salt that has expired is asked for anew, once")
  func expiredSalt() throws {
    try service.set(["salt_seconds": 0])
    try attestor.initializeAndWait(service.configuration())
    #expect(try fetch().status == .noService)
    #expect(try service.seen().paths["/v1/challenge"] == 2)
  }

  @Test(
    "a service whose clock is an hour off, either way, changes nothing for the app",
    arguments: [3600, -3600])
  func clock(offset: Int) throws {
    try service.set(["clock_offset": offset])
    try attestor.initializeAndWait(service.shortForm())
    let first = try fetch()
    #expect(first.status == .success)
    #expect(try fetch() == first)
    #expect(try service.seen().paths["/v1/report"] == 1)
    // A token that has ended by the service's own time is not handed out again.
    try service.set(["token_seconds": 0])
    attestor.setUserProperty("other")
    #expect(try fetch().status == .success)
    #expect(try fetch().status == .success)
    #expect(try service.seen().paths["/v1/report"] == 3)
  }

  @Test("64 concurrent fetches over real connections are one attestation")
  func concurrent() async throws {
    try attestor.initializeAndWait(service.configuration())
    let results = try await withThrowingTaskGroup(of: FetchResult.self) { group in
      for _ in 0..<64 {
        group.addTask { [attestor, api] in try await attestor.fetchToken(for: api) }
      }
      return try await group.reduce(into: []) { $0.append($1) }
    }
    #expect(results.count == 64 && Set(results).count == 1)
    #expect(try service.seen().paths["/v1/report"] == 1)
  }

  @Test("a real app attests itself to a second implementation, which reproduces its measurement")
  func realApp() throws {
    let folder = "/var/tmp/proofkit-\(UUID().uuidString)"
    defer { try? FileManager.default.removeItem(atPath: folder) }
    for name in ["bundle", "storage"] {
      try FileManager.default.createDirectory(
        atPath: "\(folder)/\(name)", withIntermediateDirectories: true,
        attributes: [.posixPermissions: 0o700])
    }
    try Data("doors stay shut\n".utf8).write(to: URL(fileURLWithPath: folder + "/bundle/rules"))
    let probe = try Probe(
      .init(bundle: folder + "/bundle", storage: folder + "/storage", hardens: false))
    let attestor = Attestor(
      observer: probe, over: CurlTransport(.init(authorities: service.greeting.authority)),
      appName: "door")
    let store = ConfigurationStore(folder: folder + "/storage")
    try attestor.initializeAndWait(service.shortForm(), updates: .automatic(store))
    let measured = attestor.fetchTokenAndWait(for: "lock.example.com?measurement")
    #expect(measured.status == .success, "\(measured)")
    let config = try #require(measured.measurementConfig)
    let nonce = try ProofNonce([UInt8](1...16))
    #expect(
      try attestor.integrityMeasurementProof(nonce: nonce, config: config)
        == attestor.integrityMeasurementProof(nonce: nonce, config: config))
    let last = try service.last()
    #expect(last.properties["app"] == "door")
    #expect(try last.device == Base64.encode(attestor.readInstance().bytes))
    let token = try fetch(attestor)
    #expect(token.status == .success)
    #expect(try fetch(attestor) == token, "the environment did not change by itself")
  }

  private func fetch(_ attestor: Attestor) throws -> FetchResult {
    attestor.fetchTokenAndWait(for: api)
  }
}
