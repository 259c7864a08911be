// SPDX-License-Identifier: Apache-2.0

internal import CSodium

/// libsodium's base64.
enum CoreBase64 {
  private static func variant(_ form: Base64.Form) -> Int32 {
    switch form {
    case .standard: sodium_base64_VARIANT_ORIGINAL
    case .url: sodium_base64_VARIANT_URLSAFE_NO_PADDING
    }
  }

  static func encode(_ bytes: Span<UInt8>, _ form: Base64.Form) -> String {
    let capacity = sodium_base64_encoded_len(bytes.count, variant(form))
    return unsafe String(unsafeUninitializedCapacity: capacity) { text in
      unsafe bytes.withUnsafeBufferPointer { bytes in
        unsafe text.withMemoryRebound(to: CChar.self) { text in
          _ = unsafe sodium_bin2base64(
            text.baseAddress!, text.count, bytes.baseAddress, bytes.count, variant(form))
        }
      }
      // The last byte is the terminating zero of C.
      return capacity - 1
    }
  }

  static func decode(_ text: Span<UInt8>, _ form: Base64.Form) -> [UInt8]? {
    // libsodium takes a byte above ASCII for the last character of the alphabet where `char` is signed.
    for index in text.indices where text[index] > 0x7f { return nil }
    var isCanonical = false
    let bytes = unsafe [UInt8](unsafeUninitializedCapacity: text.count / 4 * 3 + 3) {
      bytes, count in
      var written = 0
      unsafe text.withUnsafeBufferPointer { text in
        unsafe text.withMemoryRebound(to: CChar.self) { text in
          // Pass no end pointer, so that libsodium refuses a text that it did not read whole.
          let result = unsafe sodium_base642bin(
            bytes.baseAddress!, bytes.count, text.baseAddress, text.count, nil, &written, nil,
            variant(form))
          isCanonical = result == 0
        }
      }
      count = isCanonical ? written : 0
    }
    return isCanonical ? bytes : nil
  }
}
