/// A way to one piece of hardware: a Bluetooth stack, a serial line, a local pipe.
///
/// ``PipeTransport`` is the implementation in this library. For a radio, implement these two
/// protocols in a few lines. Everything above them stays as it is: discovery, fragments, proofs,
/// and recovery from a lost link. docs/LINK.md, section 9, shows an example.
public protocol LinkTransport: Sendable {
  /// How long the hardware may let a newcomer wait on an open link before it answers at all.
  ///
  /// A connection waits as long for a link's first PDU, if that is longer than its patience: a link
  /// that is given up loses its place in the queue. Zero, the default, if the hardware has no queue, as
  /// over a radio.
  var admission: Duration { get }

  /// Opens a link.
  ///
  /// It may take as long as it likes: the connection waits as long as its options say, and cancels
  /// the task then.
  ///
  /// - Returns: The link, on which nothing was sent so far.
  /// - Throws: ``LinkUnavailable``, for now: the connection tries again.
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

  /// Ends the link; what is queued may be lost. Called once more, it does nothing.
  func close()
}

/// Why there is no link.
public struct LinkUnavailable: Error, Sendable, Hashable, CustomStringConvertible {
  /// The failure, for a log.
  public let reason: String

  /// Whether nothing is at the address: a path that does not exist, say. Coming closer does not
  /// help then.
  public let isAddressWrong: Bool

  /// Describes a failure.
  ///
  /// - Parameters:
  ///   - reason: The failure, for a log.
  ///   - isAddressWrong: Whether nothing is at the address.
  public init(_ reason: String, isAddressWrong: Bool = false) {
    self.reason = reason
    self.isAddressWrong = isAddressWrong
  }

  /// The reason.
  public var description: String { reason }
}
