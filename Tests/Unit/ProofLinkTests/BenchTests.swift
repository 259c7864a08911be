// SPDX-License-Identifier: Apache-2.0

import LinkBench
import ProofLink
import Testing

extension BenchTests {
  @Suite("There is one piece of hardware on the bench")
  struct OneBenchTests {
    @Test("what ends late of an earlier user leaves the next one's link alone")
    func late() async throws {
      let earlier = try Bench(seed: 1)
      earlier.connect()
      let bench = try Bench(seed: 2)
      let request: [UInt8] = [0x02, 185, 0]
      bench.connect()
      earlier.disconnect()
      #expect(earlier.receive(request) == nil)
      #expect(bench.receive(request)?.count == 1)
      bench.disconnect()
      #expect(bench.receive(request) == nil)
    }
  }
}
