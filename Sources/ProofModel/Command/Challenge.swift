// SPDX-License-Identifier: Apache-2.0

/// The hardware's challenge: 32 random bytes, and a counter that never repeats in its life.
public struct Challenge: Sendable, Hashable {
  /// The number of random bytes of a challenge.
  public static var byteCount: Int { CoreWire.challenge }

  /// The challenge's number.
  public let counter: UInt64
  /// The random bytes.
  public let bytes: [UInt8]

  /// Checks and takes a challenge.
  ///
  /// - Parameters:
  ///   - counter: The challenge's number.
  ///   - bytes: 32 random bytes.
  /// - Throws: ``ProofError/wrongLength(of:expected:actual:)``.
  public init(counter: UInt64, bytes: [UInt8]) throws(ProofError) {
    guard bytes.count == Self.byteCount else {
      throw .wrongLength(
        of: "challenge", expected: Self.byteCount...Self.byteCount, actual: bytes.count)
    }
    self.counter = counter
    self.bytes = bytes
  }

  /// Decodes the hardware's answer to ``Message/askForChallenge``.
  ///
  /// - Parameter message: The hardware's answer.
  /// - Throws: ``ProofError/malformed(_:byteCount:)``.
  public init(_ message: Message) throws(ProofError) {
    self = try CoreMessage.challenge(message.bytes(of: .challenge))
  }

  /// The challenge as a message.
  public var message: Message { CoreMessage.encode(self) }
}
