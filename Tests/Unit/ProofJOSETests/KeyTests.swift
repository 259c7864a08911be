// SPDX-License-Identifier: Apache-2.0

import SeededRandom
import Testing

@testable import ProofJOSE

@Suite("Keys")
struct KeyTests {
  static let p256Order: [UInt8] = Hex.bytes(
    "ffffffff00000000ffffffffffffffffbce6faada7179e84f3b9cac2fc632551")

  @Test("A key that is written and read again is the same key", arguments: KeyAlgorithm.allCases)
  func roundTrip(algorithm: KeyAlgorithm) throws {
    let key = try Sample.key(algorithm)
    let json = try key.privateJSON()
    let again = try JSONWebKey(parsing: json)
    #expect(again.isSameKey(as: key))
    #expect(again.isPrivate)
    #expect(again.algorithm == algorithm)
    let isSameText = try again.privateJSON().matches(json)
    #expect(isSameText)
  }

  @Test("The public part holds no secret, and checks what the private part signed")
  func publicPart() throws {
    for algorithm in [KeyAlgorithm.es256, .edDSA, .rs256] {
      let key = try Sample.key(algorithm)
      let json = try key.publicJSON()
      #expect(!json.contains("\"d\""))
      let published = try JSONWebKey(parsing: json)
      #expect(!published.isPrivate)
      #expect(published.isSameKey(as: key))
      #expect(try published.publicJSON() == json)
      #expect(error { try published.privateJSON() } == .keyNotPrivate)
      #expect(error { try JWSSigner(published) } == .keyNotPrivate)
      #expect(error { try published.withSecret { $0.count } } == .keyNotPrivate)
      _ = try JWSVerifier(published).verify(Sample.signedToken(algorithm))
    }
  }

