// SPDX-License-Identifier: Apache-2.0

internal import CSodium
internal import ProofCore

/// XChaCha20-Poly1305 over secrets that stay in guarded memory.
enum CoreStringSeal {
  static let nonceByteCount = 24
  static let tagByteCount = 16

  /// Seals bytes, bound to a context.
  ///
  /// - Parameters:
  ///   - value: The bytes.
  ///   - key: 32 bytes.
  ///   - nonce: 24 bytes, another one for each call with this key.
  ///   - context: The bytes that opening needs again.
  /// - Returns: The ciphertext with its tag.
  static func seal(
    _ value: borrowing SecretBytes, key: borrowing SecretBytes, nonce: [UInt8], context: [UInt8]
  ) -> [UInt8] {
    precondition(key.count == 32 && nonce.count == nonceByteCount && CoreSodium.isReady)
    let size = value.count + tagByteCount
    return unsafe [UInt8](unsafeUninitializedCapacity: size) { buffer, initialized in
      unsafe value.withPointer { bytes in
        unsafe key.withPointer { key in
          unsafe _ = crypto_aead_xchacha20poly1305_ietf_encrypt(
            buffer.baseAddress!, nil, bytes, UInt64(value.count), context, UInt64(context.count),
            nil, nonce, key)
        }
      }
      initialized = size
    }
  }

  /// Opens bytes into a guarded block.
  ///
  /// - Returns: The bytes; nil if key, nonce, context or ciphertext is another one.
  static func open(
    _ sealed: [UInt8], key: borrowing SecretBytes, nonce: [UInt8], context: [UInt8]
  ) -> SecretBytes? {
    precondition(key.count == 32 && nonce.count == nonceByteCount && CoreSodium.isReady)
    guard sealed.count > tagByteCount else { return nil }
    return try? unsafe SecretBytes(count: sealed.count - tagByteCount) { target throws(Refused) in
      let result = unsafe key.withPointer { key in
        unsafe crypto_aead_xchacha20poly1305_ietf_decrypt(
          target.assumingMemoryBound(to: UInt8.self), nil, nil, sealed, UInt64(sealed.count),
          context, UInt64(context.count), nonce, key)
      }
      guard result == 0 else { throw Refused() }
    }
  }

  private struct Refused: Error {}
}
