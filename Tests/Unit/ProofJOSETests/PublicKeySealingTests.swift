// SPDX-License-Identifier: Apache-2.0

import Testing

@testable import ProofJOSE

@Suite("Sealing to a public key")
struct PublicKeySealingTests {
  private static func parts(_ token: String) -> [String] {
    token.split(separator: ".", omittingEmptySubsequences: false).map(String.init)
  }

  private static func error(of parts: [String], _ algorithm: KeyAlgorithm) throws -> JOSEError? {
    let decrypter = try JWEDecrypter(Sample.key(algorithm))
    return ProofJOSETests.error { try decrypter.open(parts.joined(separator: ".")) }
  }

  @Test(
    "A token with a bit changed in any part is refused, a cut or continued one too",
    arguments: Sample.sealingToPublic)
  func everyPlace(algorithm: KeyAlgorithm) throws {
    let decrypter = try JWEDecrypter(Sample.key(algorithm))
    let token = Array(try Sample.nestedToken(algorithm).utf8)
    // Every character once, another bit each time: all of them would take minutes with RSA.
    for place in token.indices {
      var altered = token
      altered[place] ^= 1 << UInt8(place % 7)
      let text = String(decoding: altered, as: UTF8.self)
      #expect(ProofJOSETests.error { try decrypter.open(text) } != nil, "character \(place)")
    }
    for count in stride(from: 0, to: token.count, by: 7) {
      let text = String(decoding: token[..<count], as: UTF8.self)
      #expect(ProofJOSETests.error { try decrypter.open(text) } != nil, "\(count)")
    }
    for more in [".", "A", "=", " ", "\n"] {
      let text = String(decoding: token, as: UTF8.self) + more
      #expect(ProofJOSETests.error { try decrypter.open(text) } != nil)
    }
  }

