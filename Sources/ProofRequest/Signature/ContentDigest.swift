// SPDX-License-Identifier: Apache-2.0

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
    if let digest = Self.alone(field.utf8.span) {
      self.digest = digest
      return
    }
    guard field.utf8.count <= 512, let dictionary = StructuredDictionary(Array(field.utf8)),
      dictionary.members.allSatisfy({ dictionary.places[$0 + 1].kind == .bytes }),
      let member = dictionary.member("sha-256".utf8.span),
      Int(dictionary.places[member].after) == member + 2,
      let digest = Base64Text.digest(
        dictionary.text.span.extracting(dictionary.inner(member + 1)))
    else { throw .malformedDigest }
    self.digest = digest
  }

  /// The value of the field.
  public var text: String {
    String(expecting: Self.textBytes) { output in
      output.append(Self.prefix)
      output.append(digest.withBytes { Base64.encode($0) })
      output.append(UInt8(ascii: ":"))
    }
  }

  private static let prefix: StaticString = "sha-256=:"
  private static let textBytes = 54

  /// The digest of a field that has SHA-256 alone, as almost all do: no dictionary is made for it.
  private static func alone(_ field: Span<UInt8>) -> Digest? {
    guard field.count == textBytes, field[textBytes - 1] == UInt8(ascii: ":"),
      field.extracting(first: prefix.utf8CodeUnitCount).isText(prefix)
    else { return nil }
    return Base64Text.digest(field.extracting(prefix.utf8CodeUnitCount..<textBytes - 1))
  }
}
