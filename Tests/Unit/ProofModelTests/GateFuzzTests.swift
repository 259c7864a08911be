// SPDX-License-Identifier: Apache-2.0

import ProofModel
import SeededRandom
import Testing

/// The gate's values that arrive from outside, mutated. The core's own parsers have a fuzzer in `Tests/Adversary/Fuzz`.
@Suite("Gate values, mutated")
struct GateFuzzTests {
  @Test("a beacon's header is read in one spelling")
  func beacons() throws {
    var mutator = Mutator("beacon")
    let key = try BeaconKey(from: .random(count: 32), number: 1, of: .random())
    let corpus = [key.header(at: 1_800_000_000), key.header(at: 0), key.header(at: .last)].map {
      Array($0.utf8)
    }
    var taken = 0
    for _ in 0..<10 * Mutator.rounds {
      let text = String(decoding: mutator.mutant(of: corpus), as: UTF8.self)
      guard let beacon = try? Beacon(header: text) else { continue }
      #expect(beacon.header == text)
      taken += 1
    }
    #expect(taken > 0, "some mutants are read, or nothing was tried")
  }

  @Test("a changed compact token is refused before and after its tag is compared")
  func compactTokens() throws {
    var mutator = Mutator("compact token")
    let keys = try GateSecret.random(generation: 1).keys.compact
    let subject = CompactSubject.body(Digest(hashing: [1]), account: nil)
    let draft = CompactDraft(created: 1_800_000_000, start: 7, count: 1, measured: 0)
    let good = try draft.text(for: subject, with: keys)
    let corpus = [good, String(good.dropLast()), good + "A"].map { Array($0.utf8) }
    var isRead = false
    for _ in 0..<10 * Mutator.rounds {
      let text = String(decoding: mutator.mutant(of: corpus), as: UTF8.self)
      if (try? CompactToken.head(of: text, as: .body)) != nil { isRead = true }
      _ = CompactToken.cause(in: text, as: .event)
      let checked = try? CompactToken(checking: text, for: subject, with: keys)
      #expect((checked != nil) == (text == good))
    }
    #expect(isRead, "some mutants have a good head, or nothing was tried")
  }
}
