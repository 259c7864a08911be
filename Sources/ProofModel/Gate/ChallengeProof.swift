// SPDX-License-Identifier: Apache-2.0

/// The request that an answer to a gate's challenge of kind proof is bound to. The app takes the authority from its
/// connection, the gate from its route; neither takes it from the challenge.
public struct ChallengePlace: Sendable, Hashable {
  /// The method; upper and lower case differ.
  public var method: String
  /// `http` or `https`.
  public var scheme: String
  /// The host in lower case, and the port unless it is the scheme's own.
  public var authority: String
  /// Path and query as sent.
  public var target: String

  /// Describes a request.
  public init(method: String, scheme: String = "https", authority: String, target: String) {
    self.method = method
    self.scheme = scheme
    self.authority = authority
    self.target = target
  }
}

extension GateKeys {
  /// How many bytes the id of a gate's challenge has.
  public static var challengeIDByteCount: Int { CoreWire.challengeID }

  /// Answers a gate's challenge of kind proof: docs/SPEC.md, section 16.
  ///
  /// - Parameters:
  ///   - challenge: The challenge's id, 60 bytes.
  ///   - gate: The gate that the account names for the authority.
  ///   - place: The request that the gate answered with the challenge.
  /// - Returns: The proof, 32 bytes.
  /// - Throws: ``ProofError/wrongLength(of:expected:actual:)``; ``ProofError/malformed(_:byteCount:)`` for a request in
  ///   another spelling.
  public func challengeProof(
    answering challenge: [UInt8], at gate: GateID, for place: ChallengePlace
  ) throws(ProofError) -> Digest {
    try CoreHTTP.proof(at: gate, answering: challenge, place, with: core)
  }

  /// Checks an answer to a challenge of kind proof, in constant time.
  ///
  /// - Parameters:
  ///   - proof: The proof that the client sent.
  ///   - challenge: The challenge's id, 60 bytes.
  ///   - gate: This gate.
  ///   - place: The request as the gate sees it.
  /// - Throws: ``ProofError/differs(_:)``, and as ``challengeProof(answering:at:for:)``.
  public func checkChallengeProof(
    _ proof: Digest, answering challenge: [UInt8], at gate: GateID, for place: ChallengePlace
  ) throws(ProofError) {
    try CoreHTTP.check(proof, at: gate, answering: challenge, place, with: core)
  }
}
