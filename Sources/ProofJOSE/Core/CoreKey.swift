// SPDX-License-Identifier: Apache-2.0

internal import CCrypto

/// A key pair or public key of libcrypto.
@safe
final class CoreKey {
  enum Kind { case p256, ed25519, rsa }

  let kind: Kind
  /// Ed25519: the encoded point. P-256: x and y. RSA: the modulus; the exponent is 65537.
  let publicBytes: [UInt8]
  let isPair: Bool
  let pointer: OpaquePointer

  /// Makes the pair of a seed, a scalar, or the private numbers of RSA.
  init(_ kind: Kind, secret: Span<UInt8>) throws(JOSEError) {
    guard let publicByteCount = kind.publicByteCount(ofSecret: secret.count) else {
      throw .keyInvalid("its private number is not as long as one of its kind")
    }
    var pointer: OpaquePointer?
    var publicBytes = [UInt8](repeating: 0, count: publicByteCount)
    let result = unsafe secret.withUnsafeBufferPointer { secret in
      switch kind {
      case .p256: unsafe pfj_p256_pair(&pointer, &publicBytes, secret.baseAddress)
      case .ed25519: unsafe pfj_ed25519_pair(&pointer, &publicBytes, secret.baseAddress)
      case .rsa:
        unsafe pfj_rsa_pair(&pointer, &publicBytes, publicByteCount, secret.baseAddress)
      }
    }
    if result == PFJ_E_KEY {
      throw .keyInvalid(
        kind == .rsa
          ? "its private numbers do not belong together"
          : "its private number is not one of its curve")
    }
    try check(result)
    guard let pointer = unsafe pointer else { throw .libraryFailed }
    unsafe self.pointer = unsafe pointer
    self.kind = kind
    self.publicBytes = publicBytes
    isPair = true
  }

  /// A public key.
  init(_ kind: Kind, publicBytes: [UInt8]) throws(JOSEError) {
    precondition(kind.publicByteCounts.contains(publicBytes.count))
    var pointer: OpaquePointer?
    let result =
      switch kind {
      case .p256: unsafe pfj_p256_public(&pointer, publicBytes)
      case .ed25519: unsafe pfj_ed25519_public(&pointer, publicBytes)
      case .rsa: unsafe pfj_rsa_public(&pointer, publicBytes, publicBytes.count)
      }
    if result == PFJ_E_KEY {
      throw .keyInvalid(
        kind == .rsa
          ? "its modulus is not one of an RSA key" : "its point is not one of its curve")
    }
    try check(result)
    guard let pointer = unsafe pointer else { throw .libraryFailed }
    unsafe self.pointer = unsafe pointer
    self.kind = kind
    self.publicBytes = publicBytes
    isPair = false
  }

  deinit { unsafe pfj_key_free(pointer) }

  /// Fresh private numbers of RSA: d, p, q, d mod p - 1, d mod q - 1, 1/q mod p.
  static func freshNumbers(bits: Int) throws(JOSEError) -> JOSESecret {
    let size = bits / 8
    return try JOSESecret(count: privateByteCount(ofModulus: size)) { numbers throws(JOSEError) in
      let result = unsafe numbers.withUnsafeMutableBufferPointer { numbers in
        unsafe pfj_rsa_generate(numbers.baseAddress, size)
      }
      try check(result)
    }
  }

  /// The length of a signature.
  var signatureByteCount: Int { kind == .rsa ? publicBytes.count : PFJ_SIGNATURE_BYTES }

  func sign(_ message: Span<UInt8>) throws(JOSEError) -> [UInt8] {
    precondition(isPair)
    var signature = [UInt8](repeating: 0, count: signatureByteCount)
    let count = signatureByteCount
    let result = unsafe message.withUnsafeBufferPointer { message in
      switch kind {
      case .p256:
        unsafe pfj_es256_sign(&signature, pointer, message.baseAddress, message.count)
      case .ed25519:
        unsafe pfj_ed25519_sign(&signature, pointer, message.baseAddress, message.count)
      case .rsa:
        unsafe pfj_rs256_sign(&signature, count, pointer, message.baseAddress, message.count)
      }
    }
    try check(result)
    return signature
  }

  func isSignature(_ signature: Span<UInt8>, of message: Span<UInt8>) throws(JOSEError) -> Bool {
    guard signature.count == signatureByteCount else { return false }
    let result = unsafe message.withUnsafeBufferPointer { message in
      unsafe signature.withUnsafeBufferPointer { signature in
        switch kind {
        case .p256:
          unsafe pfj_es256_verify(
            signature.baseAddress, pointer, message.baseAddress, message.count)
        case .ed25519:
          unsafe pfj_ed25519_verify(
            signature.baseAddress, pointer, message.baseAddress, message.count)
        case .rsa:
          unsafe pfj_rs256_verify(
            signature.baseAddress, signature.count, pointer, message.baseAddress, message.count)
        }
      }
    }
    if result == PFJ_E_REFUSED { return false }
    try check(result)
    return true
  }
}

// Sendable because the shim may be called from many threads with the same key, which never changes.
extension CoreKey: @unchecked Sendable {}

extension CoreKey {
  static let rsaModulusByteCounts = JOSELimits.rsaBits.map { $0 / 8 }

  /// The length of all private numbers of RSA, in bytes: `PFJ_RSA_PRIVATE_BYTES`.
  static func privateByteCount(ofModulus count: Int) -> Int { count / 2 * 7 }

  /// The range of the lengths of a kind's secrets.
  static func secretByteCounts(of kind: Kind) -> ClosedRange<Int> {
    switch kind {
    case .p256, .ed25519: PFJ_ED25519_SEED_BYTES...PFJ_ED25519_SEED_BYTES
    case .rsa:
      privateByteCount(
        ofModulus: PFJ_RSA_MIN_BYTES)...privateByteCount(ofModulus: PFJ_RSA_MAX_BYTES)
    }
  }
}

extension CoreKey.Kind {
  var publicByteCounts: [Int] {
    switch self {
    case .p256: [PFJ_P256_POINT_BYTES]
    case .ed25519: [PFJ_ED25519_PUBLIC_BYTES]
    case .rsa: CoreKey.rsaModulusByteCounts
    }
  }

  /// The length of the public key of a secret of this length; `nil` if no secret has it.
  func publicByteCount(ofSecret count: Int) -> Int? {
    switch self {
    case .p256, .ed25519:
      CoreKey.secretByteCounts(of: self).contains(count) ? publicByteCounts[0] : nil
    case .rsa:
      publicByteCounts.first { CoreKey.privateByteCount(ofModulus: $0) == count }
    }
  }
}
