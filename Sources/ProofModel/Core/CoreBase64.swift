// SPDX-License-Identifier: Apache-2.0

internal import CSodium

/// Base64: libsodium's decoder, which refuses all that is not canonical, and an encoder of its own. libsodium's encoder
/// takes the same time for all bytes, which public bytes do not need.
enum CoreBase64 {
  private static let standard: StaticString =
    "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/"
  private static let url: StaticString =
    "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_"

  private static func variant(_ form: Base64.Form) -> Int32 {
    switch form {
    case .standard: sodium_base64_VARIANT_ORIGINAL
    case .url: sodium_base64_VARIANT_URLSAFE_NO_PADDING
    }
  }

  static func encode(_ bytes: Span<UInt8>, _ form: Base64.Form) -> String {
    let count = encodedCount(bytes.count, form)
    return unsafe String(unsafeUninitializedCapacity: count) { text in
      unsafe write(bytes, form, to: text)
      return count
    }
  }

  /// Appends the text of bytes.
  static func append(_ bytes: Span<UInt8>, _ form: Base64.Form, to text: inout [UInt8]) {
    let count = encodedCount(bytes.count, form)
    text += unsafe [UInt8](unsafeUninitializedCapacity: count) { place, written in
      unsafe write(bytes, form, to: place)
      written = count
    }
  }

  private static func encodedCount(_ count: Int, _ form: Base64.Form) -> Int {
    form == .standard ? (count + 2) / 3 * 4 : count / 3 * 4 + (count % 3 == 0 ? 0 : count % 3 + 1)
  }

  /// Writes the whole text. The buffer has room for it.
  private static func write(
    _ bytes: Span<UInt8>, _ form: Base64.Form, to text: UnsafeMutableBufferPointer<UInt8>
  ) {
    let alphabet = unsafe (form == .standard ? standard : url).utf8Start
    var place = 0
    func put(_ number: UInt32) {
      unsafe text[place] = alphabet[Int(number & 63)]
      place += 1
    }
    var index = 0
    while index + 3 <= bytes.count {
      let three =
        UInt32(bytes[index]) << 16 | UInt32(bytes[index + 1]) << 8 | UInt32(bytes[index + 2])
      put(three >> 18)
      put(three >> 12)
      put(three >> 6)
      put(three)
      index += 3
    }
    guard index < bytes.count else { return }
    let isTwo = index + 2 == bytes.count
    let rest = UInt32(bytes[index]) << 16 | (isTwo ? UInt32(bytes[index + 1]) << 8 : 0)
    put(rest >> 18)
    put(rest >> 12)
    if isTwo { put(rest >> 6) }
    while form == .standard, place % 4 != 0 {
      unsafe text[place] = UInt8(ascii: "=")
      place += 1
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
