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

  private static func address(_ number: Int) -> String {
    "10.\(number >> 16).\(number >> 8 & 255).\(number & 255)"
  }

  @Test(
    "A flood from 5,000 addresses that used up their budgets takes an opening from no other one")
  func neighbours() throws {
    let openings = Openings(Self.budget(perAddress: 1, strangers: 6_000, known: 200))
    let owners = (0..<200).map { "192.0.2.\($0)" }
    for owner in owners {
      openings.opened(try #require(take(openings, owner)), isCharged: false, at: Self.now)
    }
    for number in 0..<5_000 { #expect(take(openings, Self.address(number)) != nil) }
    for owner in owners { #expect(take(openings, owner) != nil, "\(owner) is known") }
    for number in 5_000..<5_200 {
      #expect(take(openings, Self.address(number)) != nil, "a stranger, too")
    }
  }

  @Test("4,096 addresses have a budget of their own, and one that used more of it is kept longer")
  func room() {
    let openings = Openings(Self.budget(perAddress: 2, strangers: 1_000_000))
    let spent = (0..<100).map { "192.0.2.\($0)" }
    for address in spent + spent { #expect(take(openings, address) != nil) }
    for number in 0..<8_192 { #expect(take(openings, Self.address(number)) != nil) }
    for address in spent { #expect(take(openings, address) == nil) }
    // One that was forgotten can take two more. Those that are kept have one left.
    let kept = (0..<8_192).count { number in
      let other = Self.address(number)
      return take(openings, other) != nil && take(openings, other) == nil
    }
    #expect(kept > 2_048 && kept < 4_096)
  }

  @Test("A flood of bad tokens makes no known address forgotten")
  func flood() throws {
    let openings = Openings(Self.budget(strangers: 20_200, known: 200))
    let owners = (0..<200).map { "192.0.2.\($0)" }
    for owner in owners {
      openings.opened(try #require(take(openings, owner)), isCharged: true, at: Self.now)
    }
    for number in 0..<20_000 { #expect(take(openings, Self.address(number)) != nil) }
    #expect(take(openings, "203.0.113.1") == nil, "the strangers' share is used up")
    for owner in owners { #expect(take(openings, owner) != nil) }
    #expect(take(openings, owners[0]) == nil)
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
