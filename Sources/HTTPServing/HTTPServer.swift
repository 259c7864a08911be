// SPDX-License-Identifier: Apache-2.0

public import ProofModel

/// A running HTTP/1.1 server, plain or with TLS 1.2 or later.
///
/// It passes whole requests within its limits to a handler. It refuses input that is no HTTP, too
/// large or too slow itself.
public final class HTTPServer: Sendable {
  private let core: CoreServer
  private let files: HTTPCertificateFiles?
  private let state: CoreLock<State>

  private struct State {
    var isStopped = false
    var certificateEnd: UnixTime?
  }

  /// Starts to listen.
  ///
  /// - Parameters:
  ///   - settings: The address to listen on, and the limits on clients.
  ///   - handler: Answers the requests.
  /// - Throws: ``HTTPServerError``.
  public init(
    _ settings: HTTPServerSettings, handler: any HTTPHandler
  ) throws(HTTPServerError) {
    let forwarded = try ForwardedPeer(
      trusting: settings.trustedProxies, trustsAll: settings.isLocalSocket)
    let end: UnixTime?
    if let files = settings.certificate {
      end = try CoreServer.end(of: files)
    } else {
      end = nil
    }
    files = settings.certificate
    state = CoreLock(State(certificateEnd: end))
    core = try CoreServer(settings, proxies: forwarded.trusted) { request in
      var request = request
      request.isForwarded = forwarded.isProxy(request.peer)
      request.peer = forwarded.peer(of: request)
      return handler.answer(to: request)
    }
  }

  deinit { stop(draining: .zero) }

  /// The port it listens on.
  public var port: UInt16 { core.port }

  /// The server's counters since it was started.
  public var counts: HTTPServerCounts { core.counts }

  /// The certificate's end; `nil` for plain HTTP.
  public var certificateEnd: UnixTime? { state.withLock { $0.certificateEnd } }

  /// Reads the certificate's files again. Later handshakes use the new certificate; open
  /// connections stay open. If the files cannot be used, the old certificate stays.
  ///
  /// - Throws: ``HTTPServerError``, if the files cannot be used.
  public func renewCertificate() throws(HTTPServerError) {
    guard let files else { throw .plain }
    try state.withLock { state throws(HTTPServerError) in
      state.certificateEnd = try core.renew(files)
    }
  }

  /// Stops the server. New connections are refused at once. New requests on open connections get
  /// status 503. Requests in flight may finish. Returns when everything is closed. Only the first
  /// of several calls has an effect.
  ///
  /// - Parameter time: The time that requests in flight have to finish.
  /// - Returns: Whether all of them finished.
  @discardableResult
  public func stop(draining time: Duration = .seconds(30)) -> Bool {
    let isFirst = state.withLock { state in
      defer { state.isStopped = true }
      return !state.isStopped
    }
    return isFirst ? core.stop(draining: time) : true
  }
}

/// The counters of a server since it was started.
public struct HTTPServerCounts: Sendable, Hashable {
  /// Connections open now.
  public let connectionsOpen: UInt64
  /// Connections accepted.
  public let connectionsAccepted: UInt64
  /// Connections closed to make room for another.
  public let connectionsDisplaced: UInt64
  /// Requests whose head has arrived and whose answer is not yet sent.
  public let requestsInFlight: UInt64
  /// Connections ended because a request or an answer took too long.
  public let requestsTimedOut: UInt64
  /// Requests refused because of the size of their body.
  public let requestsTooLarge: UInt64
  /// Requests refused because too many bodies were being received.
  public let requestsRefusedBusy: UInt64
  /// Requests refused because the server was stopping.
  public let requestsRefusedStopping: UInt64
}
