/// What a key is for. One key has one algorithm; a token's header never chooses.
public enum KeyAlgorithm: String, Sendable, Hashable, CaseIterable {
  /// HMAC with SHA-256: whoever checks can also sign.
  case hs256 = "HS256"
  /// ECDSA on the curve P-256 with SHA-256.
  case es256 = "ES256"
  /// Ed25519 (RFC 8037).
  case edDSA = "EdDSA"
  /// A256GCM, directly under a shared key.
  case direct = "dir"
  /// A256GCM under a fresh key for each token, wrapped (RFC 3394) under a shared key.
  case a256kw = "A256KW"

  /// Whether tokens are signed, rather than encrypted.
  public var isSignature: Bool {
    switch self {
    case .hs256, .es256, .edDSA: true
    case .direct, .a256kw: false
    }
  }

  /// Whether both sides hold the same secret.
  public var isSymmetric: Bool {
    switch self {
    case .hs256, .direct, .a256kw: true
    case .es256, .edDSA: false
    }
  }

  /// How many bytes the secret may have.
  var secretByteCounts: ClosedRange<Int> {
    switch self {
    case .hs256: JOSELimits.macKeyBytes
    case .es256, .edDSA: CoreKey.secretByteCount...CoreKey.secretByteCount
    case .direct, .a256kw: GCM.keyByteCount...GCM.keyByteCount
    }
  }

  /// How many bytes a new secret gets. The account secret of HS256 has 64 by custom.
  var freshSecretByteCount: Int { self == .hs256 ? 64 : 32 }

  var signatureKind: CoreKey.Kind? {
    switch self {
    case .es256: .p256
    case .edDSA: .ed25519
    case .hs256, .direct, .a256kw: nil
    }
  }

  /// The `kty` of RFC 7518, 6.1, and RFC 8037.
  var keyType: String {
    switch self {
    case .hs256, .direct, .a256kw: "oct"
    case .es256: "EC"
    case .edDSA: "OKP"
    }
  }

  /// The `use` of RFC 7517, 4.2.
  var use: String { isSignature ? "sig" : "enc" }
}

/// What a key may be used for, by the names of RFC 7517, 4.3.
struct KeyOperations: OptionSet, Sendable {
  let rawValue: UInt8

  static let sign = KeyOperations(rawValue: 1)
  static let verify = KeyOperations(rawValue: 2)
  static let encrypt = KeyOperations(rawValue: 4)
  static let decrypt = KeyOperations(rawValue: 8)
  static let wrapKey = KeyOperations(rawValue: 16)
  static let unwrapKey = KeyOperations(rawValue: 32)

  static let names: [(name: String, operation: KeyOperations)] = [
    ("sign", .sign), ("verify", .verify), ("encrypt", .encrypt), ("decrypt", .decrypt),
    ("wrapKey", .wrapKey), ("unwrapKey", .unwrapKey),
  ]

  /// What an algorithm can do.
  static func all(of algorithm: KeyAlgorithm) -> KeyOperations {
    switch algorithm {
    case .hs256, .es256, .edDSA: [.sign, .verify]
    case .direct: [.encrypt, .decrypt]
    case .a256kw: [.wrapKey, .unwrapKey]
    }
  }

  static let making: KeyOperations = [.sign, .encrypt, .wrapKey]
  static let checking: KeyOperations = [.verify, .decrypt, .unwrapKey]
}
