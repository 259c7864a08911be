// SPDX-License-Identifier: Apache-2.0

internal import ProofModel

/// The link over a local pipe (docs/LINK.md, section 1).
public struct PipeTransport: LinkTransport {
  /// The kind of pipe, with its path.
  public enum Path: Sendable, Hashable {
    /// A Unix socket, `SOCK_SEQPACKET`, on which the hardware listens.
    case socket(String)
    /// Two FIFOs: one to write, one to read. They carry one link at a time.
    case fifos(to: String, from: String)
  }

  /// The longest time that the hardware may let a new link wait.
  public let admission: Duration

  private let path: Path
  /// The link before, which the hardware may not have closed yet.
  private let before = CoreLock<PipeChannel?>(nil)

  /// The longest wait for an owner at a socket under every flood of docs/LINK.md, section 7.
  public static let socketAdmission = Duration.seconds(10)

  /// Names a pipe. It is opened when a link is needed.
  ///
  /// - Parameters:
  ///   - path: The kind of pipe, with its path.
  ///   - admission: The longest time that the hardware may let a new link wait. nil is
  ///     ``socketAdmission`` at a socket, and zero at FIFOs. Pass zero for a socket behind which
  ///     PDUs are lost, such as a relay's.
  public init(_ path: Path, admission: Duration? = nil) {
    self.path = path
    switch path {
    case .socket: self.admission = admission ?? Self.socketAdmission
    case .fifos: self.admission = admission ?? .zero
    }
  }

  /// Opens a link.
  ///
  /// - Throws: ``LinkUnavailable`` with the system's reason.
  public func open() async throws(LinkUnavailable) -> any LinkChannel {
    while true {
      if let earlier = before.withLock({ $0 }), isInTheWay(earlier) {
        await earlier.waitUntilOver()
      }
      let opened = try before.withLock { before throws(LinkUnavailable) -> PipeChannel? in
        // Do not open a link that was given up: it has no user, and would block the next one.
        guard !Task.isCancelled else { throw LinkUnavailable("given up before it was open") }
        if let earlier = before, isInTheWay(earlier) { return nil }
        let channel =
          switch path {
          case .socket(let path): try PipeChannel(socket: path)
          case .fifos(let to, let from): try PipeChannel(to: to, from: from)
          }
        before = channel
        return channel
      }
      if let opened { return opened }
    }
  }

  /// Whether an earlier link blocks a new one. Two FIFOs carry one link at a time. A socket carries
  /// several, but a closed one must end before the next begins.
  private func isInTheWay(_ earlier: PipeChannel) -> Bool {
    switch path {
    case .socket: earlier.isClosed && !earlier.isOver
    case .fifos: !earlier.isOver
    }
  }
}
