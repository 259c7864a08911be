// SPDX-License-Identifier: Apache-2.0

import Foundation
import ProofKit
import ProofModel
import Testing

/// A long life of five phones and two locks with all features on. `PROOF_SOAK_SESSIONS=20000` for
/// the whole, `PROOF_SOAK_SEED` for another one.
@Suite("A long life with all features on", .serialized)
struct SoakTests {
  private static func number(_ name: String) -> Int? {
    ProcessInfo.processInfo.environment[name].flatMap { Int($0) }
  }

  @Test("each session ends as a model without keys expects, and no refusal is without reason")
  func soak() async throws {
    let (count, seed) = (
      Self.number("PROOF_SOAK_SESSIONS") ?? 300, Self.number("PROOF_SOAK_SEED") ?? 2026
    )
    let soak = try await Soak(seed: UInt64(seed))
    for _ in 0..<count { try await soak.session() }
    let tally = soak.finish()
    print("soak: seed \(seed), \(tally)")
    for line in tally.unexplained.prefix(20) { Issue.record("\(line)") }
    #expect(tally.counts["accepted", default: 0] > count / 2)
    #expect(tally.counts["accepted in a channel", default: 0] > count / 10)
    #expect(tally.counts["lent: accepted", default: 0] > 0)
  }
}
