// SPDX-License-Identifier: Apache-2.0

/// A channel behind a sealed command that was accepted: the next command costs one round trip and has
/// no proof of its own (SPEC.md, section 20).
///
/// A channel serves one command, on the link of the command before. The hardware's answer to it gives
/// the next one, or none: ``ProvedCommand/channel(from:)``. Any other message on the link ends it.
public struct CommandChannel: Sendable {
  /// The counter of the command that it serves.
  public let counter: UInt64
  /// The kind of the command that opened the channel: its rights are those of this kind.
  public let kind: ProofKind
  /// The app instance that sends.
  public let instance: InstanceID
  /// The token that the hardware holds.
  public let token: TokenDigest
  let secrets: HardwareSecrets
  /// The values that the command before left, with the channel's key.
  let last: CoreSealed.Sent
}
