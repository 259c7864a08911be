// SPDX-License-Identifier: Apache-2.0

/// Base64 (RFC 4648) in its canonical form, for values that are not secret.
///
/// Decoding refuses other characters, white space, wrong padding and spare bits that are not zero.
package enum Base64 {
  /// The two alphabets.
  package enum Form: Sendable {
    /// `+` and `/`, with padding.
    case standard
    /// `-` and `_`, without padding.
    case url
  }

  /// The text of bytes.
  package static func encode(_ bytes: Span<UInt8>, _ form: Form = .standard) -> String {
    CoreBase64.encode(bytes, form)
  }

  /// The text of bytes.
  package static func encode(_ bytes: [UInt8], _ form: Form = .standard) -> String {
    CoreBase64.encode(bytes.span, form)
  }

  /// Appends the text of bytes to other text.
  package static func append(_ bytes: Span<UInt8>, _ form: Form, to text: inout [UInt8]) {
    CoreBase64.append(bytes, form, to: &text)
  }

  /// The bytes of a text, or nil if it is not canonical.
  package static func decode(_ text: Span<UInt8>, _ form: Form = .standard) -> [UInt8]? {
    CoreBase64.decode(text, form)
  }

  /// The bytes of a text, or nil if it is not canonical.
  package static func decode(_ text: String, _ form: Form = .standard) -> [UInt8]? {
    CoreBase64.decode(Array(text.utf8).span, form)
  }
}
