// SPDX-License-Identifier: Apache-2.0

import ProofModel
import Synchronization
import Testing

@testable import HTTPServing

@Suite("HTTP: who asks, by which route, and what is noted of it")
struct ObserverTests {
  private static func peer(
    _ connected: String, _ forwarded: String?, trusting: Set<String> = ["10.0.0.1", "10.0.0.2"]
  ) throws -> String {
    var request = HTTPRequest(method: "GET", path: "/", peer: connected)
    if let forwarded { request.fields.append(HTTPField("X-Forwarded-For", forwarded)) }
    let proxies = try ForwardedPeer(trusting: trusting)
    request.isForwarded = proxies.isProxy(connected)
    return proxies.peer(of: request)
  }

  @Test("Only a trusted proxy says whom it speaks for")
  func trust() throws {
    #expect(try Self.peer("192.0.2.1", "198.51.100.7") == "192.0.2.1")
    #expect(try Self.peer("10.0.0.1", "198.51.100.7") == "198.51.100.7")
    #expect(try Self.peer("10.0.0.1", nil) == "10.0.0.1")
    #expect(try Self.peer("10.0.0.1", "198.51.100.7", trusting: []) == "10.0.0.1")
    #expect(try Self.peer("::ffff:10.0.0.1", "2001:DB8::0:7") == "2001:db8::7")
  }

  @Test("What a client claims before the last stranger's address is not believed")
  func claims() throws {
    #expect(try Self.peer("10.0.0.1", "127.0.0.1, 198.51.100.7") == "198.51.100.7")
    #expect(try Self.peer("10.0.0.1", "198.51.100.7, 10.0.0.2") == "198.51.100.7")
    #expect(try Self.peer("10.0.0.1", "127.0.0.1, 198.51.100.7, 10.0.0.2") == "198.51.100.7")
    #expect(try Self.peer("10.0.0.1", "10.0.0.2, 10.0.0.1") == "10.0.0.2")
  }

  @Test(
    "Rubbish in the header changes nothing",
    arguments: ["", ",", "localhost", "198.51.100.7:80", "1.2.3", "198.51.100.7,", "a, , "])
  func rubbish(header: String) throws {
    #expect(try Self.peer("10.0.0.1", header) == "10.0.0.1")
  }

  @Test(
    "Percent encoding is undone once, and strictly",
    arguments: [
      ("", ""), ("abc", "abc"), ("%41%62", "Ab"), ("%2541", "%41"), ("%c3%a9", "é"), ("a+b", "a+b"),
      ("%", nil), ("%4", nil), ("%g0", nil), ("%00", nil), ("%ff", nil), ("%c3", nil), ("%-1", nil),
    ])
  func percent(text: String, plain: String?) {
    #expect(PercentEncoding.decoded(Array(text.utf8)) == plain)
  }

  @Test(
    "Of a path, borders are what was sent as such, and nothing is encoded without need",
    arguments: [
      ("/v1/a%20b/%C3%A9", "/v1/a b/é"), ("/a%5Cb", "/a\\b"), ("/a%2fb", nil), ("/a%2Fb", nil),
      ("/%61", nil), ("/%5A", nil), ("/%30", nil), ("/%2d", nil), ("/%2E%2E/a", nil), ("/%5f", nil),
      ("/%7E", nil), ("/a%252fb", "/a%2fb"), ("/%00", nil), ("/%ff", nil), ("//a/", "//a/"),
    ])
  func paths(text: String, plain: String?) {
    #expect(PercentEncoding.decodedPath(Array(text.utf8)) == plain)
  }

  @Test(
    "A path is known by its template",
    arguments: [
      ("/v1/config/acme", "/v1/config/{account}"), ("/v1/config/", "other"),
      ("/v1/config", "other"), ("/v1/config/a/b", "other"), ("/health", "/health"),
      ("/health/", "other"), ("health", "other"), ("", "other"), ("//health", "other"),
    ])
  func routes(path: String, template: String) {
    #expect(HTTPRoutes(["/health", "/v1/config/{account}"]).template(of: path) == template)
  }

