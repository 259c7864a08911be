// SPDX-License-Identifier: Apache-2.0

import ProofModel
import Synchronization
import Testing

@testable import HTTPServing

/// Pages, log lines, limits and errors of the server, word by word.
@Suite("HTTP: measures, lines, limits and errors")
struct ValueTests {
  // MARK: Measures

  @Test("The page of measures names each request by route, method and status")
  func page() {
    let metrics = HTTPMetrics()
    func end(_ method: String, _ route: String, _ status: Int, received: Int = 0, sent: Int = 0) {
      metrics.end(
        HTTPRequest(method: method, path: "/", body: [UInt8](repeating: 1, count: received)),
        HTTPResponse(status: status, body: [UInt8](repeating: 1, count: sent)), route: route,
        seconds: 0.25)
    }
    for _ in 0..<5 { metrics.begin() }
    end("POST", "/b", 200, received: 3, sent: 4)
    end("POST", "/b", 200, received: 2, sent: 1)
    end("GET", "/b", 404)
    end("FETCH", "/a", 200)
    metrics.add { [HTTPMetric("more", .gauge, help: "More.", 1)] }
    let buckets = ["0.0005", "0.001", "0.0025", "0.005", "0.01", "0.025", "0.05", "0.1"]
    func latencies(_ route: String, _ count: Int, _ sum: String) -> String {
      func bucket(_ bound: String, _ count: Int) -> String {
        "proof_request_seconds_bucket{route=\"\(route)\",le=\"\(bound)\"} \(count)\n"
      }
      return buckets.map { bucket($0, 0) }.joined()
        + ["0.25", "0.5", "1.0", "2.5", "+Inf"].map { bucket($0, count) }.joined()
        + "proof_request_seconds_sum{route=\"\(route)\"} \(sum)\n"
        + "proof_request_seconds_count{route=\"\(route)\"} \(count)\n"
    }
    #expect(
      metrics.text == """
        # HELP proof_requests_total Requests answered.
        # TYPE proof_requests_total counter
        proof_requests_total{route="/a",method="other",status="200"} 1
        proof_requests_total{route="/b",method="GET",status="404"} 1
        proof_requests_total{route="/b",method="POST",status="200"} 2
        # HELP proof_request_seconds From a request's last byte to its answer.
        # TYPE proof_request_seconds histogram

        """ + latencies("/a", 1, "0.25") + latencies("/b", 3, "0.75") + """
          # HELP proof_requests_in_flight Requests being answered.
          # TYPE proof_requests_in_flight gauge
          proof_requests_in_flight 1
          # HELP proof_request_body_bytes_total Bytes of requests' bodies.
          # TYPE proof_request_body_bytes_total counter
          proof_request_body_bytes_total 5
          # HELP proof_response_body_bytes_total Bytes of answers' bodies.
          # TYPE proof_response_body_bytes_total counter
          proof_response_body_bytes_total 5
          # HELP more More.
          # TYPE more gauge
          more 1

          """)
  }

  @Test("Each count of a server is under its own name")
  func counts() {
    let counts = HTTPServerCounts(
      connectionsOpen: 1, connectionsAccepted: 2, connectionsDisplaced: 3, requestsInFlight: 4,
      requestsTimedOut: 5, requestsTooLarge: 6, requestsRefusedBusy: 7, requestsRefusedStopping: 8)
    let lines = counts.metrics.map(\.text).joined().split(separator: "\n").filter {
      $0.first != "#"
    }
    #expect(
      lines == [
        "proof_connections_open 1", "proof_connections_total 2",
        "proof_connections_displaced_total 3", "proof_requests_open 4",
        "proof_requests_refused_total{reason=\"busy\"} 7",
        "proof_requests_refused_total{reason=\"stopping\"} 8",
        "proof_requests_refused_total{reason=\"timed-out\"} 5",
        "proof_requests_refused_total{reason=\"too-large\"} 6",
      ])
    #expect(counts.metrics.map(\.kind) == [.gauge, .counter, .counter, .gauge, .counter])
    for metric in counts.metrics { #expect(metric.help.hasSuffix(".")) }
  }

  @Test("A number has a point only if it is needed, and a label is escaped by character")
  func numbers() {
    for (value, text) in [
      (0.0, "0"), (-3, "-3"), (1.5, "1.5"), (9_007_199_254_740_992, "9007199254740992"),
      (1e300, "1e+300"), (.infinity, "inf"),
    ] { #expect(HTTPMetric.number(value) == text) }
    let metric = HTTPMetric(
      "a", .gauge, help: "b",
      samples: [.init(1, labels: [.init("x", "é\"\\\n"), .init("y", "")], suffix: "_s")])
    #expect(metric.text.hasSuffix("a_s{x=\"é\\\"\\\\\\n\",y=\"\"} 1\n"))
  }

  // MARK: Lines

  @Test("A line has the time, the event and its values in order")
  func lines() {
    func line(_ form: HTTPLog.Form, _ values: [(name: String, value: HTTPLog.Value)]) -> String {
      let lines = Mutex<[String]>([])
      let clock = UnixClock.fixed(UnixTime(seconds: 3_661, nanoseconds: 7_000_000))
      HTTPLog(form, clock: clock) { line in lines.withLock { $0.append(line) } }
        .note("event", values)
      return lines.withLock { $0.joined() }
    }
    let time = "1970-01-01T01:01:01.007Z"
    #expect(line(.text, []) == "\(time) event\n")
    #expect(
      line(
        .text,
        [
          ("b", .text("plain!~")), ("a", .number(-5)), ("empty", .text("")),
          ("blank", .text("a b")),
          ("quote", .text("a\"b")), ("delete", .text("\u{7F}")), ("é", .text("é")),
        ])
        == "\(time) event b=plain!~ a=-5 empty=\"\" blank=\"a b\""
        + " quote=\"a\\\"b\" delete=\"\u{7F}\" é=\"é\"\n")
    #expect(
      line(.json, [("b", .text("x")), ("a", .number(7))])
        == "{\"a\":7,\"b\":\"x\",\"event\":\"event\",\"time\":\"\(time)\"}\n")
    #expect(HTTPLog.Form.allCases.map(\.rawValue) == ["json", "text"])
  }

  @Test("A request's line has method, route, status, bytes and microseconds, and perhaps the peer")
  func requestLine() throws {
    for logsPeers in [false, true] {
      let lines = Mutex<[String]>([])
      let log = HTTPLog(.text, clock: .fixed(0)) { line in lines.withLock { $0.append(line) } }
      let observer = try HTTPObserver(
        Answering { _ in HTTPResponse(status: 201, text: "done") }, routes: ["/a"],
        metrics: HTTPMetrics(), log: log, logsPeers: { logsPeers })
      _ = observer.respond(to: HTTPRequest(method: "PUT", path: "/a", peer: "192.0.2.1"))
      let line = lines.withLock { $0.joined() }
      let head = "1970-01-01T00:00:00.000Z request method=PUT route=/a status=201 bytes=5 us="
      #expect(line.hasPrefix(head))
      let rest = line.dropFirst(head.count).drop { $0.isNumber }
      #expect(rest == (logsPeers ? " peer=192.0.2.1\n" : "\n"))
      #expect(line.dropFirst(head.count).first?.isNumber == true)
    }
  }

  @Test("The handler's own measures are appended, unless it has none")
  func appended() throws {
    for (status, own) in [(200, "own 1\n"), (404, "none\n"), (201, "made\n")] {
      let metrics = HTTPMetrics()
      let observer = try HTTPObserver(
        Answering { _ in HTTPResponse(status: status, body: Array(own.utf8)) }, routes: [],
        metrics: metrics)
      let response = observer.respond(
        to: HTTPRequest(method: "GET", path: "/metrics", peer: "127.0.0.1"))
      #expect(response.status == 200)
      #expect(
        response.headers == ["content-type": "text/plain; version=0.0.4; charset=utf-8"])
      let text = String(decoding: response.body, as: UTF8.self)
      #expect(text.hasPrefix("# HELP proof_requests_total"))
      #expect(text.hasSuffix(own) == (status == 200), "\(status)")
      #expect(metrics.text.contains("route=\"/metrics\",method=\"GET\",status=\"200\"} 1"))
    }
  }

  // MARK: Messages

  @Test("A header's name has no case, in ASCII alone, and repeated values are joined")
  func fields() {
    let request = HTTPRequest(
      method: "GET", path: "/a",
      fields: [
        HTTPField("X-A", "1"), HTTPField("x-a", "2"), HTTPField("@z[", "3"), HTTPField("k", "4"),
      ])
    #expect(request.value(of: "x-A") == "1,2" && request.headers["x-a"] == "1,2")
    #expect(request.value(of: "X-Z") == nil && request.value(of: "x-") == nil)
    // "@" and "`", "[" and "{" differ in the same bit as the two cases of a letter.
    #expect(request.value(of: "`z[") == nil && request.value(of: "@z{") == nil)
    #expect(request.value(of: "@Z[") == "3" && request.value(of: "@z[") == "3")
    #expect(request.value(of: "\u{212A}") == nil, "the sign of kelvin")
    #expect(request.value(of: "K") == "4")
    let bounds = HTTPRequest(
      method: "GET", path: "/", fields: [HTTPField("a", "1"), HTTPField("Z", "2")])
    #expect(bounds.value(of: "A") == "1" && bounds.value(of: "z") == "2")
    #expect(
      request.target == "/a" && request.peer == "" && !request.isForwarded && request.body == [])
    let other = HTTPRequest(
      method: "GET", path: "/a", target: "/%61", headers: ["b": "1", "a": "2"])
    #expect(other.target == "/%61" && other.fields == [HTTPField("a", "2"), HTTPField("b", "1")])
    let text = HTTPResponse(status: 418, text: "no")
    #expect(text.status == 418 && text.body == Array("no\n".utf8))
    #expect(text.headers == ["content-type": "text/plain; charset=utf-8"])
  }

  @Test("An answer is changed once, now or later, and a wait ends with it")
  func answers() {
    let begun = Atomic(0)
    func later(_ answer: HTTPAnswer) -> HTTPAnswer {
      .later(
        HTTPWait { wake in
          begun.add(1, ordering: .relaxed)
          wake()
        } finish: {
          answer
        })
    }
    let changes = Atomic(0)
    @Sendable func count(_ response: HTTPResponse) -> HTTPResponse {
      changes.add(1, ordering: .relaxed)
      return HTTPResponse(status: response.status + 1)
    }
    for depth in 0...2 {
      var answer = HTTPAnswer.now(HTTPResponse(status: 200))
      for _ in 0..<depth { answer = later(answer) }
      let before = begun.load(ordering: .relaxed)
      #expect(answer.map(count).response().status == 201)
      #expect(begun.load(ordering: .relaxed) == before + depth)
      #expect(changes.load(ordering: .relaxed) == depth + 1)
    }
  }

  @Test("Templates are compared by segment, the first one that fits counts")
  func routes() {
    let routes = HTTPRoutes(["/a/{x}", "/a/b", "/{y}/c", "/d"])
    for (path, template) in [
      ("/a/b", "/a/{x}"), ("/a/{x}", "/a/{x}"), ("/z/c", "/{y}/c"), ("/z/d", "other"), ("/d", "/d"),
      ("//c", "other"), ("/{y}/c", "/{y}/c"), ("/a/c", "/a/{x}"), ("/a/b/c", "other"),
      ("/a", "other"),
    ] { #expect(routes.template(of: path) == template, "\(path)") }
    let methods = ["GET", "HEAD", "POST", "PUT", "PATCH", "DELETE", "OPTIONS"]
    for method in methods + ["get", "TRACE", ""] {
      let known = HTTPRequest(method: method, path: "/").knownMethod
      #expect(known == (methods.contains(method) ? method : "other"))
    }
    #expect(HTTPRoutes.other == "other")
  }

  // MARK: Limits

  @Test("Limits have the page's defaults")
  func defaults() {
    let limits = HTTPLimits()
    #expect(
      limits.threads == 8 && limits.connections == 1_024 && limits.connectionsPerAddress == 64)
    #expect(limits.headByteCount == 32_768 && limits.bodyByteCount == 1_048_576)
    #expect(limits.bodiesByteCount == 67_108_864)
    #expect(limits.requestTime == .seconds(10) && limits.idleTime == .seconds(60))
    let settings = HTTPServerSettings()
    #expect(settings.address == "127.0.0.1" && settings.port == 0 && settings.socketMode == 0o660)
    #expect(settings.certificate == nil && settings.trustedProxies.isEmpty)
    #expect(settings.isForThisMachineOnly && !settings.isLocalSocket)
    for (address, isLocal) in [
      ("unix:/run/a", true), ("::1", true), ("127.0.0.9", true), ("0.0.0.0", false), ("::", false),
      ("192.0.2.1", false), ("localhost", false), ("unix", false),
    ] {
      let settings = HTTPServerSettings(address: address)
      #expect(settings.isForThisMachineOnly == isLocal, "\(address)")
      #expect(settings.isLocalSocket == address.hasPrefix("unix:"))
    }
  }

  @Test("Each limit is in its range, and its error names it")
  func ranges() throws {
    typealias Change = (inout HTTPLimits, Int) -> Void
    let rows: [(String, Int, Int, String, Change)] = [
      ("threads", 1, 256, "1 to 256", { $0.threads = $1 }),
      ("connections", 8, 1_000_000, "8 to 1000000", { $0.connections = $1 }),
      ("connectionsPerAddress", 0, 1_000_000, "0 to 1000000", { $0.connectionsPerAddress = $1 }),
      ("headByteCount", 1_024, 1_048_576, "1024 to 1048576", { $0.headByteCount = $1 }),
      ("bodyByteCount", 0, 1_073_741_824, "0 to 1073741824", { $0.bodyByteCount = $1 }),
      (
        "bodiesByteCount", 1_048_576, 1_099_511_627_776, "1048576 to 1099511627776",
        { $0.bodiesByteCount = $1 }
      ),
    ]
    for (name, first, last, allowed, change) in rows {
      for value in [first, last] {
        var limits = HTTPLimits()
        if name == "bodyByteCount" { limits.bodiesByteCount = 1 << 40 }
        change(&limits, value)
        _ = try CoreLimits.checked(limits)
      }
      for value in [first - 1, last + 1] {
        var limits = HTTPLimits()
        change(&limits, value)
        #expect(throws: HTTPServerError.limit(name, value: "\(value)", allowed: allowed)) {
          try CoreLimits.checked(limits)
        }
      }
    }
    for (name, change) in [
      ("requestTime", { $0.requestTime = $1 }), ("idleTime", { $0.idleTime = $1 }),
    ] as [(String, (inout HTTPLimits, Duration) -> Void)] {
      for time in [Duration.milliseconds(1), .seconds(86_400)] {
        var limits = HTTPLimits()
        change(&limits, time)
        _ = try CoreLimits.checked(limits)
      }
      for time in [Duration.microseconds(999), .seconds(86_400) + .nanoseconds(1)] {
        var limits = HTTPLimits()
        change(&limits, time)
        #expect(
          throws: HTTPServerError.limit(name, value: "\(time)", allowed: "a millisecond to a day")
        ) { try CoreLimits.checked(limits) }
      }
    }
    _ = try CoreLimits.checked(HTTPLimits(), socketMode: 0o777)
    #expect(
      throws: HTTPServerError.limit(
        "socketMode", value: "1000", allowed: "0 to 777, in octal digits")
    ) { try CoreLimits.checked(HTTPLimits(), socketMode: 0o1000) }
    for (time, milliseconds) in [
      (Duration.zero, 1), (.milliseconds(1), 1), (.milliseconds(2), 2), (.seconds(5), 5_000),
      (.seconds(86_400), 86_400_000), (.seconds(100_000), 86_400_000),
    ] as [(Duration, UInt32)] { #expect(CoreLimits.milliseconds(time) == milliseconds) }
  }

  @Test("Each limit reaches the server under its own name")
  func passed() throws {
    var limits = HTTPLimits()
    limits.threads = 3
    limits.connections = 5
    limits.connectionsPerAddress = 7
    limits.headByteCount = 2_000
    limits.bodyByteCount = 11
    limits.bodiesByteCount = 13
    limits.requestTime = .milliseconds(17)
    limits.idleTime = .milliseconds(19)
    let core = try CoreLimits.checked(limits, socketMode: 0o640)
    #expect(core.threads == 3 && core.connections == 5 && core.connections_per_address == 7)
    #expect(core.head == 2_000 && core.body == 11 && core.bodies == 13)
    #expect(core.request_ms == 17 && core.idle_ms == 19 && core.local_mode == 0o640)
  }

  @Test("A rate's wait is rounded up, a bucket that was only read keeps its token")
  func rates() {
    let limiter = RateLimiter(per: 60, burst: 60)
    func wait(_ seconds: Int64, isTaken: Bool = true) -> Int? {
      limiter.wait(of: [1], rate: 2, at: UnixTime(seconds: seconds), isTaken: isTaken)
    }
    for _ in 0..<5 { #expect(wait(100, isTaken: false) == nil) }
    #expect(wait(100) == nil && wait(100) == nil && wait(100) == 30)
    #expect(wait(129) == 1 && wait(129, isTaken: false) == 1 && wait(130) == nil && wait(130) == 30)
    // Full again after the burst's time, and no fuller.
    #expect(wait(1_000) == nil && wait(1_000) == nil && wait(1_000) == 30)
    #expect(RateLimiter.namesMax == 100_000)
  }

  // MARK: Errors

  @Test("Each error names the cause and the next step")
  func errors() {
    for (error, text) in [
      (.address("x"), "x is no IP address: write one such as 127.0.0.1, 0.0.0.0 or ::1"),
      (.limit("a", value: "1", allowed: "2"), "a is 1; it must be 2"),
      (.unreadable(file: "f", reason: "r"), "cannot read f: r"),
      (
        .noCertificate(file: "f"),
        "f holds no certificate: it must be in PEM, between BEGIN CERTIFICATE and END CERTIFICATE"
      ),
      (
        .longChain(file: "f", most: 8),
        "f holds more than 8 certificates: keep the server's own and those that lead from it"
          + " to the root"
      ),
      (
        .noPrivateKey(file: "f"),
        "f holds no usable private key: it must be in PEM and without a passphrase"
      ),
      (
        .certificateMismatch(certificate: "c", privateKey: "k"),
        "the certificate in c was not made for the private key in k"
      ),
      (.plain, "this server speaks plain HTTP and has no certificate to renew"),
    ] as [(HTTPServerError, String)] { #expect(error.description == text) }
    #expect(HTTPServerError.exposedPrivateKey(file: "f").description.contains("chmod o-rwx f"))
    #expect(HTTPServerError.resources.description.contains("ulimit -n"))
    for (code, advice) in [
      (CoreSystem.addressInUse, "stop the program that listens there, or choose another port"),
      (CoreSystem.accessDenied, "ports below 1024 need root, or the capability to bind them"),
      (CoreSystem.addressNotAvailable, "this machine has no such address"),
      (0, "choose another address or port"),
    ] {
      let error = HTTPServerError.cannotListen(address: "::1", port: 80, code: code, reason: "why")
      #expect(error.description == "cannot listen on port 80 of ::1: why; \(advice)")
    }
    for (code, advice) in [
      (CoreSystem.addressInUse, "stop the program that listens there, or choose another path"),
      (
        CoreSystem.notPermitted,
        "its folder must belong to this user or root, and only the owner may write to it"
      ), (0, "choose another path"),
    ] {
      let error = HTTPServerError.cannotListen(
        address: "unix:/a", port: 0, code: code, reason: "why")
      #expect(error.description == "cannot listen on unix:/a: why; \(advice)")
    }
    #expect(CoreSystem.words(CoreSystem.accessDenied) == "Permission denied")
  }
}
