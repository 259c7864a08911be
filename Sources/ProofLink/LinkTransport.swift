/// A way to one piece of hardware: a Bluetooth stack, a serial line, a local pipe.
///
/// ``PipeTransport`` is what this library brings. Whoever has a radio writes these two protocols'
/// few lines for it: everything above them, discovery, fragments, proofs and what happens when the
/// link is lost, stays as it is. docs/LINK.md, section 9, shows one.
public protocol LinkTransport: Sendable {
  /// Opens a link.
  ///
  /// It may take as long as it likes: the connection waits as long as its options say, and cancels
  /// the task then.
  ///
  /// - Returns: The link, on which nothing was sent so far.
  /// - Throws: ``LinkUnavailable``, for now: the connection tries again.
  func open() async throws(LinkUnavailable) -> any LinkChannel
}

/// One link to the hardware, from its beginning to its end.
///
/// It carries the PDUs of docs/LINK.md, section 2, whole or not at all. It may lose, repeat, reorder
/// and damage them, and may end at any moment.
public protocol LinkChannel: AnyObject, Sendable {
  /// What the hardware sends, one PDU each. It ends when the link does, and is read once.
  var received: AsyncStream<[UInt8]> { get }

  /// Sends a PDU, after those sent before, and does not wait for it. What cannot be sent any more
  /// is lost with the link.
  func send(_ pdu: [UInt8])

  /// Ends the link; what is queued may be lost. Called once more, it does nothing.
  func close()
}

/// Why there is no link.
public struct LinkUnavailable: Error, Sendable, Hashable, CustomStringConvertible {
  /// What went wrong, for a log.
  public let reason: String

  /// Whether nothing is at the address: a path that does not exist, say. Coming closer does not
  /// help then.
  public let isAddressWrong: Bool

  /// Says why.
  ///
  /// - Parameters:
  ///   - reason: What went wrong, for a log.
  ///   - isAddressWrong: Whether nothing is at the address.
  public init(_ reason: String, isAddressWrong: Bool = false) {
    self.reason = reason
    self.isAddressWrong = isAddressWrong
  }

  /// The reason.
  public var description: String { reason }
}
