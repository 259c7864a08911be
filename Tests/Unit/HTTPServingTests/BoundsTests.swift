// SPDX-License-Identifier: Apache-2.0

import Testing

@testable import HTTPServing

/// The bounds of a server are those of docs/RUNNING.md, *Limits*, with the numbers written out.
@Suite struct BoundsTests {
  @Test("A server has the limits of the page unless it is told others")
  func limits() {
    let limits = HTTPLimits()
    #expect(limits.headByteCount == 32_768 && limits.bodyByteCount == 1_048_576)
    #expect(limits.bodiesByteCount == 67_108_864)
    #expect(limits.connections == 1_024 && limits.connectionsPerAddress == 64)
    #expect(limits.requestTime == .seconds(10) && limits.idleTime == .seconds(60))
    #expect(limits.threads == 8)
  }

  @Test("Counts of durations have twelve bounds, and rates 100,000 names")
  func counts() {
    let bounds = [0.000_5, 0.001, 0.002_5, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5]
    #expect(HTTPMetrics.bounds == bounds)
    #expect(RateLimiter.namesMax == 100_000)
  }
}