  @Test("A symmetric key has no public part", arguments: [KeyAlgorithm.hs256, .direct, .a256kw])
  func symmetricHasNoPublicPart(algorithm: KeyAlgorithm) throws {
    let key = try Sample.key(algorithm)
    #expect(key.publicKey == nil)
    #expect(key.publicBytes == nil)
    #expect(key.subjectPublicKeyInfo == nil)
    #expect(
      error { try key.publicJSON() } == .keyForOtherUse(algorithm, wanted: "be published"))
    #expect(
      error { try JSONWebKey(publicBytes: [1], algorithm: algorithm) }
        == .keyUnsupported("\(algorithm.rawValue) has no public keys"))
  }

  @Test("Written keys are canonical")
  func canonical() throws {
    let key = try JSONWebKey(
      secret: JOSESecret(copying: [UInt8](repeating: 0, count: 32).span), algorithm: .direct,
      id: "k")
    let json = try key.privateJSON()
    let text = json.withBytes { bytes in
      String(decoding: bytes.indices.map { bytes[$0] }, as: UTF8.self)
    }
    let zeros = String(repeating: "A", count: 43)
    #expect(text == #"{"alg":"dir","k":"\#(zeros)","kid":"k","kty":"oct","use":"enc"}"#)
  }

  @Test("Fresh keys differ", arguments: KeyAlgorithm.allCases)
  func random(algorithm: KeyAlgorithm) throws {
    // A pair of RSA takes a search for primes.
    let count = algorithm.freshSecretByteCount == nil ? 2 : 8
    let keys = try (0..<count).map { _ in
      try JSONWebKey.random(algorithm, bits: count == 2 ? 2_048 : nil, id: "r")
    }
    for (index, key) in keys.enumerated() {
      for other in keys[..<index] { #expect(!key.isSameKey(as: other)) }
      #expect(try key.withSecret { $0.count } == algorithm.freshSecretByteCount ?? 896)
    }
  }

  @Test("An HMAC key is never shorter than its hash")
  func shortKeys() throws {
    for count in [0, 1, 16, 31, 513] {
      #expect(
        error {
          try JSONWebKey(secret: JOSESecret(count: count) { _ in }, algorithm: .hs256)
        } == .keyLength(.hs256, allowed: 32...512, actual: count))
    }
    for algorithm in [KeyAlgorithm.direct, .a256kw, .es256, .edDSA] {
      for count in [0, 16, 24, 31, 33, 64] {
        #expect(
          error {
            try JSONWebKey(secret: JOSESecret(count: count) { _ in }, algorithm: algorithm)
          } == .keyLength(algorithm, allowed: 32...32, actual: count))
      }
    }
  }

  @Test("A scalar of P-256 is from 1 to the order less 1")
  func scalars() throws {
    var one = [UInt8](repeating: 0, count: 32)
    #expect(invalidScalar(one))
    one[31] = 1
    #expect(!invalidScalar(one))
    var order = Self.p256Order
    #expect(invalidScalar(order))
    order[31] -= 1
    #expect(!invalidScalar(order))
    order[31] += 2
    #expect(invalidScalar(order))
    #expect(invalidScalar([UInt8](repeating: 0xff, count: 32)))
  }

  private func invalidScalar(_ bytes: [UInt8]) -> Bool {
    error { try JSONWebKey(secret: JOSESecret(copying: bytes.span), algorithm: .es256) } != nil
  }

  @Test("A point of P-256 is on the curve, and its coordinates below the prime")
  func points() throws {
    let point = try #require(Sample.key(.es256).publicBytes)
    _ = try JSONWebKey(publicBytes: point, algorithm: .es256)
    for bit in 0..<512 {
      var other = point
      other[bit / 8] ^= 1 << (bit % 8)
      #expect(error { try JSONWebKey(publicBytes: other, algorithm: .es256) } != nil, "bit \(bit)")
    }
    #expect(
      error {
        try JSONWebKey(publicBytes: [UInt8](repeating: 0, count: 64), algorithm: .es256)
      } != nil)
    // The point with x = 5 stands for the same residues as x = p + 5, which fits 32 bytes.
    let prime = "ffffffff00000001000000000000000000000000ffffffffffffffffffffffff"
    let y = "459243b9aa581806fe913bce99817ade11ca503c64d9a3c533415c083248fbcc"
    let small = String(repeating: "0", count: 63) + "5"
    _ = try JSONWebKey(publicBytes: Hex.bytes(small + y), algorithm: .es256)
    var large = Hex.bytes(prime)
    large.replaceSubrange(16..<32, with: Hex.bytes("00000001000000000000000000000004"))
    #expect(error { try JSONWebKey(publicBytes: large + Hex.bytes(y), algorithm: .es256) } != nil)
  }

  @Test("An Ed25519 key of small order, under which anybody can sign, is refused")
  func smallOrder() throws {
    let prime = "edffffffffffffffffffffffffffffffffffffffffffffffffffffffffffff7f"
    let points = [
      "0100000000000000000000000000000000000000000000000000000000000000",
      "ecffffffffffffffffffffffffffffffffffffffffffffffffffffffffffff7f",
      "0000000000000000000000000000000000000000000000000000000000000000",
      "26e8958fc2b227b045c3f489f2ef98f0d5dfac05d3c63339b13802886d53fc05",
      "c7176a703d4dd84fba3c0b760d10670f2a2053fa2c39ccc64ec7fd7792ac037a",
      prime,
      "eeffffffffffffffffffffffffffffffffffffffffffffffffffffffffffff7f",
      "ffffffffffffffffffffffffffffffffffffffffffffffffffffffffffffff7f",
    ]
    for point in points {
      for sign in [UInt8(0), 0x80] {
        var bytes = Hex.bytes(point)
        bytes[31] |= sign
        #expect(
          error { try JSONWebKey(publicBytes: bytes, algorithm: .edDSA) }
            == .keyInvalid("its point is not one of its curve"), "\(point) \(sign)")
      }
    }
  }

  @Test("Of Ed25519's encodings the half without a point are refused, and no key of ours is")
  func edwardsPoints() throws {
    var generator = SeededGenerator(seed: 1)
    var taken = 0
    for _ in 0..<400 {
      let bytes = (0..<32).map { _ in UInt8.random(in: .min ... .max, using: &generator) }
      if error(of: { try JSONWebKey(publicBytes: bytes, algorithm: .edDSA) }) == nil { taken += 1 }
      let secret = JOSESecret(copying: bytes.span)
      let pair = try JSONWebKey(secret: secret, algorithm: .edDSA)
      _ = try JSONWebKey(publicBytes: #require(pair.publicBytes), algorithm: .edDSA)
    }
    // The seed is fixed, so is the count.
    #expect((160...240).contains(taken))
  }

  @Test("A key whose private and public parts do not belong together is refused")
  func mismatch() throws {
    for algorithm in [KeyAlgorithm.es256, .edDSA] {
      let secretJSON = try Sample.key(algorithm).privateJSON()
      let json = text(of: secretJSON)
      let other = try #require(Sample.key(algorithm, start: 9).publicBytes)
      let value = try JSONValue(parsing: json)
      guard case .object(var object) = value else { throw JOSEError.notAnObject(.key) }
      object["x"] = .string(Forge.base64(other.prefix(32)))
      if algorithm == .es256 { object["y"] = .string(Forge.base64(other.suffix(32))) }
      #expect(
        error { try JSONWebKey(parsing: JSONValue.object(object).text) }
          == .keyInvalid("its private and its public part do not belong together"))
    }
  }

  @Test("Names are bounded, printable, and never empty")
  func names() throws {
    for id in ["", String(repeating: "x", count: 129), "a\nb", "a\u{0}", "\u{7f}", "\u{85}"] {
      #expect(error { try Sample.key(.hs256, id: id) } == .keyIDInvalid)
    }
    let key = try Sample.key(.hs256, id: String(repeating: "x", count: 128))
    #expect(try key.named("other").id == "other")
    #expect(error { try key.named("") } == .keyIDInvalid)
  }

  @Test("A key's description and reflection show no secret", arguments: KeyAlgorithm.allCases)
  func description(algorithm: KeyAlgorithm) throws {
    let key = try Sample.key(algorithm)
    var dumped = ""
    dump(key, to: &dumped)
    for shown in ["\(key)", String(reflecting: key), dumped] {
      #expect(shown.contains("k1"))
      #expect(!shown.contains("AQIDB") && !shown.contains("[1, 2, 3"))
    }
  }

  @Test("DER of public keys is that of their RFCs")
  func subjectPublicKeyInfo() throws {
    let curve = try #require(Sample.key(.es256).subjectPublicKeyInfo)
    #expect(curve.count == 91 && curve[26] == 4)
    let edwards = try #require(Sample.key(.edDSA).subjectPublicKeyInfo)
    #expect(edwards.count == 44)
  }

  private func text(of secret: consuming JOSESecret) -> String {
    secret.withBytes { bytes in
      String(decoding: bytes.indices.map { bytes[$0] }, as: UTF8.self)
    }
  }
}
