// SPDX-License-Identifier: Apache-2.0

internal import ProofModel

/// Counts requests, and collects the measures of other sources, for `GET /metrics`.
public final class HTTPMetrics: Sendable {
  /// The bounds of the histogram of latencies, in seconds.
  static let bounds = [0.000_5, 0.001, 0.002_5, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5]

  private struct Outcome: Hashable {
    let route: String
    let method: String
    let status: Int
  }

  fileprivate struct Latencies {
    var counts = [Double](repeating: 0, count: HTTPMetrics.bounds.count)
    var count = 0.0
    var sum = 0.0
  }

  private struct State {
    var requests: [Outcome: Double] = [:]
    var latencies: [String: Latencies] = [:]
    var received = 0.0
    var sent = 0.0
    var inFlight = 0.0
    var sources: [@Sendable () -> [HTTPMetric]] = []
  }

  private let state = CoreLock(State())

  /// Makes metrics with all counts at 0.
  public init() {}

  /// Adds a source of measures. It is called each time the measures are read, from any thread.
  public func add(_ source: @escaping @Sendable () -> [HTTPMetric]) {
    state.withLock { $0.sources.append(source) }
  }

  func begin() {
    state.withLock { $0.inFlight += 1 }
  }

  func end(_ request: HTTPRequest, _ response: HTTPResponse, route: String, seconds: Double) {
    let outcome = Outcome(route: route, method: request.knownMethod, status: response.status)
    state.withLock { state in
      state.inFlight -= 1
      state.received += Double(request.body.count)
      state.sent += Double(response.body.count)
      state.requests[outcome, default: 0] += 1
      state.latencies[route, default: Latencies()].add(seconds)
    }
  }

  /// All measures in Prometheus' text format.
  public var text: String {
    // Call the sources outside the lock, because they have locks of their own.
    let (own, sources) = state.withLock { (Self.metrics(of: $0), $0.sources) }
    return (own + sources.flatMap { $0() }).map(\.text).joined()
  }

  private static func metrics(of state: State) -> [HTTPMetric] {
    let requests = state.requests.map { outcome, count in
      HTTPMetric.Sample(
        count,
        labels: [
          .init("route", outcome.route), .init("method", outcome.method),
          .init("status", "\(outcome.status)"),
        ])
    }
    let latencies = state.latencies.sorted { $0.key < $1.key }.flatMap { $1.samples(route: $0) }
    return [
      HTTPMetric(
        "proof_requests_total", .counter, help: "Requests answered.",
        samples: requests.sorted { one, other in
          one.labels.map(\.value).lexicographicallyPrecedes(other.labels.map(\.value))
        }),
      HTTPMetric(
        "proof_request_seconds", .histogram, help: "From a request's last byte to its answer.",
        samples: latencies),
      HTTPMetric(
        "proof_requests_in_flight", .gauge, help: "Requests being answered.", state.inFlight),
      HTTPMetric(
        "proof_request_body_bytes_total", .counter, help: "Bytes of requests' bodies.",
        state.received),
      HTTPMetric(
        "proof_response_body_bytes_total", .counter, help: "Bytes of answers' bodies.", state.sent),
    ]
  }
}

extension HTTPMetrics.Latencies {
  fileprivate mutating func add(_ seconds: Double) {
    count += 1
    sum += seconds
    if let bound = HTTPMetrics.bounds.firstIndex(where: { seconds <= $0 }) { counts[bound] += 1 }
  }

  fileprivate func samples(route: String) -> [HTTPMetric.Sample] {
    let route = HTTPMetric.Label("route", route)
    var below = 0.0
    var samples: [HTTPMetric.Sample] = []
    for (bound, count) in zip(HTTPMetrics.bounds, counts) {
      below += count
      samples.append(.init(below, labels: [route, .init("le", "\(bound)")], suffix: "_bucket"))
    }
    samples.append(.init(count, labels: [route, .init("le", "+Inf")], suffix: "_bucket"))
    samples.append(.init(sum, labels: [route], suffix: "_sum"))
    samples.append(.init(count, labels: [route], suffix: "_count"))
    return samples
  }
}

extension HTTPServerCounts {
  /// The counts as measures.
  public var metrics: [HTTPMetric] {
    [
      HTTPMetric(
        "proof_connections_open", .gauge, help: "Connections open.", Double(connectionsOpen)),
      HTTPMetric(
        "proof_connections_total", .counter, help: "Connections accepted.",
        Double(connectionsAccepted)),
      HTTPMetric(
        "proof_connections_displaced_total", .counter,
        help: "Connections closed to make room for another.", Double(connectionsDisplaced)),
      HTTPMetric(
        "proof_requests_open", .gauge,
        help: "Requests whose head has arrived and whose answer is not sent.",
        Double(requestsInFlight)),
      HTTPMetric(
        "proof_requests_refused_total", .counter, help: "Requests refused before anybody saw them.",
        samples: [
          .init(Double(requestsRefusedBusy), labels: [.init("reason", "busy")]),
          .init(Double(requestsRefusedStopping), labels: [.init("reason", "stopping")]),
          .init(Double(requestsTimedOut), labels: [.init("reason", "timed-out")]),
          .init(Double(requestsTooLarge), labels: [.init("reason", "too-large")]),
        ]),
    ]
  }
}
