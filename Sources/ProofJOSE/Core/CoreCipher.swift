// SPDX-License-Identifier: Apache-2.0

internal import CCrypto

/// AES-256-GCM with a 96-bit IV and a 128-bit tag.
enum GCM {
  static let keyByteCount = PFJ_AES_KEY_BYTES
  static let ivByteCount = PFJ_GCM_IV_BYTES
  static let tagByteCount = PFJ_GCM_TAG_BYTES

  /// Encrypts. The caller must never use a key with the same IV twice.
  static func seal(
    _ plaintext: Span<UInt8>, key: Span<UInt8>, iv: Span<UInt8>, additionalData: Span<UInt8>
  ) throws(JOSEError) -> (ciphertext: [UInt8], tag: [UInt8]) {
    precondition(key.count == keyByteCount && iv.count == ivByteCount)
    var ciphertext = [UInt8](repeating: 0, count: plaintext.count)
    var tag = [UInt8](repeating: 0, count: tagByteCount)
    let result = unsafe key.withUnsafeBufferPointer { key in
      unsafe iv.withUnsafeBufferPointer { iv in
        unsafe additionalData.withUnsafeBufferPointer { aad in
          unsafe plaintext.withUnsafeBufferPointer { plaintext in
            unsafe pfj_gcm_seal(
              &ciphertext, &tag, key.baseAddress, iv.baseAddress, aad.baseAddress, aad.count,
              plaintext.baseAddress, plaintext.count)
          }
        }
      }
    }
    try check(result)
    return (ciphertext, tag)
  }

  /// Decrypts into a secret. `nil` if the tag is wrong, for any reason.
  static func open(
    _ ciphertext: Span<UInt8>, tag: Span<UInt8>, key: Span<UInt8>, iv: Span<UInt8>,
    additionalData: Span<UInt8>
  ) throws(JOSEError) -> JOSESecret? {
    precondition(key.count == keyByteCount && iv.count == ivByteCount && tag.count == tagByteCount)
    var result = PFJ_E_LIBRARY
    let plaintext = JOSESecret(count: ciphertext.count) { plaintext in
      result = unsafe plaintext.withUnsafeMutableBufferPointer { plaintext in
        unsafe key.withUnsafeBufferPointer { key in
          unsafe iv.withUnsafeBufferPointer { iv in
            unsafe additionalData.withUnsafeBufferPointer { aad in
              unsafe ciphertext.withUnsafeBufferPointer { ciphertext in
                unsafe tag.withUnsafeBufferPointer { tag in
                  unsafe pfj_gcm_open(
                    plaintext.baseAddress, key.baseAddress, iv.baseAddress, aad.baseAddress,
                    aad.count, ciphertext.baseAddress, ciphertext.count, tag.baseAddress)
                }
              }
            }
          }
        }
      }
    }
    if result == PFJ_E_REFUSED { return nil }
    try check(result)
    return plaintext
  }
}

/// AES-256 key wrap (RFC 3394) of content encryption keys.
enum KeyWrap {
  static let wrappedByteCount = PFJ_WRAPPED_KEY_BYTES

  static func wrap(
    _ contentKey: borrowing JOSESecret, under key: Span<UInt8>
  ) throws(JOSEError) -> [UInt8] {
    precondition(contentKey.count == GCM.keyByteCount && key.count == GCM.keyByteCount)
    var wrapped = [UInt8](repeating: 0, count: wrappedByteCount)
    let result = contentKey.withBytes { contentKey in
      unsafe contentKey.withUnsafeBufferPointer { contentKey in
        unsafe key.withUnsafeBufferPointer { key in
          unsafe pfj_key_wrap(&wrapped, key.baseAddress, contentKey.baseAddress)
        }
      }
    }
    try check(result)
    return wrapped
  }

  /// `nil` if the bytes were not wrapped under this key.
  static func unwrap(
    _ wrapped: Span<UInt8>, under key: Span<UInt8>
  ) throws(JOSEError) -> JOSESecret? {
    precondition(wrapped.count == wrappedByteCount && key.count == GCM.keyByteCount)
    var result = PFJ_E_LIBRARY
    let contentKey = JOSESecret(count: GCM.keyByteCount) { contentKey in
      result = unsafe contentKey.withUnsafeMutableBufferPointer { contentKey in
        unsafe key.withUnsafeBufferPointer { key in
          unsafe wrapped.withUnsafeBufferPointer { wrapped in
            unsafe pfj_key_unwrap(contentKey.baseAddress, key.baseAddress, wrapped.baseAddress)
          }
        }
      }
    }
    if result == PFJ_E_REFUSED { return nil }
    try check(result)
    return contentKey
  }
}
