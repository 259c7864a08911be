public import ProofModel

/// A command that left the app, and of which nobody has said yet what became of it.
///
/// Both values went over the air in the clear, or follow from what did: nothing here is secret.
public struct OpenCommand: Sendable, Hashable {
  /// The nonce that its proofs answer.
  public let nonce: ProofNonce
  /// The counter of the challenge that it answers.
  public let counter: UInt64

  /// Names a command.
  public init(nonce: ProofNonce, counter: UInt64) {
    self.nonce = nonce
    self.counter = counter
  }
}

/// What the app's end remembers of one piece of hardware. Nothing in it is secret.
///
/// Stored, it saves a restarted app from presenting the token again, from discovering the hardware's
/// attributes again, and, above all, from sending a command again that was done: see
/// ``HardwareConnection/send(_:proving:within:)``.
public struct LinkMemory: Sendable, Hashable {
  /// The token that the hardware said, with a receipt, that it holds.
  public var heldToken: TokenDigest?
  /// The command that was left open.
  public var openCommand: OpenCommand?
  /// Where the hardware's attributes stand.
  package var attributes: AttributeTable?

  /// Remembers nothing.
  public init() {}
}
