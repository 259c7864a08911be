// SPDX-License-Identifier: Apache-2.0

import ProofModel
import SeededRandom
import Testing

@testable import ProofGate

/// Rate limits: how many pass, what a flood can take away, and what a clock can do.
@Suite struct LimitTests {
  /// A clock that a test sets, in microseconds.
  private final class Clock: Sendable {
    private let time = CoreLock<UInt64>(3_600_000_000)

    var now: UInt64 {
      get { time.withLock { $0 } }
      set { time.withLock { $0 = newValue } }
    }
  }

  private let clock = Clock()
  private let minute = RouteLimit(.address, 60, per: .minute)

  private func limits(_ sizes: GateLimits.Sizes = GateLimits.Sizes()) -> GateLimits {
    GateLimits(sizes) { [clock] in clock.now }
  }

  /// How many of some requests count.
  private func passed(
    _ count: Int, _ limits: GateLimits, _ limit: RouteLimit, _ name: String?, rule: String = "a"
  ) -> Int {
    (0..<count).count { _ in limits.take(limit.subject, name, [limit], rule: rule) == nil }
  }

  @Test(
    "A limit lets its count pass at once, then one for each step, and tells when the next one counts"
  )
  func rates() {
    let limits = limits()
    #expect(passed(100, limits, minute, "192.0.2.1") == 60)
    #expect(limits.take(.address, "192.0.2.1", [minute], rule: "a")?.seconds == 2)
    clock.now += 999_999
    #expect(passed(5, limits, minute, "192.0.2.1") == 0)
    clock.now += 1
    #expect(passed(5, limits, minute, "192.0.2.1") == 1)
    clock.now += 60_000_000
    #expect(passed(100, limits, minute, "192.0.2.1") == 60)
    let hour = RouteLimit(.address, 1, per: .hour)
    #expect(passed(2, limits, hour, "192.0.2.9") == 1)
    #expect(limits.take(.address, "192.0.2.9", [hour], rule: "a")?.seconds == 3601)
  }

  @Test("An IPv6 sender counts by its first 64 bits, and each rule, subject and limit by itself")
  func names() {
    let limits = limits()
    #expect(passed(60, limits, minute, "2001:db8::1") == 60)
    #expect(passed(1, limits, minute, "2001:db8::ffff:2") == 0)
    #expect(passed(1, limits, minute, "2001:db8:0:1::1") == 1)
    #expect(passed(1, limits, minute, "2001:db8::1", rule: "b") == 1)
    let instance = RouteLimit(.instance, 60, per: .minute)
    #expect(passed(60, limits, instance, "2001:db8::1") == 60)
    #expect(passed(99, limits, minute, nil) == 60, "requests without an address count as one")
    let both = [minute, RouteLimit(.address, 2, per: .second)]
    #expect((0..<5).count { _ in limits.take(.address, "x", both, rule: "c") == nil } == 2)
  }

  @Test("A clock that is set back refuses no client for longer than the unit")
  func clockSetBack() {
    let limits = limits()
    #expect(passed(60, limits, minute, "192.0.2.1") == 60)
    clock.now -= 3_000_000_000
    #expect(passed(60, limits, minute, "192.0.2.1") == 0)
    clock.now += 60_000_000
    #expect(passed(99, limits, minute, "192.0.2.1") == 60)
  }

  @Test(
    "A flood of addresses has fixed memory, touches no installation, and frees no address that is at its limit"
  )
  func flood() {
    var sizes = GateLimits.Sizes()
    sizes.addresses = 64
    let limits = limits(sizes)
    let instance = RouteLimit(.instance, 60, per: .minute)
    #expect(passed(60, limits, instance, "handle") == 60)
    #expect(passed(60, limits, minute, "192.0.2.1") == 60)
    let bytes = limits.byteCount
    for number in 0..<20_000 {
      #expect(
        limits.take(.address, "10.0.\(number / 256).\(number % 256)", [minute], rule: "a") == nil)
    }
    #expect(limits.byteCount == bytes)
    #expect(limits.forgotten[.address] ?? 0 > 19_000 && limits.forgotten[.instance] == 0)
    #expect(passed(1, limits, instance, "handle") == 0)
    #expect(passed(1, limits, minute, "192.0.2.1") == 0, "a flood must not give it a new bucket")
  }

  @Test("The standard tables have the memory that the documentation says")
  func memory() {
    let limits = limits()
    #expect(limits.byteCount == 0)
    for subject in RouteLimit.Subject.allCases {
      _ = limits.take(subject, "x", [RouteLimit(subject, 1, per: .second)], rule: "a")
    }
    #expect(limits.byteCount == 9 << 20)
  }

  @Test("No name is refused below its limit, and none exceeds it, whatever the order")
  func model() {
    var generator = SeededGenerator("limits")
    let limits = limits()
    let limit = RouteLimit(.address, 5, per: .second)
    var passes: [Int: [UInt64]] = [:]
    for _ in 0..<20_000 {
      clock.now += .random(in: 0...40_000, using: &generator)
      let (name, now) = (Int.random(in: 0..<8, using: &generator), clock.now)
      let recent = (passes[name] ?? []).filter { $0 + 1_000_000 > now }
      let isTaken = limits.take(.address, "\(name)", [limit], rule: "a") == nil
      // Five at once and five in the second: never more than ten in any second.
      if isTaken { passes[name] = recent + [now] }
      #expect(isTaken ? recent.count < 10 : !recent.isEmpty)
      if recent.isEmpty { #expect(isTaken) }
    }
  }

  @Test("The words of a limit, and those that are none")
  func words() throws {
    func read(_ text: String) throws -> RouteLimit {
      try RouteLimit(text.split(separator: " ").map(String.init))
    }
    #expect(try read("address 20/second") == RouteLimit(.address, 20, per: .second))
    #expect(
      try read("instance 1/hour then person")
        == RouteLimit(.instance, 1, per: .hour, then: .challenge(.person, level: 0)))
    #expect(
      try read("account 9/minute then work 16").excess == .challenge(.work, level: 16))
    #expect(try read("account 9/minute then refuse").excess == .refuse)
    for text in [
      "", "address", "address 20", "address 0/second", "address -1/second", "address +1/second",
      "address 1/day", "address 1/second/", "host 1/second", "address 1000001/second",
      "address 1/second then", "address 1/second then work", "address 1/second then work 999",
      "address 1/second then refuse 1", "address 1/second work 16", "address 1/second then wait 1",
      "address 99999999999999999999/second",
    ] {
      #expect(throws: RouteLimitError.self, "\(text)") { try read(text) }
    }
  }
}
