// SPDX-License-Identifier: Apache-2.0

import Foundation
import ProofModel
import Synchronization
import Testing

@testable import ProofBackend
@testable import ProofGate

/// A gate with many clients: open challenges have no memory, and apps come back by their tickets after a restart.
///
/// `PROOF_GATE_SCALE=100` plays it with 100,000 installations and 1,000,000 challenges.
@Suite struct GateScaleTests {
  private static let scale =
    ProcessInfo.processInfo.environment["PROOF_GATE_SCALE"].flatMap { Int($0) } ?? 1
  private static let rules = "route work\n  path /*\n  need work 3\n"

  /// The bytes of the process that are in memory.
  private func resident() throws -> Int {
    let text = try String(contentsOfFile: "/proc/self/statm", encoding: .utf8)
    return try #require(text.split(separator: " ").dropFirst().first.flatMap { Int($0) }) * 4096
  }

  @Test("Challenges without an answer take no memory and no entry in a store")
  func challenges() throws {
    let count = 10_000 * Self.scale
    let site = try ForwardSite(Self.rules)
    let subject = try site.site.subject()
    let before = try resident()
    for index in 0..<count {
      _ = site.desks.challenges.set(.work, level: 3, route: UInt32(index & 0xFFFF), for: subject)
    }
    let grown = try resident() - before
    print("\(count) challenges: \(grown) bytes more in memory")
    #expect(site.replay.inserted.load(ordering: .sequentiallyConsistent) == 0)
    // The room of the counts by sender and route is there from the start.
    #expect(ChallengeLoad.byteCount <= 4 << 20)
    if Self.scale > 1 { #expect(grown < count * 8) }
  }

  @Test("Installations come back by their tickets, with no opening of a token")
  func tickets() throws {
    let count = 1_000 * Self.scale
    let site = try ForwardSite(Self.rules)
    let issued = ForwardSite.now
    let tickets = try (0..<count).map { _ in
      let secret = try GateSecret.random(generation: 1)
      return site.desks.tickets.ticket(
        for: GateGrant(
          for: site.site.id, instance: .random(), mode: .production, issued: issued,
          notAfter: issued + 36_000, firstSeen: issued - 200_000, secret: secret))
    }
    let node = try site.other()
    let before = try resident()
    let start = ContinuousClock.now
    for ticket in tickets {
      try node.requests.admit(
        site.desks.tickets.open(ticket, mode: .production, at: issued))
    }
    let taken = ContinuousClock.now - start
    let (known, grown) = (node.requests.admissionCount, try resident() - before)
    print("\(count) tickets: \(taken), \(known) known, \(grown) bytes more in memory")
    // 100,000 installations fit; with more the table forgets those that were not seen for the longest time.
    #expect(known <= 200_000 && known >= min(count, 100_000))
    // Tickets have taken nothing of the address's budget of openings.
    #expect(
      site.answer(
        "GET", "/a", [("Proof-Token", site.token)], at: node.gate
      ).status == 428)
    #expect(try node.requests.admit(token: site.token, from: Site.address).bytes.count == 16)
  }
}
