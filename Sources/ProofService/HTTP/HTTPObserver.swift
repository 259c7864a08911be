/// Stands before a handler: measures and logs each request, and answers `GET /metrics`.
public struct HTTPObserver: HTTPHandler {
  /// Whether requests' peers are logged. Asked for each request, so that a policy can change.
  public typealias PeerPolicy = @Sendable () -> Bool

  private static let metricsPath = "/metrics"

  private let handler: any HTTPHandler
  private let routes: HTTPRoutes
  private let metrics: HTTPMetrics
  private let log: HTTPLog?
  private let logsPeers: PeerPolicy
  private let readers: Set<IPAddress>
  private let clock = ContinuousClock()

  /// An observer of a handler.
  ///
  /// - Parameters:
  ///   - handler: Answers everything but `/metrics`; what it would answer there is added.
  ///   - routes: The handler's routes; those of this type are added.
  ///   - metrics: Counts.
  ///   - readers: Addresses that may read the measures, beside this machine's own.
  ///   - log: Where each request is noted, if anywhere.
  ///   - logsPeers: Whether the address that a request comes from is noted, too.
  /// - Throws: ``HTTPServerError/address(_:)`` if a reader is no address.
  public init(
    _ handler: any HTTPHandler, routes: [String], metrics: HTTPMetrics,
    readers: Set<String> = [], log: HTTPLog? = nil, logsPeers: @escaping PeerPolicy = { false }
  ) throws(HTTPServerError) {
    self.handler = handler
    self.routes = HTTPRoutes(routes + [Self.metricsPath])
    self.metrics = metrics
    self.log = log
    self.logsPeers = logsPeers
    var addresses: Set<IPAddress> = []
    for text in readers {
      guard let address = IPAddress(text) else { throw .address(text) }
      addresses.insert(address)
    }
    self.readers = addresses
  }

  /// The handler's answer.
  ///
  /// - Parameter request: What is asked.
  /// - Returns: What is answered.
  public func respond(to request: HTTPRequest) -> HTTPResponse {
    let route = routes.template(of: request.path)
    metrics.begin()
    let start = clock.now
    let response =
      request.path == Self.metricsPath ? measures(for: request) : handler.respond(to: request)
    let seconds = (clock.now - start) / .seconds(1)
    metrics.end(request, response, route: route, seconds: seconds)
    if let log { note(request, response, route: route, seconds: seconds, in: log) }
    return response
  }

  private func note(
    _ request: HTTPRequest, _ response: HTTPResponse, route: String, seconds: Double,
    in log: HTTPLog
  ) {
    var values: [(name: String, value: HTTPLog.Value)] = [
      ("method", .text(request.knownMethod)), ("route", .text(route)),
      ("status", .number(response.status)), ("bytes", .number(response.body.count)),
      ("us", .number(Int((seconds * 1_000_000).rounded()))),
    ]
    if logsPeers() { values.append(("peer", .text(request.peer))) }
    log.note("request", values)
  }

  private func measures(for request: HTTPRequest) -> HTTPResponse {
    // To strangers there is no such page: how much a service has to do is nobody else's business.
    guard mayRead(request) else { return HTTPResponse(status: 404, text: "there is no such page") }
    guard request.method == "GET" else {
      return HTTPResponse(status: 405, text: "the measures can only be read: use GET")
    }
    let own = handler.respond(to: request)
    return HTTPResponse(
      status: 200, headers: ["content-type": "text/plain; version=0.0.4; charset=utf-8"],
      body: Array(metrics.text.utf8) + (own.status == 200 ? own.body : []))
  }

  /// Behind a proxy that is not trusted everybody seems to be this machine. Proxies say that they are
  /// there, so a request that came through one counts as a stranger's.
  private func mayRead(_ request: HTTPRequest) -> Bool {
    guard let peer = IPAddress(request.peer) else { return false }
    if readers.contains(peer) { return true }
    return peer.isLoopback && request.headers["x-forwarded-for"] == nil
      && request.headers["forwarded"] == nil
  }
}
