// SPDX-License-Identifier: Apache-2.0

import Testing

@testable import ProofJOSE

/// Lengths of keys and of their numbers, from both sides.
@Suite struct KeyBoundTests {
  private static func text(_ secret: consuming JOSESecret) -> String {
    secret.withBytes { bytes in
      String(decoding: bytes.indices.map { bytes[$0] }, as: UTF8.self)
    }
  }

  @Test("A fresh key has 32 bytes, one for HMAC 64, and a fresh pair of RSA 3,072 bits")
  func fresh() {
    let counts = KeyAlgorithm.allCases.map(\.freshSecretByteCount)
    // HS256, ES256, EdDSA, RS256, dir, A256KW, ECDH-ES+A256KW, RSA-OAEP-256.
    #expect(counts == [64, 32, 32, nil, 32, 32, 32, nil])
    #expect(JOSELimits.freshRSABits == 3_072)
  }

  @Test("A key of HMAC is read and written in each length from 32 to 64 bytes")
  func lengths() throws {
    for count in 32...64 {
      let bytes = (0..<count).map { UInt8($0) }
      let text = #"{"kty":"oct","alg":"HS256","k":"\#(Forge.base64(bytes))"}"#
      let key = try JSONWebKey(parsing: text)
      #expect(try key.withSecret { secret in secret.indices.map { secret[$0] } } == bytes)
      let isSame = try JSONWebKey(parsing: key.privateJSON()).isSameKey(as: key)
      #expect(isSame, "\(count)")
    }
  }

