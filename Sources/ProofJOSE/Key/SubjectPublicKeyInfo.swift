// SPDX-License-Identifier: Apache-2.0

/// Public keys in DER (RFC 5280, 4.1.2.7): the content of PEM.
///
/// Every kind and size of key has one encoding: fixed bytes, then the key's own. So it needs no
/// parser: bytes in any other encoding are refused.
enum SubjectPublicKeyInfo {
  /// A sequence of 89 bytes: id-ecPublicKey and prime256v1, then a bit string that begins with 4, the
  /// mark of an uncompressed point (RFC 5480).
  static let p256: [UInt8] = [
    0x30, 0x59, 0x30, 0x13, 0x06, 0x07, 0x2a, 0x86, 0x48, 0xce, 0x3d, 0x02, 0x01, 0x06, 0x08, 0x2a,
    0x86, 0x48, 0xce, 0x3d, 0x03, 0x01, 0x07, 0x03, 0x42, 0x00, 0x04,
  ]

  /// A sequence of 42 bytes: id-Ed25519, then a bit string (RFC 8410).
  static let ed25519: [UInt8] = [
    0x30, 0x2a, 0x30, 0x05, 0x06, 0x03, 0x2b, 0x65, 0x70, 0x03, 0x21, 0x00,
  ]

  /// rsaEncryption, with NULL for its parameters (RFC 3279, 2.3.1).
  private static let rsa: [UInt8] = [
    0x30, 0x0d, 0x06, 0x09, 0x2a, 0x86, 0x48, 0x86, 0xf7, 0x0d, 0x01, 0x01, 0x01, 0x05, 0x00,
  ]

  /// 65537, the exponent of every RSA key here.
  static let exponent: [UInt8] = [1, 0, 1]

  static func encode(_ publicBytes: [UInt8], _ kind: CoreKey.Kind) -> [UInt8] {
    switch kind {
    case .p256: return p256 + publicBytes
    case .ed25519: return ed25519 + publicBytes
    case .rsa:
      // A modulus has its first bit set, so a zero precedes it; otherwise it would be negative.
      let numbers = element(0x02, [0] + publicBytes) + element(0x02, exponent)
      return element(0x30, rsa + element(0x03, [0] + element(0x30, numbers)))
    }
  }

  /// The key's own bytes; `nil` if it is not a public key of the kind.
  static func decode(_ der: [UInt8], _ kind: CoreKey.Kind) -> [UInt8]? {
    for count in kind.publicByteCounts where count < der.count {
      let end = kind == .rsa ? der.count - 2 - exponent.count : der.count
      guard end >= count else { continue }
      let publicBytes = Array(der[end - count..<end])
      if encode(publicBytes, kind) == der { return publicBytes }
    }
    return nil
  }

  private static func element(_ tag: UInt8, _ content: [UInt8]) -> [UInt8] {
    let count = content.count
    let length: [UInt8] =
      switch count {
      case ..<0x80: [UInt8(count)]
      case ..<0x100: [0x81, UInt8(count)]
      default: [0x82, UInt8(count >> 8), UInt8(count & 0xff)]
      }
    return [tag] + length + content
  }
}
