// SPDX-License-Identifier: Apache-2.0

import Testing

@testable import ProofJOSE

@Suite("RSA keys")
struct RSAKeyTests {
  private static func reason(_ text: String, as algorithm: KeyAlgorithm = .rs256) -> JOSEError? {
    error { try JSONWebKey(parsing: text, as: algorithm) }
  }

  @Test("A key says its algorithm by alg, else by use, else the caller does")
  func algorithms() throws {
    #expect(Self.reason(RSASample.json()) == nil)
    #expect(
      error { try JSONWebKey(parsing: RSASample.json()) }
        == .keyUnsupported("type “RSA” does not say its algorithm"))
    for (changes, expected) in [
      (["alg": "RS256"], KeyAlgorithm.rs256), (["use": "sig"], .rs256),
      (["alg": "RSA-OAEP-256"], .rsaOAEP256), (["use": "enc"], .rsaOAEP256),
    ] as [([String: JSONValue?], KeyAlgorithm)] {
      let text = RSASample.json(changes)
      #expect(try JSONWebKey(parsing: text).algorithm == expected)
      let other: KeyAlgorithm = expected == .rs256 ? .rsaOAEP256 : .rs256
      #expect(Self.reason(text, as: other) != nil)
    }
    for name in ["PS256", "RS512", "RSA-OAEP", "RSA1_5", "ES256", "HS256", "dir"] {
      #expect(
        Self.reason(RSASample.json(["alg": .string(name)]))
          == .keyUnsupported("algorithm “\(name)” for its type"))
    }
    #expect(Self.reason(RSASample.json(["alg": "RS256", "use": "enc"])) != nil)
    #expect(Self.reason(RSASample.json(["key_ops": ["decrypt"]])) != nil)
  }

  @Test("Sizes other than 2048, 3072 and 4096 bits and other exponents are refused")
  func sizes() throws {
    let unsupported = JOSEError.keyUnsupported(
      "RSA of another size than 2048, 3072 and 4096 bits")
    for count in [0, 1, 64, 128, 255, 257, 320, 383, 385, 511, 513, 1_024] {
      let modulus = [UInt8](repeating: 0xff, count: count)
      #expect(
        Self.reason(RSASample.json(["n": .string(Forge.base64(modulus)), "d": nil]))
          == unsupported, "\(count)")
    }
    var short = RSASample.number("n")
    short[0] &= 0x7f
    #expect(
      Self.reason(RSASample.json(["n": .string(Forge.base64(short)), "d": nil])) == unsupported)
    let padded = Forge.base64([0] + RSASample.number("n"))
    #expect(Self.reason(RSASample.json(["n": .string(padded), "d": nil])) == unsupported)
    for exponent in ["", "AQ", "Aw", "AAEAAQ", "AQAD", "AQABAA"] {
      #expect(
        Self.reason(RSASample.json(["e": .string(exponent), "d": nil]))
          == .keyUnsupported("RSA with another exponent than 65537"))
    }
    for bits in [0, 1_024, 2_047, 2_049, 8_192] {
      #expect(error { try JSONWebKey.random(.rs256, bits: bits) } != nil)
    }
    #expect(error { try JSONWebKey.random(.es256, bits: 2_048) } != nil)
  }

  @Test("A modulus that is even, has a small factor, or is a prime, is none")
  func moduli() throws {
    let invalid = JOSEError.keyInvalid("its modulus is not one of an RSA key")
    var even = RSASample.number("n")
    even[255] &= 0xfe
    #expect(error { try JSONWebKey(publicBytes: even, algorithm: .rs256) } == invalid)
    // 3 divides all ones.
    let ones = [UInt8](repeating: 0xff, count: 256)
    #expect(error { try JSONWebKey(publicBytes: ones, algorithm: .rs256) } == invalid)
    // 2^2048 - 1942289 is a prime.
    var prime = ones
    prime.replaceSubrange(253..<256, with: [0xe2, 0x5c, 0xef])
    #expect(error { try JSONWebKey(publicBytes: prime, algorithm: .rs256) } == invalid)
  }

  @Test("Private numbers that do not belong together are refused, each of them")
  func privateNumbers() throws {
    for name in ["d", "p", "q", "dp", "dq", "qi"] {
      var number = RSASample.number(name)
      number[number.count - 1] ^= 2
      let text = RSASample.json([name: .string(Forge.base64(number))])
      #expect(
        Self.reason(text) == .keyInvalid("its private numbers do not belong together"), "\(name)")
      #expect(Self.reason(RSASample.json([name: .string("AQ")])) != nil, "\(name)")
      if name != "d" {
        #expect(Self.reason(RSASample.json([name: nil])) == .keyInvalid("it has no “\(name)”"))
      }
      let long = Forge.base64([1] + RSASample.number("n"))
      #expect(Self.reason(RSASample.json([name: .string(long)])) != nil, "\(name)")
    }
    let other = try #require(RSASample.key(.rs256, id: nil, isFirst: false).publicBytes)
    #expect(
      Self.reason(RSASample.json(["n": .string(Forge.base64(other))]))
        == .keyInvalid("its private and its public part do not belong together"))
    #expect(
      Self.reason(RSASample.json(["oth": []])) == .keyUnsupported("RSA with more than two primes"))
  }

  @Test("Numbers are written without leading zeros, and read with and without")
  func leadingZeros() throws {
    let padded = Forge.base64([0] + RSASample.number("dp").dropFirst(0))
    #expect(Self.reason(RSASample.json(["dp": .string(padded)])) != nil)
    let key = try RSASample.key(.rs256, id: nil)
    let text = try key.privateJSON().withBytes { bytes in
      String(decoding: bytes.indices.map { bytes[$0] }, as: UTF8.self)
    }
    #expect(text == RSASample.json(["alg": "RS256", "use": "sig"]))
  }

  @Test("Fresh keys of every size sign, and are checked by their public part", arguments: [2_048])
  func fresh(bits: Int) throws {
    let key = try JSONWebKey.random(.rs256, bits: bits, id: "r")
    #expect(key.publicBytes?.count == bits / 8)
    let token = try JWSSigner(key).sign(Sample.claims())
    let published = try JSONWebKey(parsing: key.publicJSON())
    #expect(try JWSVerifier(published).verify(token).key.isSameKey(as: key))
  }
}