  @Test("A secret whose text has one character too many is refused, whatever its length")
  func oddCharacter() {
    for count in [33, 36, 48] {
      let text = Forge.base64([UInt8](repeating: 0, count: count)) + "A"
      #expect(text.utf8.count % 4 == 1)
      #expect(
        error { try JSONWebKey(parsing: #"{"kty":"oct","alg":"HS256","k":"\#(text)"}"#) }
          == .keyInvalid("its “k” is not base64url"), "\(count)")
    }
  }

  @Test("A private part or a public one of another length than its kind has is refused")
  func refused() throws {
    func secret(_ count: Int, _ algorithm: KeyAlgorithm) -> JOSEError? {
      error { try JSONWebKey(secret: JOSESecret(count: count) { _ in }, algorithm: algorithm) }
    }
    for algorithm in [KeyAlgorithm.rs256, .rsaOAEP256] {
      for count in [0, 895, 1_793] {
        #expect(
          secret(count, algorithm)
            == .keyLength(algorithm, allowed: 896...1_792, actual: count))
      }
      // 3.5 times the bytes of the modulus: 896, 1,344 or 1,792.
      for count in [897, 1_343, 1_345, 1_791] {
        #expect(
          secret(count, algorithm)
            == .keyInvalid("its private number is not as long as one of its kind"), "\(count)")
      }
    }
    for (algorithm, allowed) in [
      (.es256, 64...64), (.ecdhES, 64...64), (.edDSA, 32...32), (.rs256, 256...512),
      (.rsaOAEP256, 256...512),
    ] as [(KeyAlgorithm, ClosedRange<Int>)] {
      for count in [0, allowed.lowerBound - 1, allowed.lowerBound + 1, allowed.upperBound + 1] {
        let bytes = [UInt8](repeating: 0xff, count: count)
        #expect(
          error { try JSONWebKey(publicBytes: bytes, algorithm: algorithm) }
            == .keyLength(algorithm, allowed: allowed, actual: count))
      }
    }
  }

  @Test("Two lines of PEM with nothing between them are no key")
  func emptyPEM() {
    let text = "-----BEGIN PUBLIC KEY-----\n-----END PUBLIC KEY-----\n"
    #expect(
      error { try JSONWebKey(publicPEM: text, algorithm: .es256) }
        == .keyInvalid("it is not one “PUBLIC KEY” in PEM; openssl pkey -pubout writes one"))
  }

  // MARK: RSA

  /// The product of two primes just above 2^2047.
  private static let leastModulus =
    "gAAAAC14RRgK0Cj3IVv_54vSyDtAGOCzvdxivzLvyyKbzmynrbOoK5e3Eo7UxC4Evy5azBeVihKJ60ZgUgn4Nub-"
    + "egs8cRNizwq3Jrm0-DaMUPPtbYVqueor9nlNwO475kqkJca1M4_6gF9HUDhGOtnv95afhfizZni6II1TnVgyz9lU"
    + "QGA_T-Fz5TDM7b3EBYnHTqtb0WFt4B1YND-Q8ptWeqtMfshfey0STywHj40fIm_mu45Bh55HA6lHTdBh864ezxX9"
    + "umpLlTJ5gBnskf3fjRSWmw9z5KL0X5087714lglGpCCxbR1JEVcFaZh6XcFi4CkE12qEKN8bOdTTnQ"

  @Test("A modulus of 2,048 bits has its first bit set: 0x80 is the least first byte")
  func modulus() throws {
    func read(_ modulus: [UInt8]) throws -> JSONWebKey {
      try JSONWebKey(
        parsing: #"{"kty":"RSA","e":"AQAB","n":"\#(Forge.base64(modulus))"}"#, as: .rs256)
    }
    var modulus = Forge.decoded(Self.leastModulus)
    #expect(modulus.count == 256 && modulus[0] == 0x80)
    #expect(try read(modulus).publicBytes == modulus)
    modulus[0] = 0x7f
    #expect(
      error { try read(modulus) }
        == .keyUnsupported("RSA of another size than 2048, 3072 and 4096 bits"))
  }

  /// A key that was made for this test: its “d” has 255 bytes.
  private static let short: JSONObject = [
    "kty": "RSA", "e": "AQAB",
    "n": .string(
      "qlsxlCsAoyXwTKJmtE00p6Lvy0I5Osa6VIXF5Gvs4s4FcaMcZvaMEqCPEQo5oRuSTroeh9YP-HQTaxQf-XmM"
        + "H2Uvq44Xd2jXceZFvVktQLvPVwH2v9M5PiEbB20ONCLVDbd6efIMVsEexSQwYPMH1uwBySVVQ8ToF8IzjJ6U"
        + "Og-W42x5O4JM4H2LvL4e06ySylBGxCRmG1eTN1iybJn3Mc0LA2AkAfVwCANExSJHdMaOeqJNsHxEb2WOLS0s"
        + "9kvJWUJzg-sJRcqZr-DeHJrkTHI954uD1X5Eg8TIFQzla9VpdTlHqSnkGSTodI5jefacRryCUsoGZLO8TaB6"
        + "x-l7UQ"),
    "d": .string(
      "7MxyyWnzE25AV5krIEAdfnBdcXByslnQ5xA-BYN0JqVAzgnUKaHBh5dUQ6zdU_ixPWC7xnYIm9cG-G7yEIDs"
        + "g1Bx_qPm2WaRFvj6oXnuu3WAC1VurXWTKzxKckJIHVhu-graBDqnowCWbNzYsopfO7-eSstgBO_xPWUQtyX5"
        + "ygVqjs4VdHMwcCK2ws93gZuAhoTmJmyCmQJn-EkBOuLjJwVcjLxhF2XukmrCofGrfGIpyjaeNvp6qmxJTD8B"
        + "tzNjA-a9FfuVXA3bQckMHK1axbDtlr0d-84c6VZ85aqUVu80sqUTNM8aJj5z4fiRCK8XMeoMvpdxrRuu2etN"
        + "5ULj"),
    "p": .string(
      "2X0CCS2jiPEnkmWGSn6xdlKQEMfJwMrbgSB-dGE4XtxWzy4Yqd6Z-fNqv4sdu3mbCoG2g-L78Mbpw11lsJAO"
        + "7AYGmGHo152a15Le-Lvnw-6FrZZdwvcwLon_ijEFVgVHBXIyJivQHAI0jjl3j5PmBDNSta-pJ9gU8syabIEF"
        + "WDM"),
    "q": .string(
      "yIWifJLT9s7iGMxB-bWTN4XKvkZjcsIscqApstQ9CAOqV9DMn1SQGw9jaiXeHeSRi3ZMTR4SBnPDDWOaQLY2"
        + "k-5JarDjmHx3MoqdRN2q6PecH0NL79t6ijpGyuzwbOEIF1s5ilI_IiI4EeG6WdSLURsFAngJDdsefS7ePvS1"
        + "6ms"),
    "dp": .string(
      "OsFL0ID04iUMJL-qtOtfM_EAHJhsx9nFzS-jGfu9x9rM1PHGFfYeMOly2EZUBPbITOFYFm820whZ1L6hnz57"
        + "2YWTOI2S4tUgJMb318ijx0nj8U5jDC3NZXVAhOvTXjbUxgLgy3EgqsBpxFaAF1jEVjQrTwwirbHxjtp5iYCd"
        + "mgM"),
    "dq": .string(
      "eGLSpJu6KikW0PCAg5yhn-nxSL8VoaY17TN_FWAarB8XO9Wdo-KvCa_5bZcCfUvmnaYONRZimAEUD4vG5ib_"
        + "KV0cMrO0UK4ZGfziYp_6phdSYeqTQpOwRCCss9QAnD2WD_-y0fqC8Mk-hG3S5W-XnL_uCAds2Ca_bUSgJYfh"
        + "V7U"),
    "qi": .string(
      "AwTyxq5Zh2UABM_uTIA0_XPRuCnqO9tThTEOVlo31u8Lnmw_SGz0OVBnGgmfQhv7H08r2VAkXkcg3XleJVd6"
        + "D_banGV5RqIr7VPCtaCJ_Opb9PM6WOqeLqnXt2dzU7eRNYS4te1PJNOjrwQmrlx--90kH7upriJfIkcTFkiA"
        + "584"),
  ]

  @Test("A private number that begins with a zero byte is written without it, and read either way")
  func leadingZero() throws {
    let key = try JSONWebKey(parsing: JSONValue.object(Self.short).text, as: .rs256)
    var expected = Self.short
    expected["alg"] = "RS256"
    expected["use"] = "sig"
    #expect(Self.text(try key.privateJSON()) == JSONValue.object(expected).text)
    guard case .string(let text)? = Self.short["d"] else { return }
    let number = Forge.decoded(text)
    #expect(number.count == 255)
    var padded = Self.short
    padded["d"] = .string(Forge.base64([0] + number))
    let again = try JSONWebKey(parsing: JSONValue.object(padded).text, as: .rs256)
    #expect(again.isSameKey(as: key))
    #expect(try again.withSecret { $0[0] == 0 && $0[1] == number[0] && $0.count == 896 })
    let token = try JWSSigner(again).sign(Sample.claims())
    #expect(try JWSVerifier(key).verify(token).key.isSameKey(as: key))
    padded["d"] = .string(Forge.base64([0, 0] + number))
    #expect(
      error { try JSONWebKey(parsing: JSONValue.object(padded).text, as: .rs256) }
        == .keyInvalid("its “d” is not base64url, or is too long"))
  }
}
