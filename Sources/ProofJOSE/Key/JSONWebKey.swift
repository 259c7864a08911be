// SPDX-License-Identifier: Apache-2.0

/// A key with its one algorithm and, usually, a name (JSON Web Key, RFC 7517).
///
/// Copies share the key's secret, which is wiped with the last of them.
public struct JSONWebKey: Sendable {
  let material: KeyMaterial
  let operations: KeyOperations

  /// The key's algorithm.
  public var algorithm: KeyAlgorithm { material.algorithm }
  /// The key's name, the `kid` of tokens.
  public let id: String?
  /// Whether the key has its secret: the shared key, or the private part of a pair.
  public var isPrivate: Bool { material.secret != nil }

  init(_ material: KeyMaterial, id: String?, operations: KeyOperations) throws(JOSEError) {
    if let id {
      guard (1...JOSELimits.keyIDBytes).contains(id.utf8.count), ExactText.isPrintable(id) else {
        throw .keyIDInvalid
      }
    }
    self.material = material
    self.id = id
    self.operations = operations
  }

  /// Takes a secret over. It is the shared key of a symmetric algorithm, the 32-byte seed of EdDSA,
  /// the 32-byte scalar of ES256 and ECDH-ES+A256KW, or the private numbers of RSA. These are
  /// big-endian, one behind the other: d as long as the modulus; p, q, d mod p - 1, d mod q - 1 and
  /// 1/q mod p half as long.
  ///
  /// - Parameters:
  ///   - secret: The bytes.
  ///   - algorithm: The key's algorithm.
  ///   - id: The key's name.
  /// - Throws: ``JOSEError/keyLength(_:allowed:actual:)``, ``JOSEError/keyInvalid(_:)``,
  ///   ``JOSEError/keyIDInvalid``.
  public init(
    secret: consuming JOSESecret, algorithm: KeyAlgorithm, id: String? = nil
  ) throws(JOSEError) {
    try self.init(
      KeyMaterial(algorithm, secret: secret), id: id, operations: .all(of: algorithm))
  }

  /// Makes a public key from its bytes.
  ///
  /// - Parameters:
  ///   - bytes: For EdDSA the 32 bytes of the point; for P-256 x and y, 32 bytes each; for RSA the
  ///     modulus of 256, 384 or 512 bytes. The exponent of RSA is 65537.
  ///   - algorithm: An asymmetric one.
  ///   - id: The key's name.
  /// - Throws: ``JOSEError/keyLength(_:allowed:actual:)``, ``JOSEError/keyInvalid(_:)``,
  ///   ``JOSEError/keyIDInvalid``.
  public init(
    publicBytes bytes: [UInt8], algorithm: KeyAlgorithm, id: String? = nil
  ) throws(JOSEError) {
    try self.init(
      KeyMaterial(algorithm, publicBytes: bytes), id: id,
      operations: .all(of: algorithm, isPrivate: false))
  }

  /// Generates a key.
  ///
  /// - Parameters:
  ///   - algorithm: The key's algorithm.
  ///   - bits: The size of an RSA key: 2048, 3072 or 4096; `nil` for 3072. Other keys have one size.
  ///     A larger one takes seconds.
  ///   - id: The key's name.
  /// - Returns: A fresh random key.
  /// - Throws: ``JOSEError/randomFailed``, ``JOSEError/keyIDInvalid``,
  ///   ``JOSEError/keyUnsupported(_:)`` for another size.
  public static func random(
    _ algorithm: KeyAlgorithm, bits: Int? = nil, id: String? = nil
  ) throws(JOSEError) -> JSONWebKey {
    guard let count = algorithm.freshSecretByteCount else {
      let bits = bits ?? JOSELimits.freshRSABits
      guard JOSELimits.rsaBits.contains(bits) else {
        throw .keyUnsupported("RSA of \(bits) bits; 2048, 3072 and 4096 are")
      }
      return try JSONWebKey(
        secret: CoreKey.freshNumbers(bits: bits), algorithm: algorithm, id: id)
    }
    guard bits == nil else {
      throw .keyUnsupported("\(algorithm.rawValue) of \(bits ?? 0) bits; it has one size")
    }
    while true {
      do {
        let secret = try JOSESecret.random(count: count)
        return try JSONWebKey(secret: secret, algorithm: algorithm, id: id)
      } catch .keyInvalid {
        // One of 2^32 draws is not a scalar of P-256. Drawing again keeps the others equally
        // likely.
        continue
      }
    }
  }

  /// The key without its secret; `nil` for a symmetric algorithm.
  public var publicKey: JSONWebKey? {
    guard let bytes = publicBytes else { return nil }
    return try? JSONWebKey(publicBytes: bytes, algorithm: algorithm, id: id)
  }

  /// The bytes of the public key: the point of EdDSA, x and y of P-256, the modulus of RSA; `nil` for
  /// a symmetric algorithm.
  public var publicBytes: [UInt8]? { material.coreKey?.publicBytes }

  /// Copies the key under another name.
  ///
  /// - Parameter id: The name.
  /// - Returns: A key that shares this one's secret and its count of sealed tokens.
  /// - Throws: ``JOSEError/keyIDInvalid``.
  public func named(_ id: String?) throws(JOSEError) -> JSONWebKey {
    try JSONWebKey(material, id: id, operations: operations)
  }

  /// Lends the secret: the shared key, seed, scalar or private numbers.
  ///
  /// - Parameter body: Reads the bytes. It must not keep copies of them.
  /// - Returns: The result of `body`.
  /// - Throws: ``JOSEError/keyNotPrivate``.
  public func withSecret<R: ~Copyable>(
    _ body: (Span<UInt8>) throws(JOSEError) -> R
  ) throws(JOSEError) -> R {
    guard let secret = material.secret else { throw .keyNotPrivate }
    return try secret.withBytes(body)
  }

  /// Whether a signature is this key's over a message: for signatures that stand in no token. False for a symmetric key.
  package func isSignature(_ signature: Span<UInt8>, of message: Span<UInt8>) -> Bool {
    (try? material.coreKey?.isSignature(signature, of: message)) ?? false
  }

  /// Whether both have the same algorithm, name and public or shared key. Constant time.
  ///
  /// - Parameter other: Another key.
  /// - Returns: Whether they are the same, with or without the private part.
  public func isSameKey(as other: JSONWebKey) -> Bool {
    guard algorithm == other.algorithm, ExactText.areEqual(id, other.id) else { return false }
    if let mine = publicBytes, let theirs = other.publicBytes { return mine == theirs }
    guard let mine = material.secret, let theirs = other.material.secret else { return false }
    return mine.withBytes { mine in
      theirs.withBytes { theirs in ConstantTime.areEqual(mine, theirs) }
    }
  }
}

extension JSONWebKey: CustomStringConvertible, CustomReflectable {
  /// The key's algorithm and name. It never contains the key.
  public var description: String {
    "\(algorithm.rawValue) key \(id.map(ExactText.quoted) ?? "without name")"
  }

  /// Shows the algorithm and the name.
  public var customMirror: Mirror {
    Mirror(self, children: ["algorithm": algorithm, "id": id as Any])
  }
}
