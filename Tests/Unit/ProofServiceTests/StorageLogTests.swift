// SPDX-License-Identifier: Apache-2.0

import HTTPServing
import ProofModel
import Testing

@testable import ProofService

/// The words of a service while its storage is away, and its answers to requests that it refuses.
@Suite struct StorageLogTests {
  private static func lines(_ log: HandLog) -> [String] {
    log.all.map { event in
      ([event.name] + event.details.map { "\($0.name)=\($0.value)" }).joined(separator: " ")
    }
  }

  @Test
  func `the 1st, 10th and 100th failure in a row are logged, and the first success after them`()
    throws
  {
    let (store, log) = (InterruptedStore(), HandLog())
    let bench = try Bench(store, log: log)
    #expect(bench.get("/health").status == 200 && log.all.isEmpty)
    for round in 0..<2 {
      store.isAway.withLock { $0 = true }
      for _ in 0..<101 {
        let response = bench.get("/health")
        #expect(response.status == 503)
        #expect(
          String(decoding: response.body, as: UTF8.self)
            == "The service cannot reach its storage. Try again.\n")
      }
      store.isAway.withLock { $0 = false }
      for _ in 0..<2 { #expect(bench.get("/health").status == 200) }
      let lines = Self.lines(log).suffix(4)
      for (line, count) in zip(lines, [1, 10, 100]) {
        #expect(line.hasPrefix("storage failed count=\(count) reason="))
        #expect(line.contains("away"))
      }
      #expect(lines.last == "storage serves again failures=101")
      #expect(log.all.count == 4 * (round + 1))
      #expect(bench.service.metrics[.storeFailures] == 101 * (round + 1))
    }
  }

  @Test func `a failure of two digits that is no power of ten is not logged`() throws {
    let (store, log) = (InterruptedStore(), HandLog())
    let bench = try Bench(store, log: log)
    store.isAway.withLock { $0 = true }
    var counts: [Int] = []
    for number in 1...120 {
      let before = log.all.count
      _ = bench.get("/health")
      if log.all.count > before { counts.append(number) }
    }
    #expect(counts == [1, 10, 100])
  }

  @Test func `each path has its method, and any other one is not found`() throws {
    let bench = try Bench()
    func ask(_ method: String, _ path: String, _ body: [UInt8] = []) -> HTTPResponse {
      bench.service.respond(
        to: HTTPRequest(method: method, path: path, body: body, peer: "192.0.2.7"))
    }
    for (path, allowed) in [
      ("/health", "GET"), ("/metrics", "GET"), ("/v1/challenge", "POST"), ("/v1/report", "POST"),
      ("/v1/config/door", "GET"), ("/v1/jwks/door", "GET"), ("/v1/gate/configuration", "GET"),
      ("/v1/manage/api/list", "POST"),
    ] {
      let wrong = ask(allowed == "GET" ? "POST" : "GET", path)
      #expect(wrong.status == 405, "\(path)")
      #expect(String(decoding: wrong.body, as: UTF8.self) == "Use \(allowed) here.\n")
      #expect(![404, 405].contains(ask(allowed, path).status), "\(path)")
      for other in ["\(path)/", "/x\(path)", String(path.dropFirst()), "\(path)x"]
      where !other.contains("manage") {
        #expect(ask(allowed, other).status == 404, "\(other)")
      }
    }
    for path in [
      "", "/", "//", "/v1", "/v1/", "/v2/config/door", "/v1/gate/other", "/v1/none/configuration",
    ] {
      let response = ask("GET", path)
      #expect(response.status == 404, "\(path)")
      #expect(String(decoding: response.body, as: UTF8.self) == "There is nothing at this path.\n")
    }
    let before = bench.service.metrics[.unknown]
    for path in ["/v1/config/none", "/v1/jwks/none"] {
      let response = ask("GET", path)
      #expect(response.status == 404)
      #expect(
        String(decoding: response.body, as: UTF8.self) == "There is no such account here.\n")
    }
    #expect(String(decoding: ask("GET", "/health").body, as: UTF8.self) == "ok\n")
    #expect(bench.service.metrics[.unknown] == before + 2)
  }

  @Test func `a body has 1 MiB at most`() throws {
    let bench = try Bench()
    for (count, status) in [(1 << 20, 400), ((1 << 20) + 1, 413)] {
      let response = bench.post("/v1/challenge", [UInt8](repeating: 0, count: count))
      #expect(response.status == status)
      if status == 413 {
        #expect(String(decoding: response.body, as: UTF8.self) == "At most 1 MiB.\n")
      }
    }
    #expect(bench.service.metrics[.malformed] == 2)
  }

  @Test func `a configuration and keys are published with their types, and are counted`() throws {
    let bench = try Bench()
    let configuration = bench.get("/v1/config/door")
    #expect(configuration.headers == ["content-type": "application/jose"])
    #expect(
      try String(decoding: configuration.body, as: UTF8.self)
        == bench.management.signedConfiguration())
    let serial = try bench.management.configuration().serial
    #expect(bench.get("/v1/config/door", query: ["serial": "\(serial)"]).status == 204)
    #expect(bench.get("/v1/config/door", query: ["serial": "\(serial + 1)"]).status == 200)
    let wrong = bench.get("/v1/config/door", query: ["serial": "-1"])
    #expect(wrong.status == 400)
    #expect(String(decoding: wrong.body, as: UTF8.self) == "The serial is no number.\n")
    #expect(bench.service.metrics[.configurations] == 4)
    let keys = bench.get("/v1/jwks/door")
    #expect(
      keys.headers == [
        "content-type": "application/jwk-set+json", "cache-control": "max-age=300",
      ])
    #expect(try String(decoding: keys.body, as: UTF8.self) == bench.management.jwks())
  }

  @Test func `an address that asks too fast is told to wait, for each kind of request`() throws {
    let bench = try Bench(policy: [.addressRate: "1"])
    let paths = ["/v1/config/door", "/v1/jwks/door"]
    var limited = 0
    for number in 0..<12 {
      let response = bench.get(paths[number % 2])
      guard response.status == 429 else { continue }
      limited += 1
      #expect(response.headers["retry-after"] == "1" && number >= 10)
      #expect(String(decoding: response.body, as: UTF8.self) == "Too many requests. Wait.\n")
    }
    #expect(limited == 2 && bench.service.metrics[.limited] == 2)
    bench.clock.advance(by: 1)
    #expect(bench.get(paths[0]).status == 200 && bench.get(paths[0]).status == 429)
    let credentials = ["/v1/gate/configuration", "/v1/manage/api/list"]
    #expect(bench.get(credentials[0]).status == 429 && bench.post(credentials[1], []).status == 429)
  }
}
