// SPDX-License-Identifier: Apache-2.0

/// The standard form of a request proof: RFC 9421 with `hmac-sha256` and the tag `proofkit`.
///
/// It covers `@method`, `@authority`, `@path` and `@query`, `content-digest` for each method but `GET`
/// and `HEAD`, and each field of ``whenPresent`` that the request has. A route adds fields to them, such as
/// `cookie`.
public struct StandardForm: Sendable, Hashable {
  /// The tag of the signature's parameters.
  public static let tag = "\(SignatureKind.hmac.tag)"
  /// The label that a signer uses. A verifier finds the signature by its tag.
  public static let label = tag
  /// The algorithm's name in RFC 9421.
  public static let algorithm = "\(SignatureKind.hmac.algorithm)"
  /// The tag, and the label, of a signature by the installation's key.
  public static let installationTag = "\(SignatureKind.installation.tag)"
  /// The algorithm of a signature by the installation's key, in RFC 9421.
  public static let installationAlgorithm = "\(SignatureKind.installation.algorithm)"
  /// The digest of the user account, keyed for its gate.
  public static let accountField = "proof-account"
  /// Components of each request.
  public static let always = ["@method", "@authority", "@path", "@query"]
  /// Fields that are covered where the request has them.
  public static let whenPresent = [
    "authorization", "content-type", "x-http-method-override", accountField,
  ]
  /// The same and `content-digest`, in the order in which a signer writes them.
  static let order: [ComponentName] = [
    .method, .authority, .path, .query, .contentDigest, .authorization, .contentType,
    .methodOverride, .account,
  ]
  /// Fields that a request may have once only: two values could be read differently.
  private static let single = ComponentSet(
    .authorization, .contentType, .methodOverride, .account, .contentDigest, .contentLength, .host)
  private static let alwaysSet = ComponentSet(.method, .authority, .path, .query)
  private static let digestAndPresent = ComponentSet(
    .authorization, .contentType, .methodOverride, .account, .contentDigest)

  /// More fields that are covered where the request has them, in lower case, such as `cookie`.
  public var moreFields: [String] = []
  /// Spellings of the target that the route allows. An empty query is never allowed.
  public var allowed: TargetRule = []

  /// The form without additions.
  public init() {}

  /// Whether a request with this method always has a digest of its body.
  static func needsDigest(_ method: String) -> Bool { method != "GET" && method != "HEAD" }

  /// The known components that a request has to cover.
  ///
  /// - Parameters:
  ///   - fields: The header.
  ///   - hasDigest: Whether a digest of the body is in the header, or will be.
  /// - Returns: The components.
  static func required(of fields: HeaderFields, hasDigest: Bool) -> ComponentSet {
    var required = alwaysSet.union(digestAndPresent.intersection(fields.known))
    if hasDigest { required.add(.contentDigest) }
    return required
  }

  /// Calls with each of ``moreFields`` that a request has, and that is not required anyway.
  func forEachMoreField<E: Error>(
    of fields: HeaderFields, _ body: (String) throws(E) -> Void
  ) throws(E) {
    for (index, name) in moreFields.enumerated()
    where fields.count(of: name) > 0 && !Self.digestAndPresent.has(ComponentName(name.utf8.span))
      && !moreFields[..<index].contains(name)
    {
      try body(name)
    }
  }

  /// Refuses what two readers could read differently, and a body without a digest.
  ///
  /// - Parameters:
  ///   - head: The request.
  ///   - isDigestSet: Whether a digest of the body will replace those of the header.
  /// - Throws: ``RequestRefusal``.
  func check(_ head: RequestHead, isDigestSet: Bool = false) throws(RequestRefusal) {
    try checkReading(head, except: isDigestSet ? .contentDigest : .other)
    if !isDigestSet, !head.fields.known.has(.contentDigest) {
      guard !Self.needsDigest(head.method), !Self.announcesBody(head) else {
        throw .uncoveredBody
      }
    }
  }

  /// Whether the head says that a body follows.
  package static func announcesBody(_ head: RequestHead) -> Bool {
    head.fields.known.has(.transferEncoding) || head.fields.first(.contentLength) ?? "0" != "0"
  }

  /// Refuses what two readers could read differently: the target's spelling, and fields that stand twice.
  package func checkReading(_ head: RequestHead) throws(RequestRefusal) {
    try checkReading(head, except: .other)
  }

  private func checkReading(
    _ head: RequestHead, except replaced: ComponentName
  ) throws(RequestRefusal) {
    let found = TargetRule.found(in: head)
    guard found.subtracting(allowed).isEmpty, !found.contains(.emptyQuery) else {
      throw .ambiguousTarget
    }
    var repeated = head.fields.repeated
    repeated.drop(replaced)
    guard repeated.isDisjoint(with: Self.single) else { throw .repeatedField }
    if let type = head.fields.first(.contentType), Self.isList(type) { throw .repeatedField }
  }

  /// Whether a value has a comma outside of quotes: a proxy joins two lines so.
  private static func isList(_ value: String) -> Bool {
    var isQuoted = false
    var isEscaped = false
    let value = value.utf8.span
    for index in value.indices {
      let byte = value[index]
      if isEscaped {
        isEscaped = false
      } else if isQuoted && byte == UInt8(ascii: "\\") {
        isEscaped = true
      } else if byte == UInt8(ascii: "\"") {
        isQuoted.toggle()
      } else if byte == UInt8(ascii: ",") && !isQuoted {
        return true
      }
    }
    return isQuoted
  }
}
