// SPDX-License-Identifier: Apache-2.0

import ProofModel
import Testing

@testable import ProofKit

@Suite("Signed messages, activity")
struct SigningTests {
  let api = "api.example.com"

  @Test("the signature is HMAC-SHA-256 of the message in base64: RFC 4231, case 2")
  func vector() throws {
    // The RFC's key is shorter; HMAC fills a short key up with zeros.
    let bytes = Array("Jefe".utf8) + [UInt8](repeating: 0, count: 28)
    let stage = try Stage()
    let key = try MessageKey(SecretBytes(copying: bytes.span))
    stage.service.set { $0.messageKey = key }
    _ = stage.attestor.fetchTokenAndWait(for: api)
    let expected: [UInt8] = [
      0x5b, 0xdc, 0xc1, 0x46, 0xbf, 0x60, 0x75, 0x4e, 0x6a, 0x04, 0x24, 0x26, 0x08, 0x95, 0x75,
      0xc7, 0x5a, 0x00, 0x3f, 0x08, 0x9d, 0x27, 0x39, 0x83, 0x9d, 0xec, 0x58, 0xb9, 0x64, 0xec,
      0x38, 0x43,
    ]
    #expect(
      stage.attestor.messageSignature(of: "what do ya want for nothing?")
        == Base64.encode(expected))
  }

  @Test("there is a signature from the first token on, where the account has a key")
  func availability() throws {
    let uninitialised = try Stage(isInitialized: false)
    #expect(uninitialised.attestor.messageSignature(of: "m") == nil)
    let stage = try Stage()
    let attestor = stage.attestor
    let key = MessageKey.random()
    func isSigned(by key: MessageKey) -> Bool {
      attestor.messageSignature(of: "m") == Base64.encode(key.signature(of: "m"))
    }
    stage.service.set { $0.messageKey = key }
    #expect(attestor.messageSignature(of: "m") == nil)
    // A failed fetch or a custom token changes nothing here.
    stage.service.set { $0.failure = .unreachable("x") }
    _ = attestor.fetchTokenAndWait(for: api)
    #expect(attestor.messageSignature(of: "m") == nil)
    stage.service.set { $0.failure = nil }
    stage.time.advance(.seconds(1))
    _ = attestor.fetchTokenAndWait(for: api)
    #expect(isSigned(by: key))
    _ = attestor.fetchCustomJWTAndWait("{}")
    #expect(isSigned(by: key))
    // A kept token goes with the key that came with it; the next token brings the next key.
    let next = MessageKey.random()
    stage.service.set { $0.messageKey = next }
    _ = attestor.fetchTokenAndWait(for: api)
    #expect(isSigned(by: key))
    _ = attestor.fetchTokenAndWait(for: "b.example.com")
    #expect(isSigned(by: next))
    stage.service.set { $0.messageKey = nil }
    _ = attestor.fetchTokenAndWait(for: "c.example.com")
    #expect(attestor.messageSignature(of: "m") == nil)
  }

  @Test("a changed environment and another account end it")
  func ends() throws {
    let stage = try Stage()
    stage.service.set { $0.messageKey = .random() }
    _ = stage.attestor.fetchTokenAndWait(for: api)
    #expect(stage.attestor.messageSignature(of: "m") != nil)
    stage.scene.state.withLock { $0.looks[.environment] = 1 }
    stage.service.set { $0.failure = .unreachable("x") }
    _ = stage.attestor.fetchTokenAndWait(for: api)
    #expect(stage.attestor.messageSignature(of: "m") == nil)
    stage.service.set { $0.failure = nil }
    _ = stage.attestor.fetchTokenAndWait(for: "b.example.com")
    #expect(stage.attestor.messageSignature(of: "m") != nil)
    try stage.attestor.initializeAndWait(stage.service.configuration(), comment: "reinit")
    #expect(stage.attestor.messageSignature(of: "m") == nil)
  }

  @Test("an activity is told with how the app was started, and ends the tokens of before")
  func activity() throws {
    let stage = try Stage()
    func told() -> [String: String] {
      _ = stage.attestor.fetchTokenAndWait(for: api)
      let properties = stage.service.state.withLock { $0.subjects.last?.properties } ?? []
      return Dictionary(uniqueKeysWithValues: properties.map { ($0.name, $0.value) })
    }
    #expect(told()["activity"] == nil && told()["launch"] == nil)
    try stage.attestor.setActivity("unlock\n")
    #expect(told()["activity"] == "unlock?")
    #expect(["desktop", "terminal", "other"].contains(told()["launch"]))
    #expect(stage.service.count("report") == 2)
    try stage.attestor.setActivity(nil)
    #expect(told()["activity"] == nil && told()["launch"] == nil)
  }

  @Test("a measurement and its tokens are one pair, and a fetch that measured nothing gives none")
  func pair() throws {
    let stage = try Stage()
    let measured = stage.attestor.fetchTokenAndWait(for: api + "?measurement")
    let pair = try StoredMeasurement(measured, tokens: [])
    #expect(pair.config == measured.measurementConfig && pair.generation == pair.config.generation)
    #expect(try pair.instance == stage.attestor.readInstance())
    let plain = stage.attestor.fetchTokenAndWait(for: api)
    #expect(plain.instance == nil)
    #expect(throws: MeasurementStoreError.noMeasurement(AttestationError(plain))) {
      try StoredMeasurement(plain)
    }
    stage.service.set { $0.failure = .unreachable("x") }
    let failed = stage.attestor.fetchTokenAndWait(for: api + "?measurement")
    #expect(throws: MeasurementStoreError.noMeasurement(AttestationError(failed))) {
      try StoredMeasurement(failed)
    }
  }
}
