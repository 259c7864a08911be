// SPDX-License-Identifier: Apache-2.0

/// A way to one piece of hardware: a Bluetooth stack, a serial line, a local pipe.
///
/// ``PipeTransport`` is the implementation in this library. For a radio, implement these two
/// protocols in a few lines. Everything above them stays as it is: discovery, fragments, proofs,
/// and recovery from a lost link. docs/LINK.md, section 9, shows an example.
public protocol LinkTransport: Sendable {
  /// The longest time that the hardware may let a new link wait before its first answer.
  ///
  /// A connection waits that long for a link's first PDU, if it is longer than its timeout. A link
  /// that is given up loses its place in the queue. Zero, the default, if the hardware has no
  /// queue, as over a radio.
  var admission: Duration { get }

  /// Opens a link.
  ///
  /// It needs no timeout of its own: the connection waits as long as its options say, then cancels
  /// the task.
  ///
  /// - Returns: The link, on which nothing was sent so far.
  /// - Throws: ``LinkUnavailable``; the connection then tries again.
  func open() async throws(LinkUnavailable) -> any LinkChannel
}

extension LinkTransport {
  /// The hardware has no queue.
  public var admission: Duration { .zero }
}

/// One link to the hardware, from its beginning to its end.
///
/// It carries the PDUs of docs/LINK.md, section 2, whole or not at all. It may lose, repeat, reorder
/// and damage them, and may end at any moment.
public protocol LinkChannel: AnyObject, Sendable {
  /// The PDUs that the hardware sends. The stream ends when the link does, and is read once.
  var received: AsyncStream<[UInt8]> { get }

  /// Sends a PDU, after those sent before, and does not wait for it. A PDU that cannot be sent any
  /// more is lost with the link.
  func send(_ pdu: [UInt8])

  /// Ends the link. PDUs that are still queued may be lost. A second call does nothing.
  func close()
}

/// The reason why a link could not be opened.
public struct LinkUnavailable: Error, Sendable, Hashable, CustomStringConvertible {
  /// The failure, for a log.
  public let reason: String

  /// Whether memory or descriptors ran out on this side.
  public let isExhausted: Bool

  /// Describes a failure.
  ///
  /// - Parameters:
  ///   - reason: The failure, for a log: a path that does not exist, a radio that is off.
  ///   - isExhausted: Whether memory or descriptors ran out on this side.
  public init(_ reason: String, isExhausted: Bool = false) {
    self.reason = reason
    self.isExhausted = isExhausted
  }

  /// The reason.
  public var description: String { reason }
}