  @Test(
    "Each part of the right form that is wrong gets the same answer",
    arguments: Sample.sealingToPublic)
  func equalAnswers(algorithm: KeyAlgorithm) throws {
    let parts = Self.parts(try Sample.nestedToken(algorithm))
    let other = Self.parts(try Sample.nestedToken(algorithm))
    for part in 1..<5 {
      let bytes = Forge.decoded(parts[part])
      for place in [0, bytes.count / 2, bytes.count - 1] {
        var changed = bytes
        changed[place] ^= 0x40
        var altered = parts
        altered[part] = Forge.base64(changed)
        #expect(try Self.error(of: altered, algorithm) == .decryptionFailed)
      }
      for filler in [0, 0xff] as [UInt8] {
        var altered = parts
        altered[part] = Forge.base64([UInt8](repeating: filler, count: bytes.count))
        #expect(try Self.error(of: altered, algorithm) == .decryptionFailed)
      }
      var swapped = parts
      swapped[part] = other[part]
      #expect(try Self.error(of: swapped, algorithm) == .decryptionFailed)
    }
    let stranger = try JWEDecrypter(Sample.key(algorithm, start: 2))
    #expect(
      ProofJOSETests.error { try stranger.open(parts.joined(separator: ".")) } == .decryptionFailed)
  }

  @Test("Wrapped keys of RSA that open to another length are wrong like all others")
  func otherContents() throws {
    let key = try #require(Sample.key(.rsaOAEP256).material.coreKey)
    // The numbers 1 and n - 1 decrypt to themselves.
    var one = [UInt8](repeating: 0, count: 256)
    one[255] = 1
    var last = RSASample.number("n")
    last[255] -= 1
    for wrapped in [one, last, RSASample.number("n"), [UInt8](repeating: 0xff, count: 256)] {
      let first = try key.decrypt(wrapped.span)
      let second = try key.decrypt(wrapped.span)
      // Random each time, and no error: the content's tag is what tells.
      let isSame = first.matches(second)
      #expect(!isSame && first.count == 32)
    }
  }

  @Test("The sender's key is one of P-256, on its curve, and public")
  func senderKeys() throws {
    let key = try Sample.key(.ecdhES)
    let parts = Self.parts(try Sample.nestedToken(.ecdhES))
    let x = "f83OJ3D2xF1Bg8vub9tLe1gHMzV76e8Tus9uPHvRVEU"
    let y = "x_FEzRu9m36HLN_tue659LNpXW6pCyStikYjKIWI5a0"
    let zeros = Forge.base64([UInt8](repeating: 0, count: 32))
    let ones = Forge.base64([UInt8](repeating: 0xff, count: 32))
    let prime = Forge.base64(
      Hex.bytes("ffffffff00000001000000000000000000000000ffffffffffffffffffffffff"))
    func header(_ epk: String) -> String {
      Forge.base64(
        #"{"alg":"ECDH-ES+A256KW","enc":"A256GCM","epk":\#(epk),"kid":"k1"}"#.utf8)
    }
    func curve(_ x: String, _ y: String, _ more: String = "") -> String {
      #"{"kty":"EC","crv":"P-256","x":"\#(x)","y":"\#(y)"\#(more)}"#
    }
    for epk in [
      "null", "[]", "{}", "1", #""x""#, curve(x, x), curve(y, x), curve(zeros, zeros),
      curve(ones, ones), curve(prime, y), curve(x, prime), curve(x, zeros), curve("", ""),
      curve(x + "A", y), curve(x, "AAAA"), curve(x, y, #","d":"\#(x)""#), curve(x, y, #","d":1"#),
      #"{"kty":"EC","crv":"P-256","x":"\#(x)"}"#, #"{"kty":"EC","x":"\#(x)","y":"\#(y)"}"#,
      #"{"kty":"EC","crv":"P-384","x":"\#(x)","y":"\#(y)"}"#,
      #"{"kty":"OKP","crv":"X25519","x":"\#(x)"}"#, #"{"kty":"oct","k":"\#(x)"}"#,
      #"{"kty":"OKP","crv":"P-256","x":"\#(x)","y":"\#(y)"}"#,
      #"{"kty":"EC","crv":"P-256","x":1,"y":"\#(y)"}"#,
    ] {
      let altered = [header(epk)] + parts.dropFirst()
      #expect(try Self.error(of: altered, .ecdhES) == .headerKeyInvalid, "\(epk)")
    }
    // Any other point of the curve is a wrong one, the recipient's own and its mirror too.
    let own = try #require(key.publicBytes)
    for point in [
      (x, y), (Forge.base64(own.prefix(32)), Forge.base64(own.suffix(32))),
    ] {
      let altered = [header(curve(point.0, point.1, #","use":"enc""#))] + parts.dropFirst()
      #expect(try Self.error(of: altered, .ecdhES) == .decryptionFailed)
    }
    let missing = Forge.base64(#"{"alg":"ECDH-ES+A256KW","enc":"A256GCM","kid":"k1"}"#.utf8)
    #expect(try Self.error(of: [missing] + parts.dropFirst(), .ecdhES) == .headerKeyInvalid)
  }

  @Test("A sender's key that is off the curve is no key to agree with")
  func offCurve() throws {
    let core = try #require(Sample.key(.ecdhES).material.coreKey)
    let point = try #require(Sample.key(.es256, start: 7).publicBytes)
    for bit in stride(from: 0, to: 512, by: 5) {
      var altered = point
      altered[bit / 8] ^= 1 << (bit % 8)
      let isAgreed = try core.agreed(with: altered) != nil
      #expect(!isAgreed, "bit \(bit)")
    }
  }

  @Test("Both parties agree on the key of RFC 7518, C")
  func agreement() throws {
    let block = try #require(VectorFile.blocks("agreement", in: "rfc").first)
    let secret = JOSESecret(copying: Forge.decoded(block["private"]).span)
    let alice = try JSONWebKey(secret: secret, algorithm: .ecdhES)
    let bob = Forge.decoded(block["x"]) + Forge.decoded(block["y"])
    let core = try #require(alice.material.coreKey)
    guard let agreed = try core.agreed(with: bob) else {
      Issue.record("Bob's point is not on the curve")
      return
    }
    let isAgreed = agreed.matches(JOSESecret(copying: block.bytes("z").span))
    #expect(isAgreed)
    let key = try KeyAgreement.key(
      from: agreed, for: "A128GCM", partyU: Array("Alice".utf8), partyV: Array("Bob".utf8),
      byteCount: 16)
    let isRight = key.matches(JOSESecret(copying: Forge.decoded(block["key"]).span))
    #expect(isRight)
  }

  @Test("The parties that a header names go into the key, and are bounded")
  func parties() throws {
    let parts = Self.parts(try Sample.nestedToken(.ecdhES))
    let header = String(decoding: Forge.decoded(parts[0]), as: UTF8.self)
    for (name, value, expected) in [
      ("apu", #""QWxpY2U""#, JOSEError.decryptionFailed), ("apv", #""Qm9i""#, .decryptionFailed),
      ("apu", "1", .headerMember("apu")), ("apv", #""Qm9i=""#, .headerMember("apv")),
      ("apu", "\"\(Forge.base64([UInt8](repeating: 1, count: 128)))\"", .decryptionFailed),
      ("apu", "\"\(Forge.base64([UInt8](repeating: 1, count: 129)))\"", .headerMember("apu")),
    ] {
      let changed = header.replacing("{\"alg\"", with: "{\"\(name)\":\(value),\"alg\"")
      let altered = [Forge.base64(changed.utf8)] + parts.dropFirst()
      #expect(try Self.error(of: altered, .ecdhES) == expected)
    }
  }

  @Test("The key decides: no other algorithm of the same kind, no iterations, no compression")
  func confusion() throws {
    for algorithm in Sample.sealingToPublic {
      let parts = Self.parts(try Sample.nestedToken(algorithm))
      let header = String(decoding: Forge.decoded(parts[0]), as: UTF8.self)
      func refused(_ changed: String) throws -> JOSEError? {
        try Self.error(of: [Forge.base64(changed.utf8)] + parts.dropFirst(), algorithm)
      }
      for name in [
        "ECDH-ES", "ECDH-ES+A128KW", "ECDH-1PU+A256KW", "RSA-OAEP", "RSA-OAEP-384", "RSA1_5",
        "PBES2-HS512+A256KW", "none", "A256GCMKW",
      ] {
        let changed = header.replacing(algorithm.rawValue, with: name).replacing(
          "{\"alg\"", with: "{\"p2c\":2147483647,\"p2s\":\"AAAA\",\"alg\"")
        #expect(try refused(changed) == .algorithmRefused("“\(name)”"))
      }
      for other in KeyAlgorithm.allCases where other != algorithm {
        let changed = header.replacing(algorithm.rawValue, with: other.rawValue)
        let answer = try refused(changed)
        // One that needs a sender's key is refused for the lack of one, before the key is looked at.
        #expect(
          answer == .algorithmMismatch(token: other, key: algorithm)
            || (other == .ecdhES && answer == .headerKeyInvalid))
      }
      for member in [#""zip":"DEF""#, #""crit":["x"]"#, #""jwk":{}"#, #""jku":"https://x""#] {
        guard
          case .headerRefused? = try refused(
            header.replacing("{\"alg\"", with: "{\(member),\"alg\""))
        else {
          Issue.record("\(member) was taken")
          return
        }
      }
      for name in ["A128GCM", "A256CBC-HS512"] {
        #expect(
          try refused(header.replacing("A256GCM", with: name)) == .encryptionRefused("“\(name)”"))
      }
    }
  }

  @Test("Wrapped keys of other lengths are refused before the key is used")
  func lengths() throws {
    for algorithm in Sample.sealingToPublic {
      let parts = Self.parts(try Sample.nestedToken(algorithm))
      let expected = algorithm == .ecdhES ? 40 : 256
      for count in [0, 1, 32, 40, 128, 255, 256, 257, 384, 512] where count != expected {
        var altered = parts
        altered[1] = Forge.base64([UInt8](repeating: 1, count: count))
        #expect(
          try Self.error(of: altered, algorithm)
            == .wrongLength(.encryptedKey, expected: expected, actual: count))
      }
    }
  }

  @Test("No sender's key, wrapped key or IV comes twice", arguments: Sample.sealingToPublic)
  func freshness(algorithm: KeyAlgorithm) throws {
    let encrypter = try JWEEncrypter(#require(Sample.key(algorithm).publicKey))
    var seen: Set<String> = []
    for _ in 0..<100 {
      let parts = Self.parts(try encrypter.seal(payload: ([1, 2, 3] as [UInt8]).span))
      for part in parts[(algorithm == .ecdhES ? 0 : 1)...] {
        #expect(seen.insert(part).inserted)
      }
    }
    #expect(encrypter.sealedCount == 100)
  }
}
