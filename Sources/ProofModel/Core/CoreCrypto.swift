// SPDX-License-Identifier: Apache-2.0

internal import ProofCore

/// The core's cryptography, for the other modules of this package. Not public, because apps need no
/// keys of their own here.
package enum CoreCrypto {
  /// SHA-256.
  package static func sha256(_ bytes: Span<UInt8>) -> Digest {
    var hash = CoreHash()
    hash.update(bytes)
    return hash.finish()
  }

  /// HMAC-SHA-256, RFC 2104.
  package static func hmac(key: borrowing SecretBytes, _ bytes: Span<UInt8>) -> Digest {
    var mac = CoreMAC(key: key)
    mac.update(bytes)
    return mac.finish()
  }

  /// HMAC-SHA-256 under a key that is lent. Allocates nothing: its state is on the stack, and wiped there.
  package static func hmac(key: RawSpan, _ bytes: Span<UInt8>) -> Digest {
    Digest(
      storage: unsafe InlineBytes { tag in
        unsafe key.withUnsafeBytes { key in
          unsafe bytes.withUnsafeBufferPointer { bytes in
            unsafe pfc_mac_once(
              tag, key.baseAddress?.assumingMemoryBound(to: UInt8.self), key.count,
              bytes.baseAddress, bytes.count)
          }
        }
      })
  }

  /// HKDF-SHA-256, RFC 5869, the first 32 bytes.
  package static func hkdf(
    salt: Span<UInt8>, key: borrowing SecretBytes, info: Span<UInt8>
  ) -> SecretBytes {
    unsafe SecretBytes(count: 32) { derived in
      unsafe salt.withUnsafeBufferPointer { salt in
        unsafe info.withUnsafeBufferPointer { info in
          unsafe key.withPointer { bytes in
            unsafe pfc_hkdf(
              derived.assumingMemoryBound(to: UInt8.self), salt.baseAddress, salt.count, bytes,
              key.count, info.baseAddress, info.count)
          }
        }
      }
    }
  }

  /// HKDF with a label of 16 characters as salt: how every key of this project is derived.
  package static func derive(
    label: String, key: borrowing SecretBytes, info: Span<UInt8>
  ) -> SecretBytes {
    precondition(label.utf8.count == Int(PFC_LABEL_BYTES), "A label has 16 bytes, not \(label).")
    return unsafe SecretBytes(count: 32) { derived in
      unsafe info.withUnsafeBufferPointer { info in
        unsafe key.withPointer { bytes in
          unsafe pfc_derive(
            derived.assumingMemoryBound(to: UInt8.self), label, bytes, key.count,
            info.baseAddress, info.count)
        }
      }
    }
  }

  /// Whether bytes are equal, in time that depends on their counts alone.
  package static func equal(_ left: Span<UInt8>, _ right: Span<UInt8>) -> Bool {
    guard left.count == right.count else { return false }
    return unsafe left.withUnsafeBufferPointer { left in
      unsafe right.withUnsafeBufferPointer { right in
        unsafe pfc_equal(left.baseAddress, right.baseAddress, left.count) == 1
      }
    }
  }

  /// Whether secrets are equal, in time that depends on their counts alone.
  static func equal(_ left: RawSpan, _ right: RawSpan) -> Bool {
    guard left.byteCount == right.byteCount else { return false }
    return unsafe left.withUnsafeBytes { left in
      unsafe right.withUnsafeBytes { right in
        unsafe pfc_equal(left.baseAddress, right.baseAddress, left.count) == 1
      }
    }
  }

  /// The X25519 public key of a secret key of 32 bytes.
  package static func publicKey(
    of secretKey: borrowing SecretBytes
  ) throws(ProofError) -> HardwarePublicKey {
    try secretKey.checkCount(Int(PFC_SECRET_KEY_BYTES), of: "X25519 secret key")
    return HardwarePublicKey(
      storage: unsafe InlineBytes { publicKey in
        unsafe secretKey.withPointer { unsafe pfc_public_key(publicKey, $0) }
      })
  }

  /// X25519. A low-order point is refused: ``ProofError/notSigned(_:)``.
  package static func sharedSecret(
    _ secretKey: borrowing SecretBytes, _ publicKey: HardwarePublicKey
  ) throws(ProofError) -> SecretBytes {
    try secretKey.checkCount(Int(PFC_SECRET_KEY_BYTES), of: "X25519 secret key")
    return try unsafe SecretBytes(count: 32) { shared throws(ProofError) in
      let result = unsafe secretKey.withPointer { secretKey in
        unsafe publicKey.storage.withPointer { publicKey in
          unsafe CoreResult(
            pfc_shared_secret(shared.assumingMemoryBound(to: UInt8.self), secretKey, publicKey))
        }
      }
      try result.orThrow(opening: "X25519 public key", byteCount: 32)
    }
  }

  /// libsodium's sealed box, with the ephemeral key passed in.
  package static func seal(
    _ message: borrowing SecretBytes, to recipient: HardwarePublicKey,
    ephemeral: consuming SecretBytes
  ) throws(ProofError) -> [UInt8] {
    try ephemeral.checkCount(Int(PFC_SECRET_KEY_BYTES), of: "ephemeral key")
    let size = message.count + Int(PFC_SEAL_BYTES)
    var result = CoreResult.ok
    let sealed = unsafe [UInt8](unsafeUninitializedCapacity: size) { buffer, count in
      result = unsafe message.withPointer { bytes in
        unsafe recipient.storage.withPointer { recipient in
          unsafe ephemeral.withPointer { ephemeral in
            unsafe CoreResult(
              pfc_seal(buffer.baseAddress, bytes, message.count, recipient, ephemeral))
          }
        }
      }
      count = size
    }
    try result.orThrow(opening: "recipient's public key", byteCount: 32)
    return sealed
  }

  /// Opens a sealed box.
  package static func unseal(
    _ sealed: Span<UInt8>, publicKey: HardwarePublicKey, secretKey: borrowing SecretBytes
  ) throws(ProofError) -> SecretBytes {
    try secretKey.checkCount(Int(PFC_SECRET_KEY_BYTES), of: "X25519 secret key")
    guard sealed.count > Int(PFC_SEAL_BYTES) else {
      throw .malformed("sealed box", byteCount: sealed.count)
    }
    return try unsafe SecretBytes(
      count: sealed.count - Int(PFC_SEAL_BYTES)
    ) { message throws(ProofError) in
      let result = unsafe sealed.withUnsafeBufferPointer { sealed in
        unsafe publicKey.storage.withPointer { publicKey in
          unsafe secretKey.withPointer { secretKey in
            unsafe CoreResult(
              pfc_unseal(
                message.assumingMemoryBound(to: UInt8.self), sealed.baseAddress, sealed.count,
                publicKey, secretKey))
          }
        }
      }
      try result.orThrow(opening: "sealed box", byteCount: sealed.count)
    }
  }

  /// Ed25519.
  package static func sign(_ message: Span<UInt8>, with issuer: IssuerKey) -> [UInt8] {
    unsafe [UInt8](unsafeUninitializedCapacity: Int(PFC_SIGNATURE_BYTES)) { buffer, count in
      unsafe message.withUnsafeBufferPointer { message in
        unsafe issuer.core.withSigningKey { key in
          unsafe pfc_sign(buffer.baseAddress, message.baseAddress, message.count, key)
        }
      }
      count = Int(PFC_SIGNATURE_BYTES)
    }
  }

  /// Ed25519; non-canonical and small-order values are refused.
  package static func verify(
    _ signature: Span<UInt8>, of message: Span<UInt8>, by publicKey: IssuerPublicKey
  ) throws(ProofError) {
    guard signature.count == Int(PFC_SIGNATURE_BYTES) else { throw .notSigned("message") }
    let result = unsafe signature.withUnsafeBufferPointer { signature in
      unsafe message.withUnsafeBufferPointer { message in
        unsafe publicKey.storage.withPointer { publicKey in
          unsafe CoreResult(
            pfc_verify(signature.baseAddress, message.baseAddress, message.count, publicKey))
        }
      }
    }
    try result.orThrow(opening: "message", byteCount: message.count)
  }

  /// Ed25519, by an issuer that a piece of hardware trusts.
  package static func verify(
    _ signature: Span<UInt8>, of message: Span<UInt8>, by issuer: IssuerID,
    trustedBy hardware: HardwareKeys
  ) throws(ProofError) {
    guard signature.count == Int(PFC_SIGNATURE_BYTES) else { throw .notSigned("message") }
    let result = unsafe signature.withUnsafeBufferPointer { signature in
      unsafe message.withUnsafeBufferPointer { message in
        unsafe issuer.storage.withPointer { issuer in
          unsafe hardware.core.withHardware { hardware in
            unsafe CoreResult(
              pfc_issuer_verify(
                hardware, issuer, signature.baseAddress, message.baseAddress, message.count))
          }
        }
      }
    }
    try result.orThrow(opening: "message", byteCount: message.count)
  }
}

