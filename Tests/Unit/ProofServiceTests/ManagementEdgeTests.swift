// SPDX-License-Identifier: Apache-2.0

import ProofJOSE
import ProofModel
import Testing

@testable import ProofService

/// The ends of changes of an account: two processes at a time, and what a change leaves as it was.
@Suite struct ManagementEdgeTests {
  // MARK: Two at a time

  @Test func `a key that takes the place of the one that is handed out does not count as given`()
    throws
  {
    let store = InterruptedStore()
    let bench = try Bench(store)
    let management = bench.management
    for kind in [OwnKey.secret, .sealing, .custom] {
      let lost = try management.prepareKey(of: kind).id
      store.interrupt {
        try! management.dropKey(of: kind)
        try! management.prepareKey(of: kind)
      }
      let given = try management.handOutKeys(of: kind).map(\.id)
      let next = try #require(try management.keyStates(of: kind).first { $0.stage == .next })
      #expect(given.contains(lost) && next.id != lost && !next.isGiven)
      #expect(throws: ServiceError.self) { try management.promoteKey(of: kind) }
      #expect(try management.handOutKeys(of: kind).map(\.id).contains(next.id))
      #expect(try management.promoteKey(of: kind).id == next.id)
    }
  }

  @Test(arguments: ["customKey", "stringKey", "saltKey", "factoryKey"])
  func `two processes that open an account of before draw one key`(_ document: String) throws {
    let store = InterruptedStore()
    let bench = try Bench(store)
    let whole = try #require(try store.row(document, of: .account))
    try store.apply([.remove(.account, document)])
    store.interrupt { _ = try! Account.open(in: store, with: keyFile()) }
    let account = try Account.open(in: store, with: keyFile())
    let drawn = try #require(try store.row(document, of: .account))
    #expect(drawn != whole)
    _ = try account.snapshot()
    _ = try bench.account.snapshot()
    #expect(try store.row(document, of: .account) == drawn)
  }

  // MARK: Gates

  @Test func `a gate without credentials is removed by one change of the account`() throws {
    let bench = try Bench()
    for hasCredential in [false, true] {
      try bench.management.addGate(
        "door", publicKey: GateBench.publicKey(of: [UInt8](repeating: 0x51, count: 32)))
      if hasCredential { _ = try bench.management.addGateCredential(for: "door") }
      let before = try bench.store.revision()
      try bench.management.removeGate("door")
      #expect(try bench.store.revision() - before == (hasCredential ? 2 : 1))
    }
  }

  // MARK: Configurations

  @Test func `pins are replaced in a configuration that has no room for another host`() throws {
    let bench = try Bench()
    let pins = (0..<100).map { Base64.encode([UInt8](repeating: $0, count: 32)) }
    var names: [String] = []
    func add(_ name: String) throws(ServiceError) {
      try bench.management.set(HostPins(name, pins))
      names.append(name)
    }
    #expect(throws: ServiceError.self) {
      for number in 0..<20 { try add("h\(number).example.com") }
    }
    let last = try #require(names.last)
    try bench.management.set(HostPins(last, pins.reversed()))
    #expect(try bench.management.pins().first { $0.host == last }?.pins == pins.reversed())
    #expect(throws: ServiceError.self) { try add("h20.example.com") }
  }
}
