// SPDX-License-Identifier: Apache-2.0

public import ProofBackend
public import ProofModel

/// Signs the verdicts of a gate on requests to one host: the values of `Proof-Verdict`.
public struct VerdictDesk: Sendable {
  private let key: GateKey
  private let place: (scheme: String, authority: String)

  /// A desk for one host.
  ///
  /// - Parameters:
  ///   - own: The gate's own keys.
  ///   - host: The authority, in lower case, with its port unless that is the scheme's own.
  ///   - scheme: The scheme that clients use.
  public init(_ own: GateOwnKeys, for host: String, scheme: String = "https") {
    key = own.verdictKeySet(for: host).active
    place = (scheme, host)
  }

  /// The text of a verdict.
  ///
  /// - Parameters:
  ///   - verdict: The verdict. Its body digest is the one that the request's proof covers.
  ///   - method: The request's method.
  ///   - target: Path and query as sent.
  ///   - authorization: The value of `Authorization`; nil without one.
  /// - Returns: The value of `Proof-Verdict`.
  /// - Throws: ``/ProofModel/ProofError/malformed(_:byteCount:)`` for a request in another spelling.
  public func text(
    of verdict: GateVerdict, method: String, target: String, authorization: String? = nil
  ) throws(ProofError) -> String {
    let request = try RequestDigest(
      method: method, scheme: place.scheme, authority: place.authority, target: target,
      body: verdict.body ?? .zero,
      authorization: authorization)
    return verdict.text(for: request, with: key)
  }

  /// A reference for a verdict and for the log: 16 random bytes in base64url.
  public static func reference() -> String { Base64.encode(RandomSource.bytes(16), .url) }
}
