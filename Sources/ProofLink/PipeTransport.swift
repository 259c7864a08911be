internal import ProofModel

/// The link over a local pipe (docs/LINK.md, section 1).
public struct PipeTransport: LinkTransport {
  /// Which pipe.
  public enum Path: Sendable, Hashable {
    /// A Unix socket, `SOCK_SEQPACKET`, on which the hardware listens.
    case socket(String)
    /// Two FIFOs: the one that is written, and the one that is read. One link at a time.
    case fifos(to: String, from: String)
  }

  private let path: Path
  /// The link before, which the hardware may not have left yet.
  private let before = CoreLock<PipeChannel?>(nil)

  /// Names a pipe. It is opened when a link is needed.
  public init(_ path: Path) { self.path = path }

  /// Opens a link.
  ///
  /// - Throws: ``LinkUnavailable`` with the system's reason.
  public func open() async throws(LinkUnavailable) -> any LinkChannel {
    await before.withLock { $0 }?.waitUntilOver()
    let channel =
      switch path {
      case .socket(let path): try PipeChannel(socket: path)
      case .fifos(let to, let from): try PipeChannel(to: to, from: from)
      }
    before.withLock { $0 = channel }
    return channel
  }
}