@Suite("Public keys in PEM")
struct PEMTests {
  private static let asymmetric: [KeyAlgorithm] = [.es256, .edDSA, .rs256, .ecdhES, .rsaOAEP256]

  @Test("A written key is read as the same key", arguments: asymmetric)
  func roundTrip(algorithm: KeyAlgorithm) throws {
    let key = try Sample.key(algorithm)
    let pem = try key.publicPEM()
    #expect(pem.hasPrefix("-----BEGIN PUBLIC KEY-----\n"))
    #expect(pem.split(separator: "\n").allSatisfy { $0.utf8.count <= 64 })
    for text in [pem, "\n" + pem + "\n\n", pem.replacing("\n", with: "\r\n")] {
      let read = try JSONWebKey(publicPEM: text, algorithm: algorithm, id: "k1")
      #expect(read.isSameKey(as: key) && !read.isPrivate)
    }
  }

  /// Written by OpenSSL 3.0.
  private static let foreign: [(algorithm: KeyAlgorithm, pem: String)] = [
    (
      .es256,
      """
      -----BEGIN PUBLIC KEY-----
      MFkwEwYHKoZIzj0CAQYIKoZIzj0DAQcDQgAEzu7TOI8rTwAJ+wQy8ubpmAomJBq6
      xXWXQwu8G95ushmbSZ9PVGAiSZPTVA7NFS+WDI+t5kPv5NBKsWe+tQi0Kw==
      -----END PUBLIC KEY-----

      """
    ),
    (
      .edDSA,
      """
      -----BEGIN PUBLIC KEY-----
      MCowBQYDK2VwAyEAMFE4MiZ3RrGuhHFKrEfQw/v0TnGZB0ZLByFgzV9JbNU=
      -----END PUBLIC KEY-----

      """
    ),
    (
      .rs256,
      """
      -----BEGIN PUBLIC KEY-----
      MIIBIjANBgkqhkiG9w0BAQEFAAOCAQ8AMIIBCgKCAQEAtOtS8BOAzu5+cYODxvoW
      IoShXp3yayKz9GQasmZ1kN0LwasnPiHex/kvPKuAnGxGhYZaPj7mPL9ivtFqbZim
      x9HX+4il14EWkWgeh2DDJ0qP1J/8qiOrdJK1AZcfGUsvc0nOiqDwADMzJDNhmbpU
      zxEKZXaRf/80iRzpBPqtKhe5ueV6oKISyHLMTi9R+sV9/VsIelnbi6fKCKhlt8K4
      hpl/yVb6t9FXPIcJuznGjUP1m81qiTXBpnTUryWsMHf4M2+gX4xKaI7Ismh3MPnZ
      bSL7PUWgv+cdcs4P5Nj4j9L66DMXzucI6LZ8u4LyyCMZz+3SH0NCnqH4m/pO3Rcl
      owIDAQAB
      -----END PUBLIC KEY-----

      """
    ),
  ]

