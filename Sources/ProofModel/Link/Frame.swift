// SPDX-License-Identifier: Apache-2.0

/// The packets of a message, for a link with a small maximum (docs/SPEC.md, section 11).
public enum Frame {
  /// The sizes that a packet may have: at Bluetooth's smallest MTU of 23, packets have 20 bytes.
  public static var packetSizes: ClosedRange<Int> { CoreWire.packets }

  /// The number of packets of a message.
  ///
  /// - Parameters:
  ///   - message: The message.
  ///   - packetSize: The link's packet size.
  /// - Returns: One or more.
  /// - Throws: ``ProofError/outOfRange(field:value:allowed:)``.
  public static func packetCount(
    of message: Message, packetSize: Int
  ) throws(ProofError) -> Int {
    try packetCount(of: message.type, byteCount: message.bytes.count, packetSize: packetSize)
  }

  /// The number of packets of a future message.
  ///
  /// - Parameters:
  ///   - type: The message's type.
  ///   - byteCount: How many bytes it will have.
  ///   - packetSize: The link's packet size.
  /// - Returns: One or more.
  /// - Throws: ``ProofError/outOfRange(field:value:allowed:)``,
  ///   ``ProofError/malformed(_:byteCount:)`` if no message of the type has so many bytes.
  public static func packetCount(
    of type: MessageType, byteCount: Int, packetSize: Int
  ) throws(ProofError) -> Int {
    try check(packetSize)
    guard type.fits(byteCount) else {
      throw .malformed("\(type) message", byteCount: byteCount)
    }
    return CoreFrame.packetCount(type, byteCount, packetSize)
  }

  static func check(_ packetSize: Int) throws(ProofError) {
    guard packetSizes.contains(packetSize) else {
      throw .outOfRange(
        field: "packet size", value: "\(packetSize)",
        allowed: "\(packetSizes.lowerBound) to \(packetSizes.upperBound)")
    }
  }
}

/// A message to send, cut into packets. It cannot be copied: each packet is sent once.
public struct Fragmenter: ~Copyable, Sendable {
  private var core: CoreFragmenter

  /// Begins to cut a message.
  ///
  /// - Parameters:
  ///   - message: The message.
  ///   - packetSize: The link's packet size.
  /// - Throws: ``ProofError/outOfRange(field:value:allowed:)``.
  public init(_ message: Message, packetSize: Int) throws(ProofError) {
    try Frame.check(packetSize)
    core = CoreFragmenter(message, packetSize: packetSize)
  }

  /// The next packet.
  ///
  /// - Returns: At most a packet's size of bytes; nil when all were taken.
  public mutating func next() -> [UInt8]? { core.next() }
}

extension Message {
  /// Cuts the message into packets.
  ///
  /// - Parameter size: The link's packet size.
  /// - Returns: The packets, in order.
  /// - Throws: ``ProofError/outOfRange(field:value:allowed:)``.
  public func packets(of size: Int) throws(ProofError) -> [[UInt8]] {
    var fragmenter = try Fragmenter(self, packetSize: size)
    var packets: [[UInt8]] = []
    while let packet = fragmenter.next() { packets.append(packet) }
    return packets
  }
}
