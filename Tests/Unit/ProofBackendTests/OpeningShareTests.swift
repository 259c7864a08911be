// SPDX-License-Identifier: Apache-2.0

import ProofModel
import Testing

@testable import ProofBackend

/// An opening is taken from one share, and given back to that one.
@Suite struct OpeningShareTests {
  private static let now: UnixTime = 1_800_000_000

  private static func budget(
    perAddress: Double = 1_000, strangers: Double = 1_000, known: Double = 1_000,
    worked: Double = 1_000
  ) -> OpeningBudget {
    var budget = OpeningBudget()
    budget.perAddress = .init(burst: perAddress, perSecond: 0)
    budget.strangers = .init(burst: strangers, perSecond: 0)
    budget.known = .init(burst: known, perSecond: 0)
    budget.worked = .init(burst: worked, perSecond: 0)
    return budget
  }

  private func take(
    _ openings: Openings, _ address: String? = "192.0.2.1", hasWorked: Bool = false
  ) -> Openings.Taken? {
    openings.take(for: address, hasWorked: hasWorked, at: Self.now)
  }

  @Test("Addresses are spread over 4,096 cells")
  func cells() {
    let openings = Openings(Self.budget(perAddress: 1, strangers: 100_000))
    let taken = (0..<8_192).count { number in
      take(openings, "10.0.\(number / 256).\(number % 256)") != nil
    }
    // Some of twice as many addresses as cells meet in one cell.
    #expect(taken <= 4_096 && taken > 2_048)
  }

  @Test("An opening that is given back makes its own address known, and costs it nothing")
  func known() throws {
    let openings = Openings(Self.budget(perAddress: 1, known: 0))
    for number in 0..<64 {
      let address = "192.0.2.\(number)"
      openings.opened(try #require(take(openings, address)), isCharged: false, at: Self.now)
      // The share of the known is empty, so a known address gets none.
      #expect(take(openings, address) == nil, "\(number)")
    }
    let other = Openings(Self.budget(perAddress: 1))
    for number in 0..<64 {
      for _ in 0..<2 {
        other.opened(try #require(take(other, "192.0.2.\(number)")), isCharged: false, at: Self.now)
      }
    }
  }

  @Test("An opening is given back to the share that it was taken from")
  func shares() throws {
    let strangers = Openings(Self.budget(strangers: 1, known: 1, worked: 1))
    for hasWorked in [false, true] {
      // The first one is a stranger's, and the others of the known, or of those who worked.
      for _ in 0..<4 {
        let taken = try #require(take(strangers, hasWorked: hasWorked))
        strangers.opened(taken, isCharged: false, at: Self.now)
      }
      #expect(take(strangers, hasWorked: hasWorked) != nil)
      #expect(take(strangers, hasWorked: hasWorked) == nil)
    }
    #expect(take(strangers, "192.0.2.9") != nil && take(strangers, "192.0.2.9") == nil)
  }

  @Test("Work leaves the budget of its address as it is")
  func worked() throws {
    let openings = Openings(Self.budget(perAddress: 2))
    #expect(take(openings) != nil && take(openings) != nil && take(openings) == nil)
    let opening = try #require(take(openings, hasWorked: true))
    #expect(take(openings) == nil)
    openings.opened(opening, isCharged: false, at: Self.now)
    #expect(take(openings) == nil)
  }
}
