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
    guard field.utf8.count <= 512,
      let dictionary = StructuredParser.dictionary(Array(field.utf8)),
      dictionary.elements.allSatisfy({ Self.isDigest($0.member) }),
      case .item(let item)? = dictionary["sha-256"], item.parameters.elements.isEmpty,
      case .bytes(let bytes) = item.value, let digest = try? Digest(bytes.span)
    else { throw .malformedDigest }
    self.digest = digest
  }

  /// The value of the field.
  public var text: String {
    var text = Array("sha-256=".utf8)
    StructuredValue.bytes(Array(digest.bytes)).write(to: &text)
    return String(decoding: text, as: UTF8.self)
  }

  private static func isDigest(_ member: StructuredMember) -> Bool {
    guard case .item(let item) = member, case .bytes = item.value else { return false }
    return true
  }
}
