/// The link over a local pipe (docs/LINK.md, section 1).
public struct PipeTransport: LinkTransport {
  /// Which pipe.
  public enum Path: Sendable, Hashable {
    /// A Unix socket, `SOCK_SEQPACKET`, on which the hardware listens.
    case socket(String)
    /// Two FIFOs: the one that is written, and the one that is read.
    case fifos(to: String, from: String)
    /// A serial line, or anything else that is one file: read and written, PDUs as on a FIFO.
    case serial(String)
  }

  private let path: Path

  /// Names a pipe. It is opened when a link is needed.
  public init(_ path: Path) { self.path = path }

  /// Opens a link.
  ///
  /// - Throws: ``LinkUnavailable`` with the system's reason.
  public func open() async throws(LinkUnavailable) -> any LinkChannel {
    preconditionFailure("not built yet")
  }
}
