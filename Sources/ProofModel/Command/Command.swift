// SPDX-License-Identifier: Apache-2.0

/// A request that the app makes of the hardware: a class, and bytes that the hardware understands.
///
/// Both enter the nonce, so a proof is good for this command and for no other.
public struct Command: Sendable, Hashable {
  /// The longest command, in bytes.
  public static var byteCountMax: Int { CoreWire.commandMax }

  /// The class that the token must permit.
  public let commandClass: CommandClass
  /// The command itself, 0 to 256 bytes.
  public let bytes: [UInt8]

  /// Checks and takes a command.
  ///
  /// - Parameters:
  ///   - bytes: At most ``byteCountMax``.
  ///   - commandClass: The class that the token must permit.
  /// - Throws: ``ProofError/wrongLength(of:expected:actual:)``.
  public init(_ bytes: [UInt8], class commandClass: CommandClass) throws(ProofError) {
    guard bytes.count <= Self.byteCountMax else {
      throw .wrongLength(of: "command", expected: 0...Self.byteCountMax, actual: bytes.count)
    }
    self.commandClass = commandClass
    self.bytes = bytes
  }

  /// Takes a command whose text stands in the source. Traps above ``byteCountMax`` bytes.
  ///
  /// - Parameters:
  ///   - text: The command; its UTF-8 bytes are sent.
  ///   - commandClass: The class that the token must permit.
  public init(_ text: StaticString, class commandClass: CommandClass) {
    bytes = Array("\(text)".utf8)
    precondition(bytes.count <= Self.byteCountMax, "The command has \(bytes.count) bytes.")
    self.commandClass = commandClass
  }
}
