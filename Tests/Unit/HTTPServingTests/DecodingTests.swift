// SPDX-License-Identifier: Apache-2.0

import ProofModel
import Synchronization
import Testing

@testable import HTTPServing

/// Bytes of paths, moments of buckets and times of handlers at their bounds.
@Suite("HTTP: bytes, buckets and times at their bounds")
struct DecodingTests {
  @Test("A zero byte is refused as it is and encoded, and each other byte of ASCII is read")
  func zeros() {
    #expect(PercentEncoding.decoded([0]) == nil && PercentEncoding.decoded([0x61, 0]) == nil)
    #expect(PercentEncoding.decoded([0, 0x25, 0x34, 0x31]) == nil)
    for byte in 1...0x7F as ClosedRange<UInt8> {
      let text = String(Unicode.Scalar(byte))
      if byte != 0x25 { #expect(PercentEncoding.decoded([byte]) == text, "\(byte)") }
      for digits in ["0123456789ABCDEF", "0123456789abcdef"] {
        let (high, low) = (Array(digits.utf8)[Int(byte >> 4)], Array(digits.utf8)[Int(byte & 15)])
        #expect(PercentEncoding.decoded([0x25, high, low]) == text, "\(byte)")
        let isPlain = Set(
          "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-._~/".utf8
        ).contains(byte)
        #expect(PercentEncoding.decodedPath([0x25, high, low]) == (isPlain ? nil : text))
      }
    }
    // Characters beside the digits are none.
    for other in "/:@G`g" {
      let byte = Array(String(other).utf8)[0]
      #expect(PercentEncoding.decoded([0x25, byte, 0x31]) == nil, "\(other)")
      #expect(PercentEncoding.decoded([0x25, 0x31, byte]) == nil, "\(other)")
    }
  }

  @Test("A bucket that was filled later than now neither gains nor loses")
  func earlier() {
    let limiter = RateLimiter()
    func wait(_ seconds: Int64) -> Int? {
      limiter.wait(of: [1], rate: 1, at: UnixTime(seconds: seconds))
    }
    for _ in 0..<10 { #expect(wait(100) == nil) }
    #expect(wait(105) == nil)
    for _ in 0..<4 { #expect(wait(105) == nil) }
    // The names were looked through at second 100, so this moment forgets none.
    #expect(wait(103) == 1 && wait(101) == 1)
    #expect(wait(102) == nil && wait(102) == 1)
  }

  @Test("A bucket has no more than one token in each unit of its rate")
  func units() {
    for (unit, burst, rate, tokens, seconds) in [
      (1.0, 10.0, 3, 30, 1), (60, 60, 1, 1, 60), (3_600, 3_600, 2, 2, 1_800), (1, 1, 1, 1, 1),
      (60, 120, 5, 10, 12),
    ] as [(Double, Double, Int, Int, Int)] {
      let limiter = RateLimiter(per: unit, burst: burst)
      let now = UnixTime(seconds: 1_000)
      let waits = (0...tokens).map { _ in limiter.wait(of: [7], rate: rate, at: now) }
      #expect(waits == [Int?](repeating: nil, count: tokens) + [seconds], "\(unit)")
    }
  }

  @Test("A request's time is no shorter than its handler's, and its line says what is measured")
  func times() throws {
    let inner = Mutex(Duration.zero)
    let lines = Mutex<[String]>([])
    let metrics = HTTPMetrics()
    let clock = ContinuousClock()
    let observer = try HTTPObserver(
      Answering { _ in
        let start = clock.now
        var passed = Duration.zero
        // The clock itself ends the work: nothing is expected of how long it takes.
        while passed < .milliseconds(2) { passed = clock.now - start }
        inner.withLock { $0 = passed }
        return HTTPResponse(status: 200)
      }, routes: ["/"], metrics: metrics,
      log: HTTPLog(.text, clock: .fixed(0)) { line in lines.withLock { $0.append(line) } })
    let start = clock.now
    _ = observer.respond(to: HTTPRequest(method: "GET", path: "/"))
    let outer = (clock.now - start) / .seconds(1)
    let name = "proof_request_seconds_sum{route=\"/\"} "
    let sum = try #require(
      metrics.text.split(separator: "\n").first { $0.hasPrefix(name) }.flatMap {
        Double($0.dropFirst(name.count))
      })
    #expect(inner.withLock { $0 } / .seconds(1) <= sum && sum <= outer)
    let line = lines.withLock { $0.joined() }
    #expect(line.hasSuffix(" us=\(Int((sum * 1_000_000).rounded()))\n"), "\(line) \(sum)")
  }

  @Test("Limits that name no mode of a socket have mode 0, and settings have 660")
  func modes() throws {
    #expect(try CoreLimits.checked(HTTPLimits()).local_mode == 0)
    #expect(HTTPServerSettings().socketMode == 0o660)
  }
}
