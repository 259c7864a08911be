// SPDX-License-Identifier: Apache-2.0

import ProofModel
import Testing

@testable import ProofService

@Suite struct GraceTests {
  private static let account = ["/v1/config/door", "/v1/jwks/door"]

  @Test func `a service whose storage is away refuses, unless the operator gives a grace`() throws {
    let store = InterruptedStore()
    let bench = try Bench(store)
    for path in Self.account { #expect(bench.get(path).status == 200) }
    store.isAway.withLock { $0 = true }
    for path in Self.account + ["/health"] { #expect(bench.get(path).status == 503) }
    store.isAway.withLock { $0 = false }
    for path in Self.account { #expect(bench.get(path).status == 200) }
  }

  @Test func `a grace covers configurations and key sets alone, and ends`() throws {
    let store = InterruptedStore()
    let bench = try Bench(store, grace: 30)
    let configuration = bench.get("/v1/config/door")
    bench.clock.advance(by: 100)
    let challenge = try bench.challenge(bench.app)
    #expect(bench.get("/health").status == 200)
    let report = try bench.app.report(.init(.token, name: Bench.api), answering: challenge)
    store.isAway.withLock { $0 = true }
    // The time counts from the last reading, and not from the last configuration.
    bench.clock.advance(by: 30)
    #expect(bench.get("/v1/config/door") == configuration)
    #expect(bench.get("/v1/jwks/door").status == 200)
    #expect(bench.get("/health").status == 503, "a load balancer sends requests elsewhere")
    #expect(bench.post("/v1/challenge", bench.app.question().bytes).status == 503)
    #expect(bench.post("/v1/report", report).status == 503)
    #expect(bench.post("/v1/manage/api/list", []).status == 503)
    bench.clock.advance(by: 1)
    for path in Self.account { #expect(bench.get(path).status == 503) }
  }

  @Test func `a clock that is set back ends the grace`() throws {
    let store = InterruptedStore()
    let bench = try Bench(store, grace: 30)
    #expect(bench.get("/v1/config/door").status == 200)
    store.isAway.withLock { $0 = true }
    bench.clock.advance(by: -1)
    #expect(bench.get("/v1/config/door").status == 503)
  }
}
