// SPDX-License-Identifier: Apache-2.0

/// The algorithm of a key. One key has one algorithm; a token's header never chooses.
public enum KeyAlgorithm: String, Sendable, Hashable, CaseIterable {
  /// HMAC with SHA-256: every verifier of its tokens can also sign.
  case hs256 = "HS256"
  /// ECDSA on the curve P-256 with SHA-256.
  case es256 = "ES256"
  /// Ed25519 (RFC 8037).
  case edDSA = "EdDSA"
  /// RSASSA-PKCS1-v1_5 with SHA-256, 2048, 3072 or 4096 bits.
  case rs256 = "RS256"
  /// A256GCM, directly under a shared key.
  case direct = "dir"
  /// A256GCM under a fresh key for each token, wrapped (RFC 3394) under a shared key.
  case a256kw = "A256KW"
  /// A256GCM under a fresh key for each token. That key is wrapped under the secret on which a
  /// fresh pair of P-256 and the recipient's key agree.
  case ecdhES = "ECDH-ES+A256KW"
  /// A256GCM under a fresh key for each token, encrypted to the recipient's RSA key of 2048, 3072 or
  /// 4096 bits (OAEP, SHA-256).
  case rsaOAEP256 = "RSA-OAEP-256"

  /// Whether tokens are signed, rather than encrypted.
  public var isSignature: Bool {
    switch self {
    case .hs256, .es256, .edDSA, .rs256: true
    case .direct, .a256kw, .ecdhES, .rsaOAEP256: false
    }
  }

  /// Whether both sides hold the same secret.
  public var isSymmetric: Bool { coreKind == nil }

  /// Whether tokens are encrypted to a public key: every sender can make one, and only the
  /// recipient can open it.
  public var isPublicKeyEncryption: Bool { !isSignature && !isSymmetric }

  /// The allowed lengths of the secret.
  var secretByteCounts: ClosedRange<Int> {
    switch self {
    case .hs256: JOSELimits.macKeyBytes
    case .direct, .a256kw: GCM.keyByteCount...GCM.keyByteCount
    case .es256, .edDSA, .ecdhES, .rs256, .rsaOAEP256:
      CoreKey.secretByteCounts(of: coreKind ?? .p256)
    }
  }

  /// The length of a new random secret; `nil` for RSA, whose numbers are searched for. The account
  /// secret of HS256 has 64 bytes by convention.
  var freshSecretByteCount: Int? {
    switch self {
    case .hs256: 64
    case .rs256, .rsaOAEP256: nil
    case .es256, .edDSA, .direct, .a256kw, .ecdhES: 32
    }
  }

  /// The kind of libcrypto's key; `nil` for symmetric algorithms.
  var coreKind: CoreKey.Kind? {
    switch self {
    case .es256, .ecdhES: .p256
    case .edDSA: .ed25519
    case .rs256, .rsaOAEP256: .rsa
    case .hs256, .direct, .a256kw: nil
    }
  }

  /// The `kty` of RFC 7518, 6.1, and RFC 8037.
  var keyType: String {
    switch coreKind {
    case nil: "oct"
    case .p256: "EC"
    case .ed25519: "OKP"
    case .rsa: "RSA"
    }
  }

  /// The `use` of RFC 7517, 4.2.
  var use: String { isSignature ? "sig" : "enc" }

  /// The algorithm of an asymmetric key, by its type and its use.
  static func asymmetric(keyType: String, use: String) -> KeyAlgorithm? {
    allCases.first { $0.coreKind != nil && $0.keyType == keyType && $0.use == use }
  }
}

/// The operations that a key is allowed for, by the names of RFC 7517, 4.3.
struct KeyOperations: OptionSet, Sendable {
  let rawValue: UInt8

  static let sign = KeyOperations(rawValue: 1)
  static let verify = KeyOperations(rawValue: 2)
  static let encrypt = KeyOperations(rawValue: 4)
  static let decrypt = KeyOperations(rawValue: 8)
  static let wrapKey = KeyOperations(rawValue: 16)
  static let unwrapKey = KeyOperations(rawValue: 32)
  /// Key agreement, which has one name for both directions.
  static let derive = KeyOperations(rawValue: 64)

  static let names: [(name: String, operation: KeyOperations)] = [
    ("sign", .sign), ("verify", .verify), ("encrypt", .encrypt), ("decrypt", .decrypt),
    ("wrapKey", .wrapKey), ("unwrapKey", .unwrapKey), ("deriveKey", .derive),
    ("deriveBits", .derive),
  ]

  /// The operations of an algorithm, for a key with or without its private part.
  static func all(of algorithm: KeyAlgorithm, isPrivate: Bool = true) -> KeyOperations {
    switch algorithm {
    case .hs256: [.sign, .verify]
    case .es256, .edDSA, .rs256: isPrivate ? [.sign, .verify] : .verify
    case .direct: [.encrypt, .decrypt]
    case .a256kw: [.wrapKey, .unwrapKey]
    case .ecdhES: isPrivate ? [.derive, .wrapKey, .unwrapKey] : [.derive, .wrapKey]
    case .rsaOAEP256: isPrivate ? [.wrapKey, .unwrapKey] : .wrapKey
    }
  }

  /// The operations that the names in a key's JSON allow; deriving allows wrapping and unwrapping.
  static func all(namedBy names: KeyOperations) -> KeyOperations {
    names.contains(.derive) ? names.union([.wrapKey, .unwrapKey]) : names
  }
}
