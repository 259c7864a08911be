// SPDX-License-Identifier: Apache-2.0

import Testing

@testable import HTTPServing

/// The bounds of a server's counts, written out.
@Suite struct BoundsTests {
  @Test("Counts of durations have twelve bounds, and rates 100,000 names")
  func counts() {
    let bounds = [0.000_5, 0.001, 0.002_5, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5]
    #expect(HTTPMetrics.bounds == bounds)
    #expect(RateLimiter.namesMax == 100_000)
  }
}
