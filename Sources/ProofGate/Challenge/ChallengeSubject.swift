// SPDX-License-Identifier: Apache-2.0

internal import ProofBackend
public import ProofModel

/// The party that a challenge is for.
public enum ChallengeClient: Sendable, Hashable {
  /// An app installation, by its handle.
  case app(GateHandle)
  /// A client at a network address, of which all of IPv4 or 64 bits of IPv6 count.
  case address(String)

  /// The bytes that bindings cover: the kind, then handle or address prefix.
  var bytes: [UInt8] {
    switch self {
    case .app(let handle): [1] + handle.bytes
    case .address(let address): [2] + Array(AddressPrefix.of(address).utf8)
    }
  }
}

/// The request that a challenge is bound to, and its client. The gate makes it again from what it sees when the answer
/// comes.
public struct ChallengeSubject: Sendable, Hashable {
  /// The client.
  public let client: ChallengeClient
  /// Method, scheme, authority and target.
  public let place: ChallengePlace
  let digest: RequestDigest

  /// Describes a request.
  ///
  /// - Parameters:
  ///   - place: Scheme and authority of the route, method and target of the request.
  ///   - body: SHA-256 of the body's coded bytes; nil if the gate does not see it.
  ///   - client: The client.
  /// - Throws: ``/ProofModel/ProofError/malformed(_:byteCount:)`` for a request in another spelling.
  public init(
    _ place: ChallengePlace, body: Digest? = nil, from client: ChallengeClient
  ) throws(ProofError) {
    self.place = place
    self.client = client
    digest = try RequestDigest(
      method: place.method, scheme: place.scheme, authority: place.authority, target: place.target,
      body: body ?? .zero)
  }

  /// The text under the binding's tag.
  var bytes: [UInt8] { digest.bytes + client.bytes }
}
