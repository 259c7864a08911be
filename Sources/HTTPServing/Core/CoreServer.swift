// SPDX-License-Identifier: Apache-2.0

internal import CMicroHTTPD
internal import ProofModel

/// A server of the C code. Its counts can be read as long as it lives, also after it has stopped.
@safe
final class CoreServer: Sendable {
  // The C server's functions may be called from any thread.
  private nonisolated(unsafe) let server: OpaquePointer
  private let answering: Unmanaged<Answering>

  init(
    _ settings: HTTPServerSettings, proxies: Set<IPAddress>,
    answer: @escaping @Sendable (HTTPRequest) -> HTTPAnswer
  ) throws(HTTPServerError) {
    var limits = try CoreLimits.checked(settings.limits, socketMode: settings.socketMode)
    var certificate: OpaquePointer?
    if let files = settings.certificate { unsafe certificate = try Self.read(files) }
    let answering = unsafe Unmanaged.passRetained(Answering(answer))
    var server: OpaquePointer?
    // A proxy sends for many clients, so its connections have no limit for one address.
    let unlimited = proxies.map(\.text).joined(separator: " ")
    let result = unsafe pfh_server_start(
      &server, settings.address, settings.port, certificate, &limits, unlimited, respond,
      answering.toOpaque())
    let failure = CoreSystem.failure
    guard result == PFH_OK, let server = unsafe server else {
      unsafe answering.release()
      unsafe pfh_certificate_free(certificate)
      switch result {
      case PFH_E_ADDRESS: throw .address(settings.address)
      case PFH_E_BIND:
        throw .cannotListen(
          address: settings.address, port: settings.port, code: failure,
          reason: CoreSystem.words(failure))
      default: throw .resources
      }
    }
    unsafe self.server = server
    unsafe self.answering = answering
  }

  deinit {
    unsafe pfh_server_free(server)
    unsafe answering.release()
  }

  var port: UInt16 { unsafe pfh_server_port(server) }

  var counts: HTTPServerCounts {
    let counts = unsafe pfh_server_counts(server)
    return HTTPServerCounts(
      connectionsOpen: counts.connections_open, connectionsAccepted: counts.connections_accepted,
      connectionsDisplaced: counts.connections_displaced,
      requestsInFlight: counts.requests_in_flight, requestsTimedOut: counts.requests_timed_out,
      requestsTooLarge: counts.requests_too_large,
      requestsRefusedBusy: counts.requests_refused_busy,
      requestsRefusedStopping: counts.requests_refused_stopping)
  }

  /// Loads the certificate of two files. One caller at a time.
  ///
  /// - Returns: The certificate's end.
  func renew(_ files: HTTPCertificateFiles) throws(HTTPServerError) -> UnixTime {
    let certificate = try unsafe Self.read(files)
    let end = unsafe pfh_certificate_end(certificate)
    guard unsafe pfh_server_renew(server, certificate) == 1 else {
      unsafe pfh_certificate_free(certificate)
      throw .plain
    }
    return UnixTime(seconds: end)
  }

  /// Stops the server. Call it once, before the server is released.
  func stop(draining time: Duration) -> Bool {
    unsafe pfh_server_stop(server, CoreLimits.milliseconds(time)) == 1
  }

  /// The end of the certificate in two files.
  static func end(of files: HTTPCertificateFiles) throws(HTTPServerError) -> UnixTime {
    let certificate = try unsafe read(files)
    defer { unsafe pfh_certificate_free(certificate) }
    return UnixTime(seconds: unsafe pfh_certificate_end(certificate))
  }

  private static func read(
    _ files: HTTPCertificateFiles
  ) throws(HTTPServerError) -> OpaquePointer {
    var certificate: OpaquePointer?
    let result = unsafe pfh_certificate_read(&certificate, files.chain, files.privateKey)
    let failure = CoreSystem.failure
    if result == PFH_OK, let certificate = unsafe certificate { return unsafe certificate }
    switch result {
    case PFH_E_CERTIFICATE_FILE:
      throw .unreadable(file: files.chain, reason: CoreSystem.words(failure))
    case PFH_E_KEY_FILE:
      throw .unreadable(file: files.privateKey, reason: CoreSystem.words(failure))
    case PFH_E_CERTIFICATE: throw .noCertificate(file: files.chain)
    case PFH_E_CHAIN: throw .longChain(file: files.chain, most: Int(PFH_CHAIN_MAX))
    case PFH_E_KEY: throw .noPrivateKey(file: files.privateKey)
    case PFH_E_KEY_OPEN: throw .exposedPrivateKey(file: files.privateKey)
    case PFH_E_MISMATCH:
      throw .certificateMismatch(certificate: files.chain, privateKey: files.privateKey)
    default: throw .resources
    }
  }
}

/// The context that the C server passes back with each request.
private final class Answering: Sendable {
  let answer: @Sendable (HTTPRequest) -> HTTPAnswer

  init(_ answer: @escaping @Sendable (HTTPRequest) -> HTTPAnswer) { self.answer = answer }
}

/// The C server's callback, on one of its threads. It is a named function, because a closure could
/// inherit an actor.
private func respond(
  context: UnsafeMutableRawPointer?, request: UnsafePointer<pfh_request>?,
  response: OpaquePointer?
) {
  guard let context = unsafe context, let request = unsafe request, let response = unsafe response
  else { return }
  let answering = unsafe Unmanaged<Answering>.fromOpaque(context).takeUnretainedValue()
  unsafe CoreRequest.respond(to: request, with: response, answer: answering.answer)
}
