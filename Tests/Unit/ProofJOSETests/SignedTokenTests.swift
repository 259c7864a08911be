// SPDX-License-Identifier: Apache-2.0

import Testing

@testable import ProofJOSE

@Suite("Signed tokens")
struct SignedTokenTests {
  @Test("A signed token is verified, and has the same content", arguments: Sample.signing)
  func roundTrip(algorithm: KeyAlgorithm) throws {
    let verifier = try JWSVerifier(Sample.key(algorithm))
    let claims = try verifier.claims(of: Sample.signedToken(algorithm), under: Sample.policy())
    #expect(try claims.clearJSON() == Sample.claims().clearJSON())
  }

  @Test("A token's header and payload are canonical and always the same", arguments: Sample.signing)
  func canonical(algorithm: KeyAlgorithm) throws {
    let token = try Sample.signedToken(algorithm)
    let parts = token.split(separator: ".").map {
      String(decoding: Forge.decoded($0), as: UTF8.self)
    }
    #expect(parts[0] == #"{"alg":"\#(algorithm.rawValue)","kid":"k1","typ":"JWT"}"#)
    #expect(
      parts[1]
        == #"{"anno":["debug"],"arc":"ABCDEFGH27","did":"AQIDBAUGBwgJCgsMDQ4PEA==","exp":1800000300,"#
        + #""ip":"2001:db8::1","pay":"w1Xc6WwWEogNEZQP/dkBTThsJT4MNlKmzQanIm970rY="}"#)
    let again = try Sample.signedToken(algorithm)
    #expect((token == again) == (algorithm != .es256))
  }

  @Test("A token with any single bit changed is refused", arguments: Sample.signing)
  func everyBit(algorithm: KeyAlgorithm) throws {
    let verifier = try JWSVerifier(Sample.key(algorithm))
    let token = Array(try Sample.signedToken(algorithm).utf8)
    for bit in 0..<token.count * 8 {
      var altered = token
      altered[bit / 8] ^= 1 << (bit % 8)
      let text = String(decoding: altered, as: UTF8.self)
      #expect(error { try verifier.verify(text) } != nil, "bit \(bit)")
    }
  }

  @Test("A token cut anywhere, or continued, is refused", arguments: Sample.signing)
  func everyLength(algorithm: KeyAlgorithm) throws {
    let verifier = try JWSVerifier(Sample.key(algorithm))
    let token = try Sample.signedToken(algorithm)
    for count in 0..<token.count {
      #expect(error { try verifier.verify(String(token.prefix(count))) } != nil, "\(count)")
      #expect(error { try verifier.verify(String(token.dropFirst(count + 1))) } != nil, "\(count)")
    }
    for more in [".", "A", "=", "==", " ", "\n", "\0", "\r\n", "..", ".A"] {
      #expect(error { try verifier.verify(token + more) } != nil, "\(more)")
      #expect(error { try verifier.verify(more + token) } != nil, "\(more)")
    }
  }

  @Test("White space anywhere in a token is refused")
  func whiteSpace() throws {
    let verifier = try JWSVerifier(Sample.key(.hs256))
    let token = try Sample.signedToken(.hs256)
    for place in 0...token.count {
      for space in [" ", "\t", "\n", "\r", "\u{b}", "\u{a0}", "\u{200b}", "\u{feff}"] {
        var altered = token
        altered.insert(contentsOf: space, at: token.index(token.startIndex, offsetBy: place))
        #expect(error { try verifier.verify(altered) } != nil, "\(place)")
      }
    }
  }

