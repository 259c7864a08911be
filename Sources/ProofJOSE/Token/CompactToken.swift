// SPDX-License-Identifier: Apache-2.0

/// A token in compact form, cut at its dots and not yet decoded.
struct CompactToken {
  /// The received text, which should be a token in ASCII.
  let characters: [UInt8]
  private let parts: [Range<Int>]

  /// Cuts a token with an exact number of parts.
  init(_ token: String, parts expected: Int) throws(JOSEError) {
    let count = token.utf8.count
    guard count <= JOSELimits.tokenCharacters else {
      throw .tooLong("token", count: count, limit: JOSELimits.tokenCharacters)
    }
    let characters = Array(token.utf8)
    parts = try Self.parts(of: characters.span, expected)
    self.characters = characters
  }

  /// The ranges of the parts of a token that may be a secret.
  static func parts(
    of characters: Span<UInt8>, _ expected: Int
  ) throws(JOSEError) -> [Range<Int>] {
    var parts: [Range<Int>] = []
    var start = 0
    for index in characters.indices where characters[index] == UInt8(ascii: ".") {
      parts.append(start..<index)
      start = index + 1
    }
    parts.append(start..<characters.count)
    guard parts.count == expected else {
      throw .wrongParts(expected: expected, actual: parts.count)
    }
    return parts
  }

  /// The input of the signature: the first two parts and the dot between them, as they were sent.
  var signingInput: Range<Int> { 0..<parts[1].upperBound }

  /// The tag's input besides the content of a sealed token: the header as it was sent.
  var encodedHeader: Range<Int> { parts[0] }

  /// Decodes a part.
  func decoded(_ part: Int, as name: TokenPart) throws(JOSEError) -> [UInt8] {
    guard let bytes = Base64Alphabet.url.decode(characters.span.extracting(parts[part])) else {
      throw .notBase64(name)
    }
    return bytes
  }

  /// Decodes a part with an exact number of bytes.
  func decoded(_ part: Int, as name: TokenPart, count: Int) throws(JOSEError) -> [UInt8] {
    let bytes = try decoded(part, as: name)
    guard bytes.count == count else {
      throw .wrongLength(name, expected: count, actual: bytes.count)
    }
    return bytes
  }

  func header() throws(JOSEError) -> TokenHeader {
    try Self.header(characters.span.extracting(parts[0]))
  }

  /// Reads a header in base64url.
  static func header(_ text: Span<UInt8>) throws(JOSEError) -> TokenHeader {
    let count = text.count * 3 / 4
    guard count <= JOSELimits.headerBytes else {
      throw .tooLong("token's header", count: count, limit: JOSELimits.headerBytes)
    }
    guard let bytes = Base64Alphabet.url.decode(text) else { throw .notBase64(.header) }
    return try TokenHeader(parsing: bytes.span)
  }
}
