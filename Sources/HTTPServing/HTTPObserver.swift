// SPDX-License-Identifier: Apache-2.0

internal import ProofJOSE

/// Wraps a handler: measures and logs each request, and answers `GET /metrics`.
public struct HTTPObserver: HTTPHandler {
  /// Whether to log requests' peers. It is called for each request, so that a policy can change.
  public typealias PeerPolicy = @Sendable () -> Bool

  private static let metricsPath = "/metrics"
  private static let readingsASecond = 10

  private let handler: any HTTPHandler
  private let routes: HTTPRoutes
  private let metrics: HTTPMetrics
  private let log: HTTPLog?
  private let logsPeers: PeerPolicy
  private let readers: Set<IPAddress>
  private let clock = ContinuousClock()
  private let start = ContinuousClock().now
  private let limiter = RateLimiter()

  /// An observer of a handler.
  ///
  /// - Parameters:
  ///   - handler: Answers everything but `/metrics`; its own answer there is appended.
  ///   - routes: The handler's routes; the route of `/metrics` is added.
  ///   - metrics: Takes the counts.
  ///   - readers: Addresses that may read the measures, beside this machine's own.
  ///   - log: Takes a line for each request; nil for none.
  ///   - logsPeers: Whether to log the address that a request comes from, too.
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

  /// The handler's response.
  ///
  /// - Parameter request: The request.
  /// - Returns: The handler's response.
  public func respond(to request: HTTPRequest) -> HTTPResponse { answer(to: request).response() }

  /// The handler's answer, measured until its response.
  ///
  /// - Parameter request: The request.
  /// - Returns: The handler's answer.
  public func answer(to request: HTTPRequest) -> HTTPAnswer {
    let route = routes.template(of: request.path)
    metrics.begin()
    let start = clock.now
    let answer =
      request.path == Self.metricsPath
      ? .now(measures(for: request)) : handler.answer(to: request)
    return answer.map { response in
      let seconds = (clock.now - start) / .seconds(1)
      metrics.end(request, response, route: route, seconds: seconds)
      if let log { note(request, response, route: route, seconds: seconds, in: log) }
      return response
    }
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
    // Answer 404 to a client that may not read the page, so that it does not learn that the page
    // exists.
    guard mayRead(request) else { return HTTPResponse(status: 404, text: "there is no such page") }
    guard request.method == "GET" else {
      return HTTPResponse(status: 405, text: "the measures can only be read: use GET")
    }
    // Reading the measures counts the store's rows, so limit the rate. A proxy that adds no
    // forwarding header makes strangers look like this machine.
    let now = UnixTime(seconds: (clock.now - start).components.seconds)
    if let wait = limiter.wait(of: [], rate: Self.readingsASecond, at: now) {
      var response = HTTPResponse(status: 429, text: "the measures were read too often: wait")
      response.headers["retry-after"] = "\(wait)"
      return response
    }
    let own = handler.respond(to: request)
    return HTTPResponse(
      status: 200, headers: ["content-type": "text/plain; version=0.0.4; charset=utf-8"],
      body: Array(metrics.text.utf8) + (own.status == 200 ? own.body : []))
  }

  /// Refuses requests that came through a proxy, whatever client they are from: measures are read
  /// directly. A proxy that is not named, and adds no forwarding header, looks like a program of
  /// its machine.
  private func mayRead(_ request: HTTPRequest) -> Bool {
    guard !request.isForwarded, !request.headers.keys.contains(where: Self.isOfProxies),
      let peer = IPAddress(request.peer)
    else { return false }
    return peer.isLoopback || readers.contains(peer)
  }

  private static func isOfProxies(_ header: String) -> Bool {
    header.hasPrefix("x-forwarded-") || ["forwarded", "via", "x-real-ip"].contains(header)
  }
}