  @Test("The parts of two good tokens do not mix")
  func mixed() throws {
    for algorithm in Sample.signing {
      let key = try Sample.key(algorithm)
      let one = try JWSSigner(key).sign(Claims(expiry: UnixTime(seconds: 1_800_000_001)))
      let other = try JWSSigner(key).sign(Claims(expiry: UnixTime(seconds: 1_900_000_000)))
      let (first, second) = (one.split(separator: "."), other.split(separator: "."))
      let verifier = try JWSVerifier(key)
      #expect(
        error { try verifier.verify("\(first[0]).\(second[1]).\(first[2])") } == .signatureWrong)
      #expect(
        error { try verifier.verify("\(first[0]).\(first[1]).\(second[2])") } == .signatureWrong)
    }
  }

  @Test("No algorithm but the key's is accepted, whatever the header names")
  func algorithmConfusion() throws {
    for mine in Sample.signing {
      let verifier = try JWSVerifier(Sample.key(mine))
      for theirs in Sample.signing where theirs != mine {
        let token = try Sample.signedToken(theirs)
        #expect(
          error { try verifier.verify(token) } == .algorithmMismatch(token: theirs, key: mine))
      }
      for name in [
        "none", "None", "NONE", "nOnE", "HS384", "HS512", "RS384", "PS256", "ES384",
        "ES256K", "hs256", "Ed25519", "", " HS256", "HS256 ", "HS256\0", "A128KW", "EdDSA2",
      ] {
        let header = #"{"alg":\#(JSONValue.string(name).text),"kid":"k1"}"#
        let token = try Forge.token(header: header, payload: "{}", key: Sample.key(mine))
        guard case .algorithmRefused? = error(of: { try verifier.verify(token) }) else {
          Issue.record("\(name) for \(mine)")
          continue
        }
        let unsigned = token.split(separator: ".").prefix(2).joined(separator: ".") + "."
        #expect(error { try verifier.verify(unsigned) } != nil)
      }
    }
  }

  @Test("A public key's bytes are no HMAC secret")
  func publicKeyAsSecret() throws {
    for algorithm in [KeyAlgorithm.es256, .edDSA, .rs256] {
      let key = try Sample.key(algorithm)
      let texts = [
        try #require(key.publicBytes), try #require(key.subjectPublicKeyInfo),
        Array(try key.publicJSON().utf8),
      ]
      for text in texts {
        let mac = try JSONWebKey(
          secret: JOSESecret(copying: text.span), algorithm: .hs256, id: "k1")
        let token = try JWSSigner(mac).sign(Sample.claims())
        #expect(
          error { try JWSVerifier(key).verify(token) }
            == .algorithmMismatch(token: .hs256, key: algorithm))
        let renamed = token.split(separator: ".")
        let header = Forge.base64(#"{"alg":"\#(algorithm.rawValue)","kid":"k1","typ":"JWT"}"#.utf8)
        #expect(
          error { try JWSVerifier(key).verify("\(header).\(renamed[1]).\(renamed[2])") }
            == .signatureWrong)
      }
    }
  }

  @Test("Another key of the same algorithm and name does not verify", arguments: Sample.signing)
  func otherKey(algorithm: KeyAlgorithm) throws {
    let verifier = try JWSVerifier(Sample.key(algorithm, start: 2))
    #expect(error { try verifier.verify(Sample.signedToken(algorithm)) } == .signatureWrong)
  }

  @Test("A signature of another length, of zeros or of ones is wrong", arguments: Sample.signing)
  func degenerateSignatures(algorithm: KeyAlgorithm) throws {
    let verifier = try JWSVerifier(Sample.key(algorithm))
    let input = try Sample.signedToken(algorithm).split(separator: ".").prefix(2)
      .joined(separator: ".")
    for count in [0, 1, 16, 31, 32, 33, 63, 64, 65, 71, 72, 96, 128, 255, 256, 257, 1_000] {
      for value in [UInt8(0), 1, 0xff] {
        let token = input + "." + Forge.base64([UInt8](repeating: value, count: count))
        #expect(error { try verifier.verify(token) } == .signatureWrong)
      }
    }
  }

  @Test("ES256: r and s are from 1 to the order less 1")
  func ecdsaRange() throws {
    let key = try Sample.key(.es256)
    let token = try Sample.signedToken(.es256)
    let input = token.split(separator: ".").prefix(2).joined(separator: ".")
    let signature = Forge.decoded(token.split(separator: ".")[2])
    let (r, s) = (Array(signature[..<32]), Array(signature[32...]))
    let zero = [UInt8](repeating: 0, count: 32)
    let order = KeyTests.p256Order
    let ones = [UInt8](repeating: 0xff, count: 32)
    for (r, s) in [
      (zero, s), (r, zero), (zero, zero), (order, s), (r, order), (ones, s), (r, ones),
    ] {
      #expect(
        error { try JWSVerifier(key).verify(input + "." + Forge.base64(r + s)) } == .signatureWrong)
    }
    // Adding the order to r or s would overflow 32 bytes, save for numbers that no signer meets.
    let negative = Self.difference(order, s)
    _ = try JWSVerifier(key).verify(input + "." + Forge.base64(r + negative))
  }

  @Test("EdDSA: S is below the order of the group")
  func edwardsMalleability() throws {
    let order = Hex.bytes("edd3f55c1a631258d69cf7a2def9de1400000000000000000000000000000010")
    let key = try Sample.key(.edDSA)
    let token = try Sample.signedToken(.edDSA)
    let input = token.split(separator: ".").prefix(2).joined(separator: ".")
    var signature = Forge.decoded(token.split(separator: ".")[2])
    for _ in 0..<7 {
      var carry = 0
      for index in 0..<32 {
        let sum = Int(signature[32 + index]) + Int(order[index]) + carry
        signature[32 + index] = UInt8(sum & 0xff)
        carry = sum >> 8
      }
      #expect(carry == 0)
      #expect(
        error { try JWSVerifier(key).verify(input + "." + Forge.base64(signature)) }
          == .signatureWrong)
    }
  }

  @Test("The name of the key is matched byte by byte")
  func keyNames() throws {
    let key = try Sample.key(.hs256, id: "Kk1")
    let exact = try JWSVerifier(key)
    let optional = try JWSVerifier(key, keyID: .optional)
    _ = try exact.verify(JWSSigner(key).sign(Sample.claims()))
    for id in ["kk1", "KK1", "\u{212a}k1", "Kk1 ", "Kk", "Kk11", "*", "../Kk1"] {
      let token = try JWSSigner(key.named(id)).sign(Sample.claims())
      #expect(error { try exact.verify(token) } == .keyUnknown(ExactText.quoted(id)))
      #expect(error { try optional.verify(token) } == .keyUnknown(ExactText.quoted(id)))
    }
    let unnamed = try JWSSigner(key.named(nil)).sign(Sample.claims())
    #expect(error { try exact.verify(unnamed) } == .keyUnknown(nil))
    _ = try optional.verify(unnamed)
    let keyWithoutName = try JWSVerifier(key.named(nil))
    _ = try keyWithoutName.verify(unnamed)
    let named = try JWSSigner(key).sign(Sample.claims())
    #expect(error { try keyWithoutName.verify(named) } == .keyUnknown("“Kk1”"))
    // The rule for one key without a name: the key alone decides.
    let any = try JWSVerifier(key.named(nil), keyID: .any)
    for token in [named, unnamed] { _ = try any.verify(token) }
    let other = try JWSSigner(Sample.key(.hs256, id: "Kk1").named("x")).sign(Sample.claims())
    _ = try any.verify(other)
    let foreign = try JWSSigner(JSONWebKey.random(.hs256, id: "Kk1")).sign(Sample.claims())
    #expect(error { try any.verify(foreign) } == .signatureWrong)
    // A key that has a name is no key of any name.
    let strict = try JWSVerifier(key, keyID: .any)
    #expect(error { try strict.verify(other) } == .keyUnknown("“x”"))
  }

  @Test("Among several keys the name finds the one, which alone is tried")
  func severalKeys() throws {
    let keys = try Sample.signing.map { try Sample.key($0, id: "key \($0)") }
    let verifier = try JWSVerifier(JWKS(keys))
    for key in keys {
      #expect(try verifier.verify(JWSSigner(key).sign(Sample.claims())).key.isSameKey(as: key))
    }
    let swapped = try JWSSigner(keys[0].named("key es256")).sign(Sample.claims())
    #expect(
      error { try verifier.verify(swapped) } == .algorithmMismatch(token: .hs256, key: .es256))
    #expect(
      error { try verifier.verify(JWSSigner(keys[0].named(nil)).sign(Sample.claims())) }
        == .keyUnknown(nil))
    #expect(
      error { try JWSVerifier(JWKS([])).verify(Sample.signedToken(.hs256)) } == .keyUnknown("“k1”"))
  }

  @Test("Tokens, headers and payloads are bounded")
  func sizes() throws {
    let key = try Sample.key(.hs256)
    let signer = try JWSSigner(key)
    let verifier = try JWSVerifier(key)
    let largest = [UInt8](repeating: 0x20, count: JOSELimits.payloadBytes)
    #expect(try verifier.verify(signer.sign(payload: largest.span)).payload == largest)
    #expect(
      error { try signer.sign(payload: (largest + [0]).span) }
        == .tooLong("payload", count: 40_961, limit: 40_960))
    let long = String(repeating: "A", count: 65_537)
    #expect(error { try verifier.verify(long) } == .tooLong("token", count: 65_537, limit: 65_536))
    let member = "{\"alg\":\"HS256\",\"kid\":\"k1\""
    func header(_ count: Int) throws -> String {
      let blanks = String(repeating: " ", count: count - member.utf8.count - 1)
      return try Forge.token(header: member + blanks + "}", payload: "{}", key: key)
    }
    #expect(try verifier.verify(header(4_096)).payload == Array("{}".utf8))
    #expect(
      error { try verifier.verify(header(4_097)) }
        == .tooLong("token's header", count: 4_097, limit: 4_096))
    #expect(error { try verifier.verify("") } == .wrongParts(expected: 3, actual: 1))
    let dots = String(repeating: ".", count: 60_000)
    #expect(error { try verifier.verify(dots) } == .wrongParts(expected: 3, actual: 60_001))
  }

  @Test("Any payload can be signed, the empty one too")
  func anyPayload() throws {
    for algorithm in Sample.signing {
      let key = try Sample.key(algorithm, id: nil)
      for payload in [[], [0], [0xff, 0xfe], Array("not JSON".utf8)] as [[UInt8]] {
        let token = try JWSSigner(key).sign(
          payload: payload.span, type: "config+jwt", contentType: "x")
        let verified = try JWSVerifier(key).verify(token)
        #expect(verified.payload == payload)
        #expect(verified.type == "config+jwt" && verified.contentType == "x")
      }
    }
  }

  @Test("An unverified token is read for people, without belief")
  func unverified() throws {
    let token = try Sample.signedToken(.es256)
    let altered = token.dropLast(10) + "AAAAAAAAAA"
    let read = try UnverifiedToken(reading: String(altered))
    #expect(read.algorithm == .es256 && read.keyID == "k1" && read.type == "JWT")
    #expect(read.payload["arc"] == "ABCDEFGH27")
    #expect(error { try UnverifiedToken(reading: "a.b") } != nil)
    let key = try Sample.key(.hs256)
    for payload in ["[]", "{", ""] {
      let token = try Forge.token(header: #"{"alg":"HS256"}"#, payload: payload, key: key)
      #expect(error { try UnverifiedToken(reading: token) } != nil)
    }
  }

  /// a - b, big-endian.
  private static func difference(_ a: [UInt8], _ b: [UInt8]) -> [UInt8] {
    var result = a
    var borrow = 0
    for index in stride(from: 31, through: 0, by: -1) {
      let value = Int(a[index]) - Int(b[index]) - borrow
      borrow = value < 0 ? 1 : 0
      result[index] = UInt8(value + borrow * 256)
    }
    return result
  }
}
