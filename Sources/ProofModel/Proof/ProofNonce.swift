// SPDX-License-Identifier: Apache-2.0

/// The nonce that a proof answers: exactly 16 bytes.
///
/// Over the link it is derived, and so valid for one piece of hardware, one challenge, one kind and
/// one command. An app with a link of its own may use any 16 bytes that its verifier has never
/// seen.
public struct ProofNonce: RandomBytes {
  /// 16 bytes.
  public static var byteCount: Int { 16 }

  let storage: InlineBytes<16>

  init(storage: InlineBytes<16>) { self.storage = storage }

  /// Checks and takes 16 bytes.
  public init(_ bytes: Span<UInt8>) throws(ProofError) {
    storage = try InlineBytes(bytes, of: "proof nonce")
  }

  /// Lends the bytes, for as long as the closure runs.
  public func withBytes<R: ~Copyable, E: Error>(
    _ body: (Span<UInt8>) throws(E) -> R
  ) throws(E) -> R {
    try storage.withSpan(body)
  }
}

extension ProofNonce {
  /// Derives the nonce that a command over the link answers.
  ///
  /// - Parameters:
  ///   - hardware: The hardware that challenged.
  ///   - challenge: The hardware's live challenge.
  ///   - kind: The kind of proof.
  ///   - command: The command to be done.
  public init(
    for hardware: HardwareID, answering challenge: Challenge, of kind: ProofKind,
    _ command: Command
  ) {
    self = CoreNonce.derive(for: hardware, answering: challenge, of: kind, command)
  }

  /// The nonce that the device proof of an integrity command answers. It binds the integrity proof
  /// beside it, so that an attacker on the link cannot corrupt one of the two alone.
  ///
  /// - Parameter integrityProof: The integrity proof, which answers this nonce.
  /// - Returns: The nonce for the device proof.
  public func escort(of integrityProof: Proof) -> ProofNonce {
    CoreNonce.escort(self, integrityProof)
  }
}
