internal import CCrypto

/// A key pair or public key of libcrypto, for one of the two kinds of signatures.
@safe
final class CoreKey {
  enum Kind { case p256, ed25519 }

  static let signatureByteCount = PFJ_SIGNATURE_BYTES
  /// Of a seed or scalar.
  static let secretByteCount = PFJ_ED25519_SEED_BYTES

  let kind: Kind
  /// Ed25519: the encoded point. P-256: x and y.
  let publicBytes: [UInt8]
  let isPair: Bool
  private let pointer: OpaquePointer

  /// The pair of a seed or scalar.
  init(_ kind: Kind, secret: Span<UInt8>) throws(JOSEError) {
    precondition(secret.count == Self.secretByteCount)
    var pointer: OpaquePointer?
    var publicBytes = [UInt8](repeating: 0, count: kind.publicByteCount)
    let result = unsafe secret.withUnsafeBufferPointer { secret in
      switch kind {
      case .p256: unsafe pfj_p256_pair(&pointer, &publicBytes, secret.baseAddress)
      case .ed25519: unsafe pfj_ed25519_pair(&pointer, &publicBytes, secret.baseAddress)
      }
    }
    if result == PFJ_E_KEY { throw .keyInvalid("its private number is not one of its curve") }
    try check(result)
    guard let pointer = unsafe pointer else { throw .libraryFailed }
    unsafe self.pointer = unsafe pointer
    self.kind = kind
    self.publicBytes = publicBytes
    isPair = true
  }

  /// A public key.
  init(_ kind: Kind, publicBytes: [UInt8]) throws(JOSEError) {
    precondition(publicBytes.count == kind.publicByteCount)
    var pointer: OpaquePointer?
    let result =
      switch kind {
      case .p256: unsafe pfj_p256_public(&pointer, publicBytes)
      case .ed25519: unsafe pfj_ed25519_public(&pointer, publicBytes)
      }
    if result == PFJ_E_KEY { throw .keyInvalid("its point is not one of its curve") }
    try check(result)
    guard let pointer = unsafe pointer else { throw .libraryFailed }
    unsafe self.pointer = unsafe pointer
    self.kind = kind
    self.publicBytes = publicBytes
    isPair = false
  }

  deinit { unsafe pfj_key_free(pointer) }

  func sign(_ message: Span<UInt8>) throws(JOSEError) -> [UInt8] {
    precondition(isPair)
    var signature = [UInt8](repeating: 0, count: Self.signatureByteCount)
    let result = unsafe message.withUnsafeBufferPointer { message in
      switch kind {
      case .p256:
        unsafe pfj_es256_sign(&signature, pointer, message.baseAddress, message.count)
      case .ed25519:
        unsafe pfj_ed25519_sign(&signature, pointer, message.baseAddress, message.count)
      }
    }
    try check(result)
    return signature
  }

  func isSignature(_ signature: Span<UInt8>, of message: Span<UInt8>) throws(JOSEError) -> Bool {
    guard signature.count == Self.signatureByteCount else { return false }
    let result = unsafe message.withUnsafeBufferPointer { message in
      unsafe signature.withUnsafeBufferPointer { signature in
        switch kind {
        case .p256:
          unsafe pfj_es256_verify(
            signature.baseAddress, pointer, message.baseAddress, message.count)
        case .ed25519:
          unsafe pfj_ed25519_verify(
            signature.baseAddress, pointer, message.baseAddress, message.count)
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

extension CoreKey.Kind {
  var publicByteCount: Int {
    switch self {
    case .p256: PFJ_P256_POINT_BYTES
    case .ed25519: PFJ_ED25519_PUBLIC_BYTES
    }
  }
}
