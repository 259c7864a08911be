// SPDX-License-Identifier: Apache-2.0

import Testing

@testable import ProofJOSE

@Suite("Sealed tokens")
struct SealedTokenTests {
  private static let byte: [UInt8] = [1]

  @Test("A sealed token is opened, and has the same content", arguments: Sample.sealing)
  func roundTrip(algorithm: KeyAlgorithm) throws {
    let decrypter = try JWEDecrypter(Sample.key(algorithm))
    let token = try Sample.sealedToken(algorithm)
    let claims = try decrypter.claims(of: token, under: Sample.policy())
    var expected = try Sample.claims()
    expected.measurement = try Sample.measurement()
    let isSame = try claims.secretJSON().matches(expected.secretJSON())
    #expect(isSame)
    let header = String(decoding: Forge.decoded(token.prefix { $0 != "." }), as: UTF8.self)
    #expect(header == #"{"alg":"\#(algorithm.rawValue)","enc":"A256GCM","kid":"k1","typ":"JWT"}"#)
  }

  @Test("A token with any single bit changed is refused", arguments: Sample.sealing)
  func everyBit(algorithm: KeyAlgorithm) throws {
    let decrypter = try JWEDecrypter(Sample.key(algorithm))
    let token = Array(try Sample.sealedToken(algorithm).utf8)
    for bit in 0..<token.count * 8 {
      var altered = token
      altered[bit / 8] ^= 1 << (bit % 8)
      let text = String(decoding: altered, as: UTF8.self)
      #expect(error { try decrypter.open(text) } != nil, "bit \(bit)")
    }
  }

  @Test("A token cut anywhere, or continued, is refused", arguments: Sample.sealing)
  func everyLength(algorithm: KeyAlgorithm) throws {
    let decrypter = try JWEDecrypter(Sample.key(algorithm))
    let token = try Sample.sealedToken(algorithm)
    for count in 0..<token.count {
      #expect(error { try decrypter.open(String(token.prefix(count))) } != nil, "\(count)")
    }
    for more in [".", "A", "=", " ", "\n", "\0"] {
      #expect(error { try decrypter.open(token + more) } != nil)
      #expect(error { try decrypter.open(more + token) } != nil)
    }
  }

  @Test(
    "A wrong part of the right form always gives the same answer", arguments: Sample.sealing)
  func equalAnswers(algorithm: KeyAlgorithm) throws {
    let decrypter = try JWEDecrypter(Sample.key(algorithm))
    let token = try Sample.sealedToken(algorithm)
    let parts = token.split(separator: ".", omittingEmptySubsequences: false).map(String.init)
    for part in 1..<5 {
      var bytes = Forge.decoded(parts[part])
      if bytes.isEmpty { continue }
      for place in [0, bytes.count / 2, bytes.count - 1] {
        bytes[place] ^= 0x40
        var altered = parts
        altered[part] = Forge.base64(bytes)
        #expect(
          error { try decrypter.open(altered.joined(separator: ".")) } == .decryptionFailed)
      }
    }
    let other = try JWEDecrypter(Sample.key(algorithm, start: 2))
    #expect(error { try other.open(token) } == .decryptionFailed)
    let emptied = [parts[0], parts[1], parts[2], "", parts[4]].joined(separator: ".")
    #expect(error { try decrypter.open(emptied) } == .decryptionFailed)
    let header = Forge.base64(
      #"{"alg":"\#(algorithm.rawValue)","enc":"A256GCM","kid":"k1","typ":"jwt"}"#.utf8)
    let reheaded = ([header] + parts.dropFirst()).joined(separator: ".")
    #expect(error { try decrypter.open(reheaded) } == .decryptionFailed)
  }

