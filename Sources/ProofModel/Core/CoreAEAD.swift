// SPDX-License-Identifier: Apache-2.0

internal import CSodium

/// XChaCha20-Poly1305, with a random nonce before the box.
package enum CoreAEAD {
  /// The bytes that sealing adds.
  package static let addedByteCount = nonceByteCount + 16
  private static let nonceByteCount = 24

  /// Seals a secret under a key of 32 bytes; `data` is authenticated and not hidden. A vector gives the nonce.
  package static func seal(
    _ secret: borrowing SecretBytes, with data: [UInt8], key: RawSpan, nonce: [UInt8]? = nil
  ) -> [UInt8] {
    precondition(key.byteCount == 32)
    let nonce = nonce ?? CoreSodium.random(count: nonceByteCount)
    precondition(nonce.count == nonceByteCount)
    let count = secret.count + addedByteCount - nonceByteCount
    let box = unsafe [UInt8](unsafeUninitializedCapacity: count) { box, written in
      unsafe secret.withPointer { bytes in
        unsafe key.withUnsafeBytes { key in
          unsafe _ = crypto_aead_xchacha20poly1305_ietf_encrypt(
            box.baseAddress!, nil, bytes, UInt64(secret.count), data, UInt64(data.count), nil,
            nonce,
            key.baseAddress!.assumingMemoryBound(to: UInt8.self))
        }
      }
      written = count
    }
    return nonce + box
  }

  /// Opens what was sealed under this key with this data; nil for anything else.
  package static func open(
    _ sealed: ArraySlice<UInt8>, with data: [UInt8], key: RawSpan
  ) -> SecretBytes? {
    precondition(key.byteCount == 32)
    guard sealed.count > addedByteCount else { return nil }
    let nonce = Array(sealed.prefix(nonceByteCount))
    let box = Array(sealed.dropFirst(nonceByteCount))
    return try? unsafe SecretBytes(count: sealed.count - addedByteCount) { bytes in
      let result = unsafe key.withUnsafeBytes { key in
        unsafe crypto_aead_xchacha20poly1305_ietf_decrypt(
          bytes.assumingMemoryBound(to: UInt8.self), nil, nil, box, UInt64(box.count), data,
          UInt64(data.count), nonce, key.baseAddress!.assumingMemoryBound(to: UInt8.self))
      }
      guard result == 0 else { throw NotOpened() }
    }
  }

  private struct NotOpened: Error {}
}
