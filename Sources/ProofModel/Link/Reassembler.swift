// SPDX-License-Identifier: Apache-2.0

/// The effect of a packet.
public enum Reassembly: Sendable, Hashable {
  /// Taken; the message is not complete.
  case more
  /// Taken; the message is complete.
  case complete(Message)
  /// A fragment that was taken before; ignored.
  case repeated
  /// An invalid packet; ignored. The message in flight is unharmed.
  case garbage
  /// A fragment is missing or the check fails; the message in flight is given up.
  case lost
}

/// A message on its way in: one for each link and direction, one message at a time, bounded memory.
///
/// It cannot be copied, because two halves of one link must not see different messages.
public struct Reassembler: ~Copyable, Sendable {
  private var core = CoreReassembler()

  /// Begins with nothing in flight.
  public init() {}

  /// Takes one packet, of any length and content.
  ///
  /// - Parameter packet: The packet that the link delivered.
  /// - Returns: The effect of the packet.
  public mutating func receive(_ packet: Span<UInt8>) -> Reassembly {
    core.receive(packet)
  }

  /// Takes one packet, of any length and content.
  ///
  /// - Parameter packet: The packet that the link delivered.
  /// - Returns: The effect of the packet.
  public mutating func receive(_ packet: [UInt8]) -> Reassembly {
    core.receive(packet.span)
  }
}
