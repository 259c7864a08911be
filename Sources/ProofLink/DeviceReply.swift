// SPDX-License-Identifier: Apache-2.0

internal import ProofModel

/// The device's result for the last command that was accepted on this link (docs/LINK.md, section
/// 6). An attacker on the link can forge it; only the receipt is authenticated.
public struct DeviceReply: Sendable, Hashable {
  /// The length of a reply, in bytes.
  public static var byteCount: Int { 18 }

  /// The result of an accepted command in the device.
  public enum Result: UInt8, Sendable, CaseIterable {
    /// It is done.
    case done = 1
    /// The device knows no such command.
    case unknownCommand = 2
    /// The command's number is out of range.
    case outOfRange = 3
    /// It is not done: the device could not store its new state.
    case notStored = 4
  }

  /// The counter of the challenge that the command answered.
  public let counter: UInt64
  /// The command's result.
  public let result: Result
  /// Whether the lock is open.
  public let isOpen: Bool
  /// After how many seconds the lock closes itself; 0 for never.
  public let autolock: UInt16
  /// The device's firmware.
  public let firmware: UInt16
  /// The number of commands done since the device started.
  public let doneCount: UInt32

  /// Decodes a reply: nil if no command was accepted on this link, or if the bytes are no reply.
  ///
  /// - Parameter bytes: The value that was read.
  public init?(_ bytes: [UInt8]) {
    guard bytes.count == Self.byteCount, let result = Result(rawValue: bytes[8]), bytes[9] <= 1
    else { return nil }
    func number(_ range: Range<Int>) -> UInt64 {
      UInt64(littleEndianBytes: bytes[range])
    }
    self.result = result
    isOpen = bytes[9] == 1
    counter = number(0..<8)
    autolock = UInt16(number(10..<12))
    firmware = UInt16(number(12..<14))
    doneCount = UInt32(number(14..<18))
  }
}
