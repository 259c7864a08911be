/// The standard form of a request proof: RFC 9421 with `hmac-sha256` and the tag `proofkit`.
///
/// It covers `@method`, `@authority`, `@path` and `@query`, `content-digest` for each method but `GET`
/// and `HEAD`, and each field of ``whenPresent`` that the request has. A route adds fields to them, such as
/// `cookie`.
public struct StandardForm: Sendable, Hashable {
  /// The tag of the signature's parameters.
  public static let tag = "proofkit"
  /// The label that a signer uses. A verifier finds the signature by its tag.
  public static let label = "proofkit"
  /// The algorithm's name in RFC 9421.
  public static let algorithm = "hmac-sha256"
  /// The digest of the user account, keyed for its gate.
  public static let accountField = "proof-account"
  /// Components of each request.
  public static let always = ["@method", "@authority", "@path", "@query"]
  /// Fields that are covered where the request has them.
  public static let whenPresent = [
    "authorization", "content-type", "x-http-method-override", accountField,
  ]
  /// Fields that a request may have once only: two values could be read differently.
  static let single = whenPresent + ["content-digest", "content-length", "host"]

  /// More fields that are covered where the request has them, in lower case, such as `cookie`.
  public var moreFields: [String] = []
  /// Spellings of the target that the route allows. An empty query is never allowed.
  public var allowed: TargetRule = []

  /// The form without additions.
  public init() {}

  /// Whether a request with this method always has a digest of its body.
  static func needsDigest(_ method: String) -> Bool { method != "GET" && method != "HEAD" }

  /// Calls with each component that a request has to cover, in the order in which a signer writes them.
  func forEachComponent<E: Error>(
    of head: RequestHead, _ body: (String) throws(E) -> Void
  ) throws(E) {
    for name in Self.always { try body(name) }
    if Self.needsDigest(head.method) || head.fields.count(of: "content-digest") > 0 {
      try body("content-digest")
    }
    for name in Self.whenPresent where head.fields.count(of: name) > 0 { try body(name) }
    for name in moreFields
    where !Self.whenPresent.contains(name) && name != "content-digest"
      && head.fields.count(of: name) > 0
    {
      try body(name)
    }
  }

  /// Refuses a request that two readers could read differently: by the target's spelling, by fields
  /// that stand twice, or by a body without a digest.
  func check(_ head: RequestHead) throws(RequestRefusal) {
    let found = TargetRule.found(in: head)
    guard found.subtracting(allowed).isEmpty, !found.contains(.emptyQuery) else {
      throw .ambiguousTarget
    }
    for name in Self.single where head.fields.count(of: name) > 1 { throw .repeatedField }
    guard !Self.isList(head.fields.first("content-type") ?? "") else {
      throw .repeatedField
    }
    if head.fields.count(of: "content-digest") == 0 {
      guard !Self.needsDigest(head.method), head.fields.count(of: "transfer-encoding") == 0,
        head.fields.first("content-length") ?? "0" == "0"
      else { throw .uncoveredBody }
    }
  }

  /// Whether a value has a comma outside of quotes: a proxy joins two lines so.
  private static func isList(_ value: String) -> Bool {
    var isQuoted = false
    var isEscaped = false
    for byte in value.utf8 {
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
