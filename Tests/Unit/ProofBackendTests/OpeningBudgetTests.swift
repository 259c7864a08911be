// SPDX-License-Identifier: Apache-2.0

import Foundation
import ProofModel
import ProofRequest
import Testing

@testable import ProofBackend

/// The bounds on work and memory that a sender causes before it has shown anything.
@Suite struct OpeningBudgetTests {
  static let route = RequestRoute(Gate.host)

  /// A request with a token that only its opening shows to be bad.
  static func forged(_ gate: Gate, address: String, number: UInt8 = 0) throws -> ReceivedRequest {
    let app = try GateApp(at: gate)
    var bytes = app.grantBytes
    bytes[200] ^= 1 &+ number
    var request = try app.standard(withToken: false, address: address)
    try request.fields.append("Proof-Token", Base64.encode(bytes, .url))
    return request
  }

  @Test("A flood of bad tokens from one address ends at its budget, and others go on")
  func oneAddress() throws {
    let gate = try Gate()
    let verifier = try gate.verifier()
    for number in 0..<20 {
      let judged = verifier.judge(try Self.forged(gate, address: "192.0.2.66"), on: Self.route)
      #expect(judged.rejection == (number < 8 ? .gate(.tokenSeal) : .busy))
      #expect(judged.rejection?.told == .token)
    }
    #expect(verifier.admissionCount == 0)
    #expect(verifier.judge(try GateApp(at: gate).standard(), on: Self.route).verdict != nil)
    gate.clock.now += 5
    let later = verifier.judge(try Self.forged(gate, address: "192.0.2.66"), on: Self.route)
    #expect(later.rejection == .gate(.tokenSeal))
  }

  @Test("A flood from many addresses leaves known installations and addresses their share")
  func manyAddresses() throws {
    let gate = try Gate()
    var settings = RequestVerifier.Settings()
    settings.openings.strangers = OpeningBudget.Rate(burst: 10, perSecond: 0)
    let verifier = try gate.verifier(settings: settings)
    let (owner, neighbour) = (try GateApp(at: gate), try GateApp(at: gate))
    #expect(verifier.judge(try owner.standard(), on: Self.route).verdict != nil)
    var busy = 0
    for number in 0..<30 {
      let request = try Self.forged(gate, address: "198.51.100.\(number)")
      if verifier.judge(request, on: Self.route).rejection == .busy { busy += 1 }
    }
    #expect(busy == 20)
    // A known installation needs no opening; a new one at a known address has the other share.
    #expect(verifier.judge(try owner.standard(withToken: false), on: Self.route).verdict != nil)
    #expect(verifier.judge(try neighbour.standard(), on: Self.route).verdict != nil)
    let stranger = try GateApp(at: gate).standard(address: "203.0.113.9")
    #expect(verifier.judge(stranger, on: Self.route).rejection == .busy)
  }

