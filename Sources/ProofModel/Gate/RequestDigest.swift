// SPDX-License-Identifier: Apache-2.0

/// The digest of an HTTP request, which a compact token of kind ``CompactKind/request`` covers.
///
/// Both sides compute it from the request as it is sent. A request has one canonical spelling. Any
/// other is refused, so that app, proxy and gate cannot read one request differently.
public struct RequestDigest: Sendable, Hashable {
  let digest: Digest
  let body: Digest

  /// Makes the digest of a request.
  ///
  /// - Parameters:
  ///   - method: 1 to 32 token characters; upper and lower case differ.
  ///   - scheme: `http` or `https`.
  ///   - authority: The host in lower case, and the port unless it is the scheme's own.
  ///   - target: Path and query as sent.
  ///   - body: SHA-256 of the body's coded bytes; without a body, of no bytes.
  ///   - authorization: The value of the `Authorization` header; nil without one.
  /// - Throws: ``ProofError/malformed(_:byteCount:)`` for another spelling.
  public init(
    method: String, scheme: String, authority: String, target: String, body: Digest,
    authorization: String? = nil
  ) throws(ProofError) {
    self.body = body
    digest = try CoreHTTP.digest(
      method: method, scheme: scheme, authority: authority, target: target, body: body,
      authorization: authorization ?? "")
  }

  /// Takes a digest that was made elsewhere.
  package init(_ digest: Digest, body: Digest) {
    self.digest = digest
    self.body = body
  }

  /// The digest that a request carries, with the body of this one: the request as it was received.
  package func claiming(_ digest: Digest) -> RequestDigest { RequestDigest(digest, body: body) }

  /// The digest's bytes.
  public var bytes: [UInt8] { digest.bytes }
}
