// SPDX-License-Identifier: Apache-2.0

/// The hardware's challenge for a sealed command, with its key for that command (SPEC.md, section 18).
///
/// The hardware makes the key ahead and uses it once. An attacker who puts a key of his own in its
/// place reads nothing: the command is sealed with the device proof key as well.
public struct SealedChallenge: Sendable, Hashable {
  /// The number of bytes of the message: a challenge and a key.
  public static var byteCount: Int { CoreWire.sealedChallenge }

  /// The challenge.
  public let challenge: Challenge
  /// The hardware's public key for the command.
  let key: InlineBytes<32>

  /// Decodes the hardware's answer to ``Message/askForSealedChallenge``.
  ///
  /// - Parameter message: The hardware's answer.
  /// - Throws: ``ProofError/malformed(_:byteCount:)``.
  public init(_ message: Message) throws(ProofError) {
    (challenge, key) = try CoreSealed.challenge(message.bytes(of: .challenge))
  }

  /// Whether all fields are equal.
  public static func == (left: SealedChallenge, right: SealedChallenge) -> Bool {
    left.challenge == right.challenge && left.key.isEqual(to: right.key)
  }

  /// Hashes the challenge.
  public func hash(into hasher: inout Hasher) { hasher.combine(challenge) }
}