  @Test("A measure's labels cannot end its line")
  func labels() {
    let metric = HTTPMetric(
      "a", .counter, help: "Help.",
      samples: [.init(1.5, labels: [.init("x", "\"\\\n")]), .init(2, suffix: "_sum")])
    #expect(
      metric.text == "# HELP a Help.\n# TYPE a counter\na{x=\"\\\"\\\\\\n\"} 1.5\na_sum 2\n")
  }

  @Test("Latencies fall below the bounds that they are not above")
  func histogram() {
    let metrics = HTTPMetrics()
    for seconds in [0.0001, 0.0005, 0.0006, 3] {
      metrics.begin()
      metrics.end(
        HTTPRequest(method: "GET", path: "/"), HTTPResponse(status: 200), route: "/",
        seconds: seconds)
    }
    let lines = Set(metrics.text.split(separator: "\n"))
    for line in [
      "proof_request_seconds_bucket{route=\"/\",le=\"0.0005\"} 2",
      "proof_request_seconds_bucket{route=\"/\",le=\"0.001\"} 3",
      "proof_request_seconds_bucket{route=\"/\",le=\"2.5\"} 3",
      "proof_request_seconds_bucket{route=\"/\",le=\"+Inf\"} 4",
      "proof_request_seconds_count{route=\"/\"} 4", "proof_requests_in_flight 0",
    ] {
      #expect(lines.contains(Substring(line)), "\(line)")
    }
  }

  @Test("However many methods and paths strangers invent, the measures stay the same few")
  func invention() throws {
    let metrics = HTTPMetrics()
    let observer = try HTTPObserver(Echo(), routes: ["/health"], metrics: metrics)
    _ = observer.respond(to: HTTPRequest(method: "GET", path: "/0"))
    _ = observer.respond(to: HTTPRequest(method: "M0", path: "/0"))
    let count = metrics.text.split(separator: "\n").count
    for number in 1..<1000 {
      _ = observer.respond(to: HTTPRequest(method: "M\(number)", path: "/\(number)"))
    }
    #expect(metrics.text.split(separator: "\n").count == count)
  }

  @Test(
    "Times are written as RFC 3339 does",
    arguments: [
      (0 as UnixTime, "1970-01-01T00:00:00.000Z"),
      (UnixTime(seconds: 951_782_400, nanoseconds: 123_999_999), "2000-02-29T00:00:00.123Z"),
      (1_709_251_199, "2024-02-29T23:59:59.000Z"),
      (1_709_251_200, "2024-03-01T00:00:00.000Z"),
      (4_107_542_399, "2100-02-28T23:59:59.000Z"),
      (4_107_542_400, "2100-03-01T00:00:00.000Z"),
      (253_402_300_799, "9999-12-31T23:59:59.000Z"),
    ])
  func times(time: UnixTime, text: String) {
    #expect(HTTPLog.text(ofTime: time) == text)
  }

  @Test("A line of the log is one line, in both forms, and holds nothing that a client sent")
  func log() throws {
    for (form, expected) in [
      (
        HTTPLog.Form.text,
        "1970-01-01T00:00:01.000Z request method=other route=/v1/config/{account} status=200"
      ), (.json, "{\"bytes\":6,\"event\":\"request\",\"method\":\"other\",\"route\":\"/v1/config/"),
    ] {
      let lines = Mutex<[String]>([])
      let log = HTTPLog(
        form, clock: .fixed(1), write: { line in lines.withLock { $0.append(line) } })
      let observer = try HTTPObserver(
        Echo(), routes: ["/v1/config/{account}"], metrics: HTTPMetrics(), log: log)
      _ = observer.respond(
        to: HTTPRequest(
          method: "SECRET", path: "/v1/config/SECRET", query: ["SECRET": "SECRET"],
          headers: ["SECRET": "SECRET"], body: Array("SECRET".utf8), peer: "192.0.2.1"))
      log.note("event", [("reason", .text("two\nlines \"quoted\""))])
      let written = lines.withLock { $0 }
      #expect(written.count == 2)
      #expect(written[0].hasPrefix(expected), "\(written[0])")
      #expect(!written[0].contains("SECRET") && !written[0].contains("192.0.2.1"))
      #expect(written.allSatisfy { $0.hasSuffix("\n") && $0.filter { $0 == "\n" }.count == 1 })
    }
  }

  @Test("A named proxy reads no measures, whomever it speaks for")
  func proxiedReaders() throws {
    let observer = try HTTPObserver(
      Answering { _ in HTTPResponse(status: 500) }, routes: [], metrics: HTTPMetrics(),
      readers: ["192.0.2.7"])
    for (trusted, status) in [([], 200), (["127.0.0.1"], 404), (["127.0.0.2"], 200)] {
      let server = try HTTPServer(observer) { $0.trustedProxies = Set(trusted) }
      #expect(try server.connect().ask("GET", "/metrics")?.status == status, "\(trusted)")
      for reader in ["192.0.2.7", "127.0.0.1"] {
        let headers = ["X-Forwarded-For: \(reader)"]
        #expect(try server.connect().ask("GET", "/metrics", headers: headers)?.status == 404)
      }
    }
  }

  @Test("The measures can be read so often a second, and then after a while again")
  func readingRate() throws {
    let observer = try HTTPObserver(
      Answering { _ in HTTPResponse(status: 500) }, routes: [], metrics: HTTPMetrics())
    let request = HTTPRequest(method: "GET", path: "/metrics", peer: "127.0.0.1")
    var last = observer.respond(to: request)
    for _ in 0..<10_000 where last.status == 200 { last = observer.respond(to: request) }
    #expect(last.status == 429 && last.headers["retry-after"] == "1")
  }

  @Test("The measures can be read 100 times at once: ten a second, for ten seconds")
  func readingBurst() throws {
    let request = HTTPRequest(method: "GET", path: "/metrics", peer: "127.0.0.1")
    var statuses: [Int] = []
    var time = Duration.zero
    // The next second adds ten readings, so a machine that takes that long begins anew.
    repeat {
      let start = ContinuousClock.now
      let observer = try HTTPObserver(
        Answering { _ in HTTPResponse(status: 500) }, routes: [], metrics: HTTPMetrics())
      statuses = (0..<102).map { _ in observer.respond(to: request).status }
      time = ContinuousClock.now - start
    } while time >= .seconds(1)
    #expect(statuses == [Int](repeating: 200, count: 100) + [429, 429])
  }

  @Test("Peers are noted while the policy says so")
  func peers() throws {
    let lines = Mutex<[String]>([])
    let isOn = Mutex(false)
    let log = HTTPLog(
      .text, clock: .fixed(0), write: { line in lines.withLock { $0.append(line) } })
    let observer = try HTTPObserver(
      Echo(), routes: [], metrics: HTTPMetrics(), log: log, logsPeers: { isOn.withLock { $0 } })
    let request = HTTPRequest(method: "GET", path: "/", peer: "192.0.2.1")
    _ = observer.respond(to: request)
    isOn.withLock { $0 = true }
    _ = observer.respond(to: request)
    #expect(lines.withLock { $0.map { $0.contains("peer=192.0.2.1") } } == [false, true])
  }

  @Test("The measures are this machine's, and those readers' that are named")
  func readers() throws {
    let observer = try HTTPObserver(
      Answering { _ in HTTPResponse(status: 500) }, routes: [], metrics: HTTPMetrics(),
      readers: ["192.0.2.7"])
    func status(_ peer: String, _ headers: [String: String] = [:], method: String = "GET") -> Int {
      observer.respond(
        to: HTTPRequest(method: method, path: "/metrics", headers: headers, peer: peer)
      ).status
    }
    #expect(status("127.0.0.1") == 200)
    #expect(status("::1") == 200)
    #expect(status("192.0.2.7") == 200)
    #expect(status("192.0.2.8") == 404)
    #expect(status("") == 404)
    #expect(status("127.0.0.1", method: "POST") == 405)
    #expect(status("127.0.0.1", ["x-forwarded-for": "127.0.0.1"]) == 404)
    #expect(status("127.0.0.1", ["forwarded": "for=192.0.2.8"]) == 404)
    for header in ["via", "x-real-ip", "x-forwarded-proto", "x-forwarded-host", "x-forwarded-x"] {
      for peer in ["127.0.0.1", "192.0.2.7"] {
        #expect(status(peer, [header: ""]) == 404, "\(header) for \(peer)")
      }
    }
    #expect(throws: HTTPServerError.address("x")) {
      try HTTPObserver(Echo(), routes: [], metrics: HTTPMetrics(), readers: ["x"])
    }
  }
}
