// SPDX-License-Identifier: Apache-2.0

import Testing

@testable import ProofJOSE

@Suite("Published examples")
struct PublishedVectorTests {
  @Test(
    "Signed tokens of the RFCs, of PyJWT and of jwcrypto are verified",
    arguments: VectorFile.blocks("jws", in: "rfc") + VectorFile.blocks("jws", in: "peers"))
  func signed(block: VectorFile.Block) throws {
    let key = try JSONWebKey(parsing: block["key"])
    let verified = try JWSVerifier(key).verify(block["token"])
    #expect(verified.payload == block.bytes("payload") || block["comment"].hasSuffix("PyJWT"))
    #expect(verified.key.isSameKey(as: key))
    if block["comment"].hasSuffix("PyJWT") {
      let claims = try JWSVerifier(key).claims(of: block["token"], under: Sample.policy())
      #expect(claims.expiry == UnixTime(seconds: 1_900_000_000, nanoseconds: 250_000_000))
      #expect(claims.instance == Array(4..<20))
      #expect(claims.others["vendor"] == ["text": "\u{e9}\u{2028}\u{1f600}\"\\/"])
      #expect(
        try JSONValue(parsing: verified.payload.span)
          == JSONValue(parsing: block.bytes("payload").span))
    }
  }

  @Test("Deterministic signatures of the RFCs come out of our signer, bit by bit")
  func deterministic() throws {
    for block in VectorFile.blocks("jws", in: "rfc") {
      let key = try JSONWebKey(parsing: block["key"])
      if key.algorithm == .es256 || !key.isPrivate { continue }
      let input = block["token"].split(separator: ".").prefix(2).joined(separator: ".")
      #expect(try Forge.token(input: input, key: key) == block["token"])
    }
  }

  @Test("Sealed tokens of jwcrypto are opened", arguments: VectorFile.blocks("jwe", in: "peers"))
  func sealed(block: VectorFile.Block) throws {
    let decrypter = try JWEDecrypter(JSONWebKey(parsing: block["key"]))
    let opened = try decrypter.open(block["token"])
    let isRight = opened.payload.matches(JOSESecret(copying: block.bytes("payload").span))
    #expect(isRight)
    let claims = try decrypter.claims(of: block["token"], under: Sample.policy())
    let measurement = try #require(claims.measurement)
    let parts = [
      measurement.withIntegrityMeasurement { bytes in bytes.indices.map { bytes[$0] } },
      measurement.withDeviceMeasurement { bytes in bytes.indices.map { bytes[$0] } },
      measurement.withProofKey { bytes in bytes.indices.map { bytes[$0] } },
    ]
    #expect(parts == [Array(6..<38), Array(7..<39), Array(8..<24)])
  }

  @Test(
    "Tokens signed by PyJWT and sealed by jwcrypto to a public key are opened and verified",
    arguments: VectorFile.blocks("nested", in: "peers"))
  func nested(block: VectorFile.Block) throws {
    let signer = try #require(
      VectorFile.blocks("jws", in: "peers").first { $0["comment"] == "ES256 by PyJWT" })
    let verifier = try JWSVerifier(#require(JSONWebKey(parsing: signer["key"]).publicKey))
    let decrypter = try JWEDecrypter(JSONWebKey(parsing: block["key"]))
    let claims = try decrypter.claims(
      of: block["token"], signedBy: verifier, under: Sample.nestedPolicy())
    let key = try #require(claims.measurement).withProofKey { bytes in
      bytes.indices.map { bytes[$0] }
    }
    #expect(key == Array(8..<24))
  }

  @Test(
    "Algorithms that this library has not are refused by name",
    arguments: VectorFile.blocks("refused", in: "rfc"))
  func refused(block: VectorFile.Block) throws {
    let expected = JOSEError.algorithmRefused("“\(block["name"])”")
    if block["token"].split(separator: ".", omittingEmptySubsequences: false).count == 3 {
      for algorithm in Sample.signing {
        let verifier = try JWSVerifier(Sample.key(algorithm), keyID: .optional)
        #expect(error { try verifier.verify(block["token"]) } == expected)
      }
    } else {
      for algorithm in Sample.sealing {
        let decrypter = try JWEDecrypter(Sample.key(algorithm), keyID: .optional)
        #expect(error { try decrypter.open(block["token"]) } == expected)
      }
    }
  }

  @Test("Another content encryption is refused by name")
  func refusedEncryption() throws {
    let block = try #require(VectorFile.blocks("refused_encryption", in: "rfc").first)
    let decrypter = try JWEDecrypter(JSONWebKey(parsing: block["key"]))
    #expect(error { try decrypter.open(block["token"]) } == .encryptionRefused("“A128GCM”"))
  }

  @Test("A256GCM gives the published bytes", arguments: VectorFile.blocks("gcm", in: "rfc"))
  func gcm(block: VectorFile.Block) throws {
    let (key, iv, aad) = (block.bytes("key"), block.bytes("iv"), block.bytes("aad"))
    let sealed = try GCM.seal(
      block.bytes("plaintext").span, key: key.span, iv: iv.span, additionalData: aad.span)
    #expect(sealed.ciphertext == block.bytes("ciphertext"))
    #expect(sealed.tag == block.bytes("tag"))
    let opened = try GCM.open(
      sealed.ciphertext.span, tag: sealed.tag.span, key: key.span, iv: iv.span,
      additionalData: aad.span)
    let isRight = opened?.matches(JOSESecret(copying: block.bytes("plaintext").span))
    #expect(isRight == true)
  }

  @Test("Key wrap gives the published bytes")
  func keyWrap() throws {
    let block = try #require(VectorFile.blocks("key_wrap", in: "rfc").first)
    let key = JOSESecret(copying: block.bytes("key").span)
    let kek = block.bytes("kek")
    let wrapped = try KeyWrap.wrap(key, under: kek.span)
    #expect(wrapped == block.bytes("wrapped"))
    let isRight = try KeyWrap.unwrap(wrapped.span, under: kek.span)?.matches(key)
    #expect(isRight == true)
    for bit in 0..<wrapped.count * 8 {
      var altered = wrapped
      altered[bit / 8] ^= 1 << (bit % 8)
      let isOpened = try KeyWrap.unwrap(altered.span, under: kek.span) != nil
      #expect(!isOpened, "bit \(bit)")
    }
  }

  @Test("Thumbprints are those of RFC 8037, and the same for both parts of a key")
  func thumbprints() throws {
    let block = try #require(VectorFile.blocks("thumbprint", in: "rfc").first)
    let key = try JSONWebKey(parsing: block["key"])
    #expect(try key.thumbprintText() == block["thumbprint"])
    #expect(try #require(key.publicKey).thumbprintText() == block["thumbprint"])
    #expect(try key.named("x").thumbprintText() == block["thumbprint"])
  }
}
