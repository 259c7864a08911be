public import ProofModel

/// The digest of a body in the field `Content-Digest` (RFC 9530), over the bytes as they are sent:
/// after a content coding, before a transfer coding.
public struct ContentDigest: Sendable, Hashable {
  /// SHA-256 of the body.
  public let digest: Digest

  /// The digest of a body; of no body, that of no bytes.
  public init(of body: Span<UInt8>) { digest = Digest(hashing: body) }

  /// Takes a digest that was computed before.
  public init(_ digest: Digest) { self.digest = digest }

  /// Reads the field; other algorithms beside SHA-256 are left to others.
  ///
  /// - Throws: ``RequestRefusal/malformedDigest``.
  public init(reading field: String) throws(RequestRefusal) {
    if let digest = Self.alone(field) {
      self.digest = digest
      return
    }
    guard field.utf8.count <= 512, let dictionary = StructuredDictionary(Array(field.utf8)),
      dictionary.members.allSatisfy({ dictionary.places[$0 + 1].kind == .bytes }),
      let member = dictionary.member("sha-256".utf8),
      Int(dictionary.places[member].after) == member + 2,
      let bytes = Base64.decode(
        dictionary.text.span.extracting(dictionary.base64(member + 1))),
      let digest = try? Digest(bytes.span)
    else { throw .malformedDigest }
    self.digest = digest
  }

  /// The value of the field.
  public var text: String {
    Self.prefix + digest.withBytes { Base64.encode($0) } + ":"
  }

  private static let prefix = "sha-256=:"

  /// The digest of a field that has SHA-256 alone, as almost all do: no dictionary is made for it.
  private static func alone(_ field: String) -> Digest? {
    guard field.utf8.count == 54, field.hasPrefix(prefix), field.utf8.last == UInt8(ascii: ":"),
      let bytes = Base64.decode(String(field.dropFirst(prefix.utf8.count).dropLast()))
    else { return nil }
    return try? Digest(bytes)
  }
}