/// SHA-256 in progress.
package struct CoreHash: ~Copyable, Sendable {
  private var raw = pfc_hash()

  /// Begins.
  package init() {
    unsafe pfc_hash_init(&raw)
  }

  /// Adds bytes.
  package mutating func update(_ bytes: Span<UInt8>) {
    unsafe bytes.withUnsafeBufferPointer { unsafe pfc_hash_update(&raw, $0.baseAddress, $0.count) }
  }

  /// Ends.
  package consuming func finish() -> Digest {
    Digest(storage: unsafe InlineBytes { unsafe pfc_hash_final($0, &raw) })
  }
}

/// HMAC-SHA-256 in progress: secret, in a block of its own.
package struct CoreMAC: ~Copyable, Sendable {
  private var work = CoreWork<pfc_mac>()

  /// Begins.
  package init(key: borrowing SecretBytes) {
    unsafe work.withMutablePointer { mac in
      unsafe key.withPointer { bytes in unsafe pfc_mac_init(mac, bytes, key.count) }
    }
  }

  /// Adds bytes.
  package mutating func update(_ bytes: Span<UInt8>) {
    unsafe work.withMutablePointer { mac in
      unsafe bytes.withUnsafeBufferPointer { unsafe pfc_mac_update(mac, $0.baseAddress, $0.count) }
    }
  }

  /// Ends.
  package consuming func finish() -> Digest {
    Digest(
      storage: unsafe InlineBytes { tag in
        unsafe work.withMutablePointer { unsafe pfc_mac_final(tag, $0) }
      })
  }
}
