// SPDX-License-Identifier: Apache-2.0

import Testing

@testable import ProofJOSE

@Suite("Tokens that are signed, then sealed")
struct NestedTokenTests {
  private static let all = Sample.sealing + Sample.sealingToPublic

  private static func verifier() throws -> JWSVerifier {
    try JWSVerifier(#require(Sample.key(.es256).publicKey))
  }

  private static func open(_ token: String, _ algorithm: KeyAlgorithm) throws -> Claims {
    try JWEDecrypter(Sample.key(algorithm)).claims(
      of: token, signedBy: verifier(), under: Sample.nestedPolicy())
  }

  @Test("A signed and sealed token is opened and verified, with the same content", arguments: all)
  func roundTrip(algorithm: KeyAlgorithm) throws {
    let token = try Sample.nestedToken(algorithm)
    let claims = try Self.open(token, algorithm)
    let isSame = try claims.secretJSON().matches(Sample.nestedClaims().secretJSON())
    #expect(isSame)
    #expect(token != (try Sample.nestedToken(algorithm)))
  }

  @Test("A public key seals, and does not open", arguments: Sample.sealingToPublic)
  func publicKey(algorithm: KeyAlgorithm) throws {
    let key = try #require(Sample.key(algorithm).publicKey)
    #expect(error { try JWEDecrypter(key) } == .keyNotPrivate)
    #expect(error { try JWEDecrypter(JWKS([key])) } == .keyNotPrivate)
    #expect(error { try JWSVerifier(key) } != nil)
    #expect(error { try JWSSigner(Sample.key(algorithm)) } != nil)
    let published = try JWKS([key, Sample.key(.es256, id: "k2")])
    #expect(try JWKS(parsing: published.publicJSON).keys.map(\.algorithm) == [.es256])
    #expect(try JWKS(parsing: #"{"keys":[\#(key.publicJSON())]}"#).keys.isEmpty)
  }

  @Test("To a public key nothing goes unsigned, without aud, or signed by a shared key")
  func senderRules() throws {
    let signer = try JWSSigner(Sample.key(.es256))
    for algorithm in Sample.sealingToPublic {
      let encrypter = try JWEEncrypter(Sample.key(algorithm))
      #expect(error { try encrypter.seal(Sample.nestedClaims()) } == .signatureMissing)
      var claims = try Sample.nestedClaims()
      claims.audience = []
      #expect(error { try encrypter.seal(claims, signedBy: signer) } == .claimMissing("aud"))
      let shared = try JWSSigner(Sample.key(.hs256))
      guard
        case .keyForOtherUse(.hs256, _)? = error(of: {
          try encrypter.seal(Sample.nestedClaims(), signedBy: shared)
        })
      else {
        Issue.record("a shared key signed")
        return
      }
    }
  }

  @Test("A token of a public key that the service did not sign is refused")
  func forgeries() throws {
    let verifier = try Self.verifier()
    let claims = try Sample.nestedClaims().secretJSON()
    for algorithm in Sample.sealingToPublic {
      let key = try Sample.key(algorithm)
      let encrypter = try JWEEncrypter(#require(key.publicKey))
      let decrypter = try JWEDecrypter(key)
      func judged(_ token: String) throws -> JOSEError? {
        error {
          try decrypter.claims(of: token, signedBy: verifier, under: Sample.nestedPolicy())
        }
      }
      // Claims alone, with and without the mark of a nested token.
      let bare = try claims.withBytes { try encrypter.seal(payload: $0, type: "JWT") }
      #expect(try judged(bare) == .signatureMissing)
      #expect(
        error { try decrypter.claims(of: bare, under: Sample.nestedPolicy()) } == .signatureMissing)
      let marked = try claims.withBytes {
        try encrypter.seal(payload: $0, type: "JWT", contentType: "JWT")
      }
      #expect(try judged(marked) != nil)
      func nested(_ inner: String, _ contentType: String = "JWT") throws -> String {
        try encrypter.seal(
          payload: Array(inner.utf8).span, type: "JWT", contentType: contentType)
      }
      // Signed by another key of the same name, by the public key as a shared one, by none.
      let stranger = try JWSSigner(Sample.key(.es256, start: 9))
      let strange = try encrypter.seal(Sample.nestedClaims(), signedBy: stranger)
      #expect(try judged(strange) == .signatureWrong)
      for header in [#"{"alg":"none","kid":"k1"}"#, #"{"alg":"HS256","kid":"k1"}"#] {
        let inner =
          Forge.base64(header.utf8) + "."
          + claims.withBytes { text in
            Forge.base64(text.indices.map { text[$0] })
          } + "."
        #expect(try judged(nested(inner)) != nil)
        #expect(try judged(nested(inner + "AAAA")) != nil)
      }
      // Another content type, and a nested token within a nested one.
      let inner = try Sample.signedToken(.es256)
      #expect(try judged(nested(inner, "jwt")) == .signatureMissing)
      #expect(try judged(nested(inner, "at+jwt")) == .signatureMissing)
      #expect(try judged(nested(Sample.nestedToken(algorithm))) != nil)
      for text in ["", "..", "a.b", "a.b.c.d", String(repeating: ".", count: 5_000)] {
        #expect(try judged(nested(text)) != nil)
      }
    }
  }

  @Test("A token of a public key that a shared key signed inside is refused")
  func sharedSigner() throws {
    let shared = try Sample.key(.hs256)
    let signed = try JWSSigner(shared).signed(Sample.nestedClaims(), type: "JWT")
    for algorithm in Self.all {
      let key = try Sample.key(algorithm)
      let token = try signed.withBytes { bytes in
        try JWEEncrypter(key).seal(payload: bytes, type: "JWT", contentType: "JWT")
      }
      let decrypter = try JWEDecrypter(key)
      let answer = error {
        try decrypter.claims(
          of: token, signedBy: JWSVerifier(shared), under: Sample.nestedPolicy())
      }
      #expect((answer == nil) == !algorithm.isPublicKeyEncryption, "\(algorithm)")
    }
  }

  @Test("A token for one recipient, sealed again to another, is refused by its audience")
  func forwarding() throws {
    let mine = try Sample.key(.ecdhES)
    let opened = try JWEDecrypter(mine).open(Sample.nestedToken(.ecdhES))
    let theirs = try JSONWebKey.random(.ecdhES, id: "theirs")
    let forwarded = try opened.payload.withBytes { bytes in
      try JWEEncrypter(#require(theirs.publicKey)).seal(
        payload: bytes, type: "JWT", contentType: "JWT")
    }
    let policy = try ClaimsPolicy(clock: .fixed(Sample.now), audience: "other.example.com")
    #expect(
      error {
        try JWEDecrypter(theirs).claims(
          of: forwarded, signedBy: Self.verifier(), under: policy)
      } == .audienceRefused(["“\(Sample.audience)”"]))
    // Signed rightly, without an audience: an encrypter of ours does not make it.
    var claims = try Sample.nestedClaims()
    claims.audience = []
    let signed = try JWSSigner(Sample.key(.es256)).signed(claims, type: "JWT")
    let forNobody = try signed.withBytes { bytes in
      try JWEEncrypter(mine).seal(payload: bytes, type: "JWT", contentType: "JWT")
    }
    #expect(
      error {
        try JWEDecrypter(mine).claims(
          of: forNobody, signedBy: Self.verifier(), under: Sample.policy())
      } == .audienceRefused([]))
  }

  @Test("A measurement leaves a nested token no other way than sealed")
  func measurementInClear() throws {
    let opened = try JWEDecrypter(Sample.key(.ecdhES)).open(Sample.nestedToken(.ecdhES))
    let inner = opened.payload.withBytes { bytes in
      String(decoding: bytes.indices.map { bytes[$0] }, as: UTF8.self)
    }
    #expect(
      error { try Self.verifier().claims(of: inner, under: Sample.nestedPolicy()) }
        == .measurementInClear)
  }

  @Test("Nested tokens are refused like plain ones: time, audience, binding")
  func policies() throws {
    for algorithm in Self.all {
      let decrypter = try JWEDecrypter(Sample.key(algorithm))
      let token = try Sample.nestedToken(algorithm)
      for policy in [
        try ClaimsPolicy(clock: .fixed(Sample.now.advanced(by: 301)), audience: Sample.audience),
        try ClaimsPolicy(clock: .fixed(Sample.now), audience: "other.example.com"),
        try ClaimsPolicy(clock: .fixed(Sample.now)),
        try ClaimsPolicy(
          clock: .fixed(Sample.now), audience: Sample.audience,
          binding: Claims.Binding(to: "Bearer abd")),
      ] {
        #expect(
          error { try decrypter.claims(of: token, signedBy: Self.verifier(), under: policy) } != nil
        )
      }
    }
  }
}
