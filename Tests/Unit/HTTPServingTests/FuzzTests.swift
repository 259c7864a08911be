// SPDX-License-Identifier: Apache-2.0

import SeededRandom
import Testing

@testable import HTTPServing

/// The server's own parsers under inputs that are almost right.
@Suite struct FuzzTests {
  @Test func `percent encoding: what is decoded has no zero, and comes back`() {
    var mutator = Mutator("query")
    let inputs = ["a%20b", "%C3%A9", "serial=1", "%", "%0", "%00", "%zz", "x%2fy%2Fz"]
      .map { Array($0.utf8) }
    for _ in 0..<10 * Mutator.rounds {
      guard let text = PercentEncoding.decoded(mutator.mutant(of: inputs)) else { continue }
      #expect(!text.utf8.contains(0))
      let encoded = text.utf8.flatMap { byte -> [UInt8] in
        Array("%\(byte < 16 ? "0" : "")\(String(byte, radix: 16))".utf8)
      }
      #expect(PercentEncoding.decoded(encoded) == text)
    }
  }
}