  @Test("A request that names another gate, or is no token, costs no opening")
  func heads() throws {
    let gate = try Gate()
    var settings = RequestVerifier.Settings()
    settings.openings.perAddress = OpeningBudget.Rate(burst: 1, perSecond: 0)
    let verifier = try gate.verifier(settings: settings)
    let foreign = try GateApp(at: try Gate())
    for _ in 0..<5 {
      let judged = verifier.judge(try foreign.standard(), on: Self.route)
      #expect(judged.rejection == .gate(.tokenGate))
    }
    // A good token is not charged, however often it is sent.
    let app = try GateApp(at: gate)
    for _ in 0..<5 { #expect(verifier.judge(try app.standard(), on: Self.route).verdict != nil) }
  }

  @Test("An address is one sender: all of IPv4, 64 bits of IPv6, in each spelling")
  func prefixes() {
    #expect(AddressPrefix.of("192.0.2.1") == "192.0.2.1")
    #expect(AddressPrefix.of("::ffff:192.0.2.1") == "192.0.2.1")
    #expect(AddressPrefix.of("2001:db8:0:7::1") == "2001:db8:0:7")
    #expect(AddressPrefix.of("2001:0DB8::7:0:0:0:1") == "2001:db8:0:7")
    #expect(AddressPrefix.of("2001:db8::1") == AddressPrefix.of("2001:DB8:0:0:ffff::2"))
    #expect(AddressPrefix.of("::1") == "0:0:0:0")
    #expect(AddressPrefix.of("2001:db8:0000:0:1:2:3:4") == "2001:db8:0:0")
    #expect(AddressPrefix.of("::FFFF:192.0.2.1") == "192.0.2.1")
    // Texts that look like IPv4 in IPv6, and are not.
    #expect(AddressPrefix.of("::abcd:192.0.2.1") == "0:0:0:0")
    #expect(AddressPrefix.of("1::ffff:192.0.2.1") == "1:0:0:0")
    #expect(AddressPrefix.of("::ffff:c000:201") == "0:0:0:0")
  }

  @Test("A text that is no address has a prefix, too: a client can send any")
  func noAddresses() {
    for (text, prefix) in [
      ("", ""), ("unix", "unix"), (":", ""), ("::", "0:0:0:0"), ("1:", "1"), ("1::2::3", "1:0:0:0"),
      ("1:2:3::4:5:6:7:8", "1:2:3:4"), ("1:2:3::4:5:6:7:8:9", "1:2:3:4"), ("::ffff:", "0:0:0:0"),
    ] {
      #expect(AddressPrefix.of(text) == prefix, "\(text)")
    }
  }

  @Test("Known installations are bounded, and the least used ones are dropped first")
  func bounded() throws {
    let gate = try Gate()
    var settings = RequestVerifier.Settings()
    settings.capacity = 4
    let verifier = try gate.verifier(settings: settings)
    let busy = try GateApp(at: gate)
    #expect(verifier.judge(try busy.standard(), on: Self.route).verdict != nil)
    for _ in 0..<20 {
      #expect(verifier.judge(try GateApp(at: gate).standard(), on: Self.route).verdict != nil)
      #expect(verifier.judge(try busy.standard(withToken: false), on: Self.route).verdict != nil)
      #expect(verifier.admissionCount <= 8)
    }
  }

  @Test("As many installations as the capacity stay known while they send requests in turn")
  func turns() throws {
    let gate = try Gate()
    var settings = RequestVerifier.Settings()
    settings.capacity = 8
    let verifier = try gate.verifier(settings: settings)
    let apps = try (0..<8).map { _ in try GateApp(at: gate) }
    for round in 0..<3 {
      for app in apps {
        let request = try app.standard(withToken: round == 0)
        #expect(verifier.judge(request, on: Self.route).verdict != nil)
      }
    }
    #expect(verifier.admissionCount == 8)
  }

  @Test("The keys of 10,000 installations take few memory mappings, and their room is used again")
  func mappings() async {
    // In a process of its own, where no other test maps memory.
    await #expect(processExitsWith: .success) {
      let pool = SecretPool(for: .requests)
      let before = try OpeningBudgetTests.mappingCount()
      var keys: [GateKeys] = []
      for _ in 0..<10_000 { keys.append(try GateSecret.random(generation: 1).keys(in: pool)) }
      #expect(try OpeningBudgetTests.mappingCount() - before < 300)
      // The same keys in blocks of their own would not get by with so few: the count sees them.
      let blocks = try (0..<1_000).map { _ in try GateSecret.random(generation: 1).keys }
      #expect(try OpeningBudgetTests.mappingCount() - before > 1_000 && blocks.count == 1_000)
      let slabs = pool.slabCount
      #expect(slabs < 30)
      #expect(Set(keys.map(\.handle)).count == keys.count)
      let text = "The keys in a pool are those in a block."
      let secret = try GateSecret.random(generation: 1)
      let (own, pooled) = (secret.keys, secret.keys(in: pool))
      let message = Array(text.utf8)
      let tags = [own, pooled].map { keys in
        keys.withRequestKey { CoreCrypto.hmac(key: $0, message.span) }
      }
      #expect(tags[0] == tags[1] && own.handle == pooled.handle)
      keys = []
      for _ in 0..<8_000 { keys.append(try GateSecret.random(generation: 1).keys(in: pool)) }
      #expect(pool.slabCount <= slabs + 1)
    }
  }

  private static func mappingCount() throws -> Int {
    let file = try FileHandle(forReadingFrom: URL(fileURLWithPath: "/proc/self/maps"))
    return try file.readToEnd()?.count { $0 == 0x0a } ?? 0
  }
}
