// SPDX-License-Identifier: Apache-2.0

/// The types of messages between app and hardware.
public enum MessageType: UInt8, Sendable, CaseIterable {
  /// To the hardware: asks for a challenge or the status.
  case ask = 1
  /// To the app: a challenge.
  case challenge = 2
  /// To the hardware: a measurement token.
  case token = 3
  /// To the hardware: a command with its proofs.
  case command = 4
  /// To the app: a verdict with its receipt.
  case verdict = 5
  /// To the hardware: a signed order.
  case order = 6
  /// To the hardware: asks for the outcome of a command.
  case recall = 7
  /// To the app: the hardware's public facts.
  case status = 8
  /// To the hardware: a further command in a channel.
  case channelCommand = 9
  /// To the app: a verdict that only the sender of a sealed command can read.
  case sealedAnswer = 10
  /// To the hardware: asks for a part of its log.
  case logAsk = 11
  /// To the app: a part of the log.
  case log = 12
  /// To the hardware: a grant by which an owner lends command classes.
  case grant = 13

  /// Whether a message of this type may have this many bytes.
  public func fits(_ byteCount: Int) -> Bool { CoreMessage.fits(self, byteCount) }
}

/// One message between app and hardware, of a length that its type may have.
public struct Message: Sendable, Hashable {
  /// The message's type.
  public let type: MessageType
  /// The message's bytes.
  public let bytes: [UInt8]

  /// Checks and takes a message.
  ///
  /// - Parameters:
  ///   - type: The message's type.
  ///   - bytes: As many as the type may have.
  /// - Throws: ``ProofError/malformed(_:byteCount:)``.
  public init(_ type: MessageType, _ bytes: [UInt8]) throws(ProofError) {
    guard type.fits(bytes.count) else {
      throw .malformed("\(type) message", byteCount: bytes.count)
    }
    self.type = type
    self.bytes = bytes
  }

  /// Takes a message that this library encoded.
  init(encoded type: MessageType, _ bytes: [UInt8]) {
    self.type = type
    self.bytes = bytes
  }

  /// Asks for a challenge.
  public static let askForChallenge = Message(encoded: .ask, [CoreMessage.askForChallenge])

  /// Asks for a challenge for a sealed command.
  public static let askForSealedChallenge = Message(
    encoded: .ask, [CoreMessage.askForSealedChallenge])

  /// Asks for the status.
  public static let askForStatus = Message(encoded: .ask, [CoreMessage.askForStatus])

  /// Asks for the hardware's log, from one entry on.
  package static func askForLog(
    from first: UInt64, answering nonce: HardwareLogNonce
  ) -> Message {
    Message(encoded: .logAsk, CoreLog.ask(from: first, nonce))
  }

  /// The bytes, if the message is of a type.
  ///
  /// - Throws: ``ProofError/malformed(_:byteCount:)``.
  func bytes(of expected: MessageType) throws(ProofError) -> [UInt8] {
    guard type == expected else {
      throw .malformed("\(expected) message, which is of type \(type),", byteCount: bytes.count)
    }
    return bytes
  }
}