  @Test("Parts of other lengths are refused before any key is used")
  func lengths() throws {
    for algorithm in Sample.sealing {
      let decrypter = try JWEDecrypter(Sample.key(algorithm))
      let parts = try Sample.sealedToken(algorithm)
        .split(separator: ".", omittingEmptySubsequences: false).map(String.init)
      let wrapped = algorithm == .a256kw ? 40 : 0
      for (part, name, expected) in [
        (1, TokenPart.encryptedKey, wrapped), (2, .initializationVector, 12), (4, .tag, 16),
      ] {
        for count in [0, 1, 8, 11, 12, 13, 15, 16, 17, 32, 39, 40, 41] where count != expected {
          var altered = parts
          altered[part] = Forge.base64([UInt8](repeating: 1, count: count))
          #expect(
            error { try decrypter.open(altered.joined(separator: ".")) }
              == .wrongLength(name, expected: expected, actual: count))
        }
      }
    }
  }

  @Test("No algorithm or encryption but the key's is accepted")
  func algorithmConfusion() throws {
    let direct = try JWEDecrypter(Sample.key(.direct))
    let wrapping = try JWEDecrypter(Sample.key(.a256kw))
    #expect(
      error { try direct.open(Sample.sealedToken(.a256kw)) }
        == .algorithmMismatch(token: .a256kw, key: .direct))
    #expect(
      error { try wrapping.open(Sample.sealedToken(.direct)) }
        == .algorithmMismatch(token: .direct, key: .a256kw))
    let key = try Sample.key(.direct)
    for name in [
      "none", "RSA1_5", "RSA-OAEP", "ECDH-ES", "A128KW", "A256GCMKW", "PBES2-HS256+A128KW",
      "DIR", "Dir",
    ] {
      let token = try Forge.sealed(
        header: #"{"alg":"\#(name)","enc":"A256GCM","kid":"k1"}"#, payload: "{}", key: key)
      #expect(error { try direct.open(token) } == .algorithmRefused("“\(name)”"))
    }
    for name in ["A128GCM", "A192GCM", "A256CBC-HS512", "A128CBC-HS256", "none", "a256gcm", ""] {
      let token = try Forge.sealed(
        header: #"{"alg":"dir","enc":"\#(name)","kid":"k1"}"#, payload: "{}", key: key)
      #expect(error { try direct.open(token) } == .encryptionRefused("“\(name)”"))
    }
    let missing = try Forge.sealed(header: #"{"alg":"dir","kid":"k1"}"#, payload: "{}", key: key)
    #expect(error { try direct.open(missing) } == .headerMember("enc"))
    let signed = try Forge.sealed(
      header: #"{"alg":"HS256","enc":"A256GCM","kid":"k1"}"#, payload: "{}", key: key)
    #expect(error { try direct.open(signed) } == .algorithmMismatch(token: .hs256, key: .direct))
  }

  @Test("A signed token is not taken for a sealed one, nor the reverse")
  func kinds() throws {
    #expect(
      error { try JWEDecrypter(Sample.key(.direct)).open(Sample.signedToken(.hs256)) }
        == .wrongParts(expected: 5, actual: 3))
    #expect(
      error { try JWSVerifier(Sample.key(.hs256)).verify(Sample.sealedToken(.direct)) }
        == .wrongParts(expected: 3, actual: 5))
  }

  @Test("No initialization vector comes twice, nor a wrapped key", arguments: Sample.sealing)
  func freshness(algorithm: KeyAlgorithm) throws {
    let encrypter = try JWEEncrypter(Sample.key(algorithm))
    var seen: Set<String> = []
    let count = 2_000
    for _ in 0..<count {
      let parts = try encrypter.seal(payload: Self.byte.span)
        .split(separator: ".", omittingEmptySubsequences: false)
      for part in parts[1...4] where !part.isEmpty && part.count > 2 {
        #expect(seen.insert(String(part)).inserted)
      }
    }
    #expect(encrypter.sealedCount == UInt64(count))
  }

  @Test("A key seals 2^32 tokens and no more, over all its copies", arguments: Sample.sealing)
  func exhaustion(algorithm: KeyAlgorithm) throws {
    let limit = UInt64(1) << 32
    let key = try Sample.key(algorithm)
    let one = try JWEEncrypter(key, sealedBefore: limit - 2)
    let other = try JWEEncrypter(key.named("other"))
    _ = try one.seal(payload: Self.byte.span)
    _ = try other.seal(payload: Self.byte.span)
    for encrypter in [one, other, try JWEEncrypter(key)] {
      #expect(error { try encrypter.seal(payload: Self.byte.span) } == .keyExhausted(limit: limit))
      #expect(encrypter.sealedCount == limit)
    }
    let spent = try JWEEncrypter(Sample.key(algorithm), sealedBefore: .max)
    #expect(error { try spent.seal(payload: Self.byte.span) } == .keyExhausted(limit: limit))
    #expect(spent.sealedCount == limit)
    // A key that can seal no more still opens.
    let opened = try JWEDecrypter(key).open(Sample.sealedToken(algorithm))
    #expect(opened.payload.count > 0)
  }

  @Test("A later start than the stored count does not turn the count back")
  func countIsMonotonic() throws {
    let key = try Sample.key(.direct)
    let encrypter = try JWEEncrypter(key, sealedBefore: 100)
    _ = try JWEEncrypter(key, sealedBefore: 5)
    #expect(encrypter.sealedCount == 100)
  }

  @Test("Any payload can be sealed, the empty one too; a signed token inside says so")
  func anyPayload() throws {
    for algorithm in Sample.sealing {
      let key = try Sample.key(algorithm, id: nil)
      let empty = try JWEEncrypter(key).seal(payload: [UInt8]().span)
      let opened = try JWEDecrypter(key).open(empty)
      #expect(opened.payload.count == 0 && opened.type == nil && opened.contentType == nil)
      let inner = try Sample.signedToken(.es256)
      let outer = try JWEEncrypter(key).seal(
        payload: Array(inner.utf8).span, type: "JWT", contentType: "JWT")
      let nested = try JWEDecrypter(key).open(outer)
      let isInner = nested.payload.matches(JOSESecret(copying: Array(inner.utf8).span))
      #expect(isInner && nested.contentType == "JWT")
      #expect(
        error { try JWEDecrypter(key).claims(of: outer, under: Sample.policy()) }
          == .contentTypeRefused("“JWT”"))
    }
  }

  @Test("Among several keys the name finds the one, which alone is tried")
  func severalKeys() throws {
    let keys = try Sample.sealing.map { try Sample.key($0, id: "key \($0)") }
    let decrypter = try JWEDecrypter(JWKS(keys))
    for key in keys {
      let opened = try decrypter.open(JWEEncrypter(key).seal(payload: Self.byte.span))
      #expect(opened.key.isSameKey(as: key))
    }
    let unnamed = try JWEEncrypter(keys[0].named(nil)).seal(payload: Self.byte.span)
    #expect(error { try decrypter.open(unnamed) } == .keyUnknown(nil))
    #expect(
      error { try JWEDecrypter(JWKS([keys[0], Sample.key(.hs256)])) }
        == .keyForOtherUse(.hs256, wanted: "decrypt"))
  }

  @Test("Payloads are bounded")
  func sizes() throws {
    for algorithm in Sample.sealing {
      let id = String(repeating: "x", count: 128)
      let key = try Sample.key(algorithm, id: id)
      let largest = [UInt8](repeating: 1, count: JOSELimits.payloadBytes)
      let token = try JWEEncrypter(key).seal(payload: largest.span, type: id, contentType: id)
      #expect(token.utf8.count <= JOSELimits.tokenCharacters)
      let count = try JWEDecrypter(key).open(token).payload.count
      #expect(count == largest.count)
      #expect(
        error { try JWEEncrypter(key).seal(payload: (largest + [1]).span) }
          == .tooLong("payload", count: 40_961, limit: 40_960))
    }
  }
}
