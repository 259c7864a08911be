// SPDX-License-Identifier: Apache-2.0

import Foundation

@testable import ProofJOSE

/// Keys, claims and tokens that many tests begin with.
enum Sample {
  static let now = UnixTime(seconds: 1_800_000_000)
  static let signing: [KeyAlgorithm] = [.hs256, .es256, .edDSA, .rs256]
  /// Under a shared key.
  static let sealing: [KeyAlgorithm] = [.direct, .a256kw]
  /// To a public key.
  static let sealingToPublic: [KeyAlgorithm] = [.ecdhES, .rsaOAEP256]

  /// A key made of counters, or a published one of RSA: the same in every run.
  static func key(_ algorithm: KeyAlgorithm, id: String? = "k1", start: UInt8 = 1) throws
    -> JSONWebKey
  {
    guard let count = algorithm.freshSecretByteCount else {
      return try RSASample.key(algorithm, id: id, isFirst: start == 1)
    }
    let secret = JOSESecret(count: count) { bytes in
      for index in bytes.indices { bytes[index] = start &+ UInt8(index) }
    }
    return try JSONWebKey(secret: secret, algorithm: algorithm, id: id)
  }

  static func policy() throws -> ClaimsPolicy {
    try ClaimsPolicy(clock: .fixed(now))
  }

  /// Claims as a token for an app's request has them.
  static func claims() throws -> Claims {
    var claims = Claims(expiry: now.advanced(by: 300))
    claims.instance = Array(1...16)
    claims.address = "2001:db8::1"
    claims.attestationCode = "ABCDEFGH27"
    claims.annotations = ["debug"]
    claims.binding = try Claims.Binding(to: "Bearer abc")
    return claims
  }

  static func measurement(start: UInt8 = 1) throws -> MeasurementClaims {
    let bytes = (0..<80).map { start &+ UInt8($0) }
    return try MeasurementClaims(
      integrityMeasurement: bytes.span.extracting(0..<32),
      deviceMeasurement: bytes.span.extracting(32..<64), proofKey: bytes.span.extracting(64..<80))
  }

  static func signedToken(_ algorithm: KeyAlgorithm) throws -> String {
    try JWSSigner(key(algorithm)).sign(claims())
  }

  static func sealedToken(_ algorithm: KeyAlgorithm) throws -> String {
    var claims = try claims()
    claims.measurement = try measurement()
    return try JWEEncrypter(key(algorithm)).seal(claims)
  }

  /// For whom nested tokens are.
  static let audience = "api.example.com"

  static func nestedPolicy() throws -> ClaimsPolicy {
    try ClaimsPolicy(clock: .fixed(now), audience: audience)
  }

  static func nestedClaims() throws -> Claims {
    var claims = try claims()
    claims.measurement = try measurement()
    claims.audience = [audience]
    return claims
  }

  /// Signed by the key of ES256, then sealed.
  static func nestedToken(_ algorithm: KeyAlgorithm) throws -> String {
    let signer = try JWSSigner(key(.es256))
    let key = try key(algorithm)
    return try JWEEncrypter(key.publicKey ?? key).seal(nestedClaims(), signedBy: signer)
  }
}

/// Tokens that our signer would never make.
enum Forge {
  static func base64(_ bytes: some Sequence<UInt8>) -> String {
    let bytes = Array(bytes)
    let text = TextWriter.bytes { writer, text in writer.base64(bytes.span, .url, into: &text) }
    return String(decoding: text, as: UTF8.self)
  }

  static func decoded(_ text: some StringProtocol) -> [UInt8] {
    Base64Alphabet.url.decode(Array(text.utf8).span) ?? []
  }

  /// A rightly signed token with any header and payload.
  static func token(header: String, payload: String, key: JSONWebKey) throws -> String {
    let input = base64(header.utf8) + "." + base64(payload.utf8)
    return try token(input: input, key: key)
  }

  static func token(input: String, key: JSONWebKey) throws -> String {
    let message = Array(input.utf8)
    let signature: [UInt8]
    if let coreKey = key.material.coreKey {
      signature = try coreKey.sign(message.span)
    } else {
      signature = try key.withSecret { secret throws(JOSEError) in
        try Digest.hmac(message.span, key: secret)
      }
    }
    return input + "." + base64(signature)
  }

  /// A rightly sealed token with any header and payload, under a direct key.
  static func sealed(header: String, payload: String, key: JSONWebKey) throws -> String {
    let header = Array(base64(header.utf8).utf8)
    let iv = [UInt8](repeating: 7, count: 12)
    let sealed = try key.withSecret { secret throws(JOSEError) in
      try GCM.seal(
        Array(payload.utf8).span, key: secret, iv: iv.span, additionalData: header.span)
    }
    return String(decoding: header, as: UTF8.self) + ".." + base64(iv) + "."
      + base64(sealed.ciphertext) + "." + base64(sealed.tag)
  }

  /// The token with another first character of its last part.
  static func spoiled(_ token: String) -> String {
    var characters = Array(token.utf8)
    let place = characters.lastIndex(of: UInt8(ascii: ".")).map { $0 + 1 } ?? 0
    characters[place] =
      characters[place] == UInt8(ascii: "A") ? UInt8(ascii: "B") : UInt8(ascii: "A")
    return String(decoding: characters, as: UTF8.self)
  }

  /// Seals what a sealed token would not be given, such as claims of a wrong form.
  static func sealed(claims: String, key: JSONWebKey) throws -> String {
    try JWEEncrypter(key).seal(payload: Array(claims.utf8).span, type: "JWT")
  }
}

/// The error that an expression throws, as a `JOSEError`.
func error<R: ~Copyable>(of body: () throws -> R) -> JOSEError? {
  do {
    _ = try body()
    return nil
  } catch {
    return error as? JOSEError
  }
}