  @Test("A key that OpenSSL wrote is read, and written as OpenSSL wrote it", arguments: foreign)
  func ofOpenSSL(algorithm: KeyAlgorithm, pem: String) throws {
    let key = try JSONWebKey(publicPEM: pem, algorithm: algorithm, id: "k1")
    #expect(try key.publicPEM() == pem)
  }

  @Test("A key of another kind, of no kind, altered or cut is refused", arguments: asymmetric)
  func refusals(algorithm: KeyAlgorithm) throws {
    let pem = try Sample.key(algorithm).publicPEM()
    for other in KeyAlgorithm.allCases where other.coreKind != algorithm.coreKind {
      #expect(error { try JSONWebKey(publicPEM: pem, algorithm: other) } != nil)
    }
    let der = try #require(Sample.key(algorithm).subjectPublicKeyInfo)
    let kind = try #require(algorithm.coreKind)
    for count in 0..<der.count {
      #expect(SubjectPublicKeyInfo.decode(Array(der.prefix(count)), kind) == nil)
    }
    #expect(SubjectPublicKeyInfo.decode(der + [0], kind) == nil)
    let own = try #require(Sample.key(algorithm).publicBytes)
    for place in der.indices {
      var altered = der
      altered[place] ^= 1
      let read = SubjectPublicKeyInfo.decode(altered, kind)
      // An altered key is another one; the bytes around it may not be altered.
      #expect(read == nil || read != own)
    }
    for text in [
      "", "x", pem + pem, pem.replacing("PUBLIC", with: "CERTIFICATE"),
      String(pem.dropFirst(3)), pem.replacing("\n-----END", with: "=\n-----END"),
      String(repeating: "A", count: 8_193),
    ] {
      #expect(error { try JSONWebKey(publicPEM: text, algorithm: algorithm) } != nil)
    }
    func padded(_ count: Int) -> String {
      pem + String(repeating: "\n", count: count - pem.utf8.count)
    }
    #expect(try JSONWebKey(publicPEM: padded(8_192), algorithm: algorithm).publicBytes == own)
    #expect(
      error { try JSONWebKey(publicPEM: padded(8_193), algorithm: algorithm) }
        == .tooLong("public key", count: 8_193, limit: 8_192))
    for name in ["PRIVATE KEY", "RSA PRIVATE KEY", "EC PRIVATE KEY", "ENCRYPTED PRIVATE KEY"] {
      #expect(
        error {
          try JSONWebKey(
            publicPEM: pem.replacing("PUBLIC KEY", with: name), algorithm: algorithm)
        } == .keyNotPublic)
    }
  }

  @Test("A symmetric key has no PEM", arguments: [KeyAlgorithm.hs256, .direct, .a256kw])
  func symmetric(algorithm: KeyAlgorithm) throws {
    #expect(
      error { try Sample.key(algorithm).publicPEM() }
        == .keyForOtherUse(algorithm, wanted: "be published"))
  }
}
