// SPDX-License-Identifier: Apache-2.0

import Foundation
import HTTPServing
import ProofJOSE
import ProofKit
import ProofKitHTTP
import ProofModel
import ProofService
import Testing

/// The two sides of this package against each other: the SDK over real TLS, and the real service.
@Suite("The real service")
struct RealServiceTests {
  let management: Management
  let server: HTTPServer
  let attestor: Attestor
  let authority: String

  init() throws {
    // Certificates of the second implementation's tests: one authority for both.
    let reference = try ReferenceService()
    let folder = (reference.greeting.authority as NSString).deletingLastPathComponent
    let key = JOSESecret(copying: [UInt8](repeating: 7, count: 32).span)
    let (account, _) = try Account.create(
      "demo", in: MemoryStore(), lockedBy: .keyFile(key), url: "https://127.0.0.1:1")
    management = Management(account)
    let settings = HTTPServerSettings(
      certificate: HTTPCertificateFiles(
        chain: folder + "/good.pem", privateKey: folder + "/good.key"))
    server = try HTTPServer(settings, handler: AttestationService(account: account))
    try management.setURL("https://127.0.0.1:\(server.port)")
    try management.setServicePins([reference.greeting.pins["good"]!])
    let sdkKey = MeasurementProofKey.sdk.withBytes { bytes in
      JOSESecret(count: bytes.byteCount) { secret in
        for index in 0..<bytes.byteCount {
          secret[index] = unsafe bytes.unsafeLoad(fromByteOffset: index, as: UInt8.self)
        }
      }
    }
    try management.addSDKBuild(key: sdkKey, name: "test", mode: .development)
    try management.add(API("api.example.com"))
    try management.add(API("lock.example.com", .measurement))
    try management.add(API("open.example.com", .none))
    var policy = try management.policy()
    policy.rejection = []
    policy.hasSecureStrings = true
    policy.deviceRate = 0
    policy.addressRate = 0
    try management.set(policy)
    try management.setSecureString("map key", to: "pk-123")
    authority = reference.greeting.authority
    attestor = Attestor(
      observer: FixedScene(), over: CurlTransport(.init(authorities: authority)))
  }

  @Test("from the short form to a token that the account's secret verifies")
  func token() async throws {
    try await attestor.initialize(management.initialConfiguration())
    attestor.setDataHash(of: "Bearer x")
    let result = try await attestor.fetchToken(for: "api.example.com")
    #expect(result.status == .success, "\(result)")
    #expect(try management.check(token: result.token).isValid)
    let claims = try #require(
      try JSONSerialization.jsonObject(with: Data(result.loggableToken.utf8)) as? [String: Any])
    #expect(try claims["did"] as? String == Base64.encode(attestor.readInstance().bytes))
    let hash = Data(Digest(hashing: Array("Bearer x".utf8)).bytes).base64EncodedString()
    #expect(claims["pay"] as? String == hash)
    #expect(try await attestor.fetchToken(for: "api.example.com") == result)
  }

  @Test("a measurement on an encrypted API alone, statuses of the others, secure strings")
  func statuses() throws {
    try attestor.initializeAndWait(management.signedConfiguration())
    func fetch(_ domain: String) -> FetchResult { attestor.fetchTokenAndWait(for: domain) }
    let measured = fetch("lock.example.com?measurement")
    #expect(measured.status == .success && measured.measurementConfig != nil, "\(measured)")
    #expect(measured.token.split(separator: ".", omittingEmptySubsequences: false).count == 5)
    #expect(fetch("api.example.com?measurement").status == .badURL)
    #expect(fetch("open.example.com").status == .unprotectedURL)
    #expect(fetch("other.example.com").status == .unknownURL)
    #expect(attestor.fetchSecureStringAndWait("map key").secureString == "pk-123")
    #expect(attestor.fetchSecureStringAndWait("no such").status == .unknownKey)
    #expect(attestor.fetchCustomJWTAndWait("{}").status == .disabled)
  }

  @Test("the account's message key signs what its backend believes; a failing app's does not")
  func signedMessages() throws {
    try management.changeKey(of: .message)
    let (id, key) = try #require(try management.messageKey())
    try attestor.initializeAndWait(management.signedConfiguration())
    let result = attestor.fetchTokenAndWait(for: "api.example.com")
    #expect(result.loggableToken.contains("\"mskid\":\"\(id)\""))
    func isBelieved(_ message: String) throws -> Bool {
      let text = try #require(attestor.messageSignature(of: message))
      return try key.isSignature(Array(#require(Data(base64Encoded: text))).span, of: message)
    }
    #expect(try isBelieved("POST /open \(result.token)"))
    try management.set(.fail, for: try management.device(named: "latest"))
    attestor.setUserProperty("other")
    let failing = attestor.fetchTokenAndWait(for: "api.example.com")
    #expect(failing.status == .success && failing.loggableToken.contains("mskid"))
    #expect(try !isBelieved("POST /open \(failing.token)"))
  }

  @Test("a string of the app's own outlives restart and rotation; a failing app finds none")
  func ownStrings() async throws {
    let folder = "/var/tmp/proofkit-strings-\(UInt64.random(in: 1 ... .max))"
    defer { try? FileManager.default.removeItem(atPath: folder) }
    func strings() throws -> SecureStrings {
      let attestor = Attestor(
        observer: FixedScene(), over: CurlTransport(.init(authorities: authority)))
      try attestor.initializeAndWait(management.signedConfiguration())
      return attestor.secureStrings(in: SecureStringStore(folder: folder))
    }
    try await strings().define("session", as: "s3cret")
    #expect(try await strings().string(named: "session").text == "s3cret")
    try management.rotateStringKey()
    #expect(try await strings().string(named: "session").text == "s3cret")
    // Sealed under the new key by that call.
    try management.retireStringKey(atOnce: true)
    #expect(try await strings().string(named: "session").text == "s3cret")
    let device = try management.device(named: "latest")
    try management.set(.fail, for: device)
    // Its own key opens none of its strings, and it gets none of the account's.
    let error = await #expect(throws: SecureStringError.self) {
      try await strings().string(named: "session")
    }
    guard case .attestation(let refusal)? = error, refusal.reason == .rejected else {
      Issue.record("\(String(describing: error))")
      return
    }
    try management.set(nil, for: device)
    #expect(try await strings().string(named: "session").text == "s3cret")
  }

  @Test("new pins reach the app with a token, and forced ones are told")
  func pins() throws {
    try attestor.initializeAndWait(management.signedConfiguration())
    let before = attestor.pins
    #expect(before.rule(for: "api.example.com") == .unpinned)
    let pin = Data([UInt8](repeating: 9, count: 32)).base64EncodedString()
    try management.set(HostPins("api.example.com", [pin]))
    try management.forcePins(confirmation: "YES")
    let result = attestor.fetchTokenAndWait(for: "api.example.com")
    #expect(result.status == .success && attestor.pins.mustReplace(before))
    #expect(attestor.pins.rule(for: "api.example.com") == .keys([pin]))
    #expect(!attestor.pins.mustReplace(attestor.pins))
  }
}
