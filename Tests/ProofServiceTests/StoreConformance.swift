import Dispatch
import Foundation
import ProofModel
import Synchronization
import Testing

@testable import ProofService

/// Properties of every store. A new one is added to ``Kind``, and nothing else is changed.
@Suite struct StoreConformance {
  enum Kind: CaseIterable {
    case memory
    case sqlite

    /// An empty store, and the folder that it stands in.
    func make() throws -> (store: any Store, place: Workplace) {
      let place = Workplace()
      return switch self {
      case .memory: (MemoryStore(), place)
      case .sqlite: (try SQLiteStore(creatingAt: place.path(of: "store")), place)
      }
    }
  }

  @Test(arguments: Kind.allCases)
  func `rows come back as they were put, in the order of their keys' bytes`(_ kind: Kind) throws {
    let (store, place) = try kind.make()
    defer { withExtendedLifetime(place) {} }
    let keys = ["b", "", "a", "é", "e\u{301}", "z", "Z"]
    for key in keys {
      try store.apply([.insert(.api, key, Array(key.utf8)), .put(.pin, key, [])])
    }
    let rows = try store.rows(of: .api)
    let ordered = keys.sorted { $0.utf8.lexicographicallyPrecedes($1.utf8) }
    #expect(rows.map { Array($0.key.utf8) } == ordered.map { Array($0.utf8) })
    #expect(rows.allSatisfy { $0.value == Array($0.key.utf8) })
    #expect(try store.row("é", of: .pin) == [])
    #expect(try store.row("é", of: .key) == nil)
    try store.apply([.put(.api, "a", [1, 2]), .remove(.api, "b"), .remove(.api, "none")])
    #expect(try store.row("a", of: .api) == [1, 2])
    #expect(try store.row("b", of: .api) == nil)
  }

  @Test(arguments: Kind.allCases)
  func `changes happen all or not at all`(_ kind: Kind) throws {
    let (store, place) = try kind.make()
    defer { withExtendedLifetime(place) {} }
    try store.apply([.insert(.api, "taken", [1])])
    let revision = try store.revision()
    #expect(throws: StoreError.alreadyThere(table: .api, key: "taken")) {
      try store.apply([
        .put(.api, "new", [2]), .remove(.api, "taken"), .insert(.key, "k", [3]),
        .insert(.api, "taken", [4]), .insert(.api, "taken", [5]),
      ])
    }
    #expect(throws: StoreError.changedMeanwhile(table: .api, key: "taken")) {
      try store.apply([.put(.api, "new", [2]), .expect(.api, "taken", [9])])
    }
    #expect(throws: StoreError.changedMeanwhile(table: .api, key: "none")) {
      try store.apply([.put(.api, "new", [2]), .expect(.api, "none", [])])
    }
    #expect(try store.rows(of: .api) == [StoreRow("taken", [1])])
    #expect(try store.rows(of: .key) == [])
    #expect(try store.revision() == revision)
    try store.apply([.expect(.api, "taken", [1]), .put(.api, "taken", [2])])
    let raised = try store.revision()
    #expect(raised > revision)
    try store.apply([.put(.deviceString, "device", [1])])
    #expect(try store.revision() == raised)
  }

  @Test(arguments: Kind.allCases)
  func `a counter tells what it was`(_ kind: Kind) throws {
    let (store, place) = try kind.make()
    defer { withExtendedLifetime(place) {} }
    #expect(try store.advance("one", by: 5) == 0)
    #expect(try store.advance("one", by: 7) == 5)
    #expect(try store.advance("two", by: 1) == 0)
    #expect(try store.advance("one", by: 0) == 12)
    #expect(try store.advance("revision", by: 3) == 0)
  }

  @Test(arguments: Kind.allCases)
  func `a salt is used once, and what came of it is noted in the same step`(_ kind: Kind) throws {
    let (store, place) = try kind.make()
    defer { withExtendedLifetime(place) {} }
    let salt = Salt.random()
    let device = try DeviceID([UInt8](repeating: 1, count: 16))
    let sighting = DeviceSighting(device, at: 50, note: [9])
    #expect(try store.use(salt, for: sighting) == false)
    #expect(try store.device(device) == nil)
    try store.keep(PendingSalt(salt, expiry: 100, note: [1, 2]))
    #expect(try store.pending(salt) == PendingSalt(salt, expiry: 100, note: [1, 2]))
    #expect(try store.use(salt, for: sighting))
    #expect(try store.pending(salt) == nil)
    #expect(try store.use(salt, for: DeviceSighting(device, at: 60, note: [8])) == false)
    #expect(try store.device(device)?.note == [9])
    let other = Salt.random()
    try store.keep(PendingSalt(other, expiry: 100, note: []))
    #expect(try store.use(other, for: nil))
    #expect(try store.use(other, for: nil) == false)
    #expect(try store.counts() == StoreCounts(devices: 1, salts: 0))
  }

  @Test(arguments: Kind.allCases)
  func `devices that were not seen for long are dropped, and their generations are not`(
    _ kind: Kind
  ) throws {
    let (store, place) = try kind.make()
    defer { withExtendedLifetime(place) {} }
    func see(_ number: UInt8, at time: Int64, _ generation: UInt32) throws -> DeviceID {
      let device = try DeviceID([UInt8](repeating: number, count: 16))
      let salt = Salt.random()
      try store.keep(PendingSalt(salt, expiry: 100, note: []))
      let sighting = DeviceSighting(device, at: time, generation: generation, note: [number])
      #expect(try store.use(salt, for: sighting))
      try store.apply([.put(.deviceString, device.description, [number])])
      return device
    }
    let devices = try [(1, 10, 4), (2, 20, 9), (3, 30, 5), (4, 40, 2)].map {
      try see($0, at: $1, $2)
    }
    #expect(try store.generationFloor() == 0)
    #expect(try store.dropDevices(lastSeenBefore: 10, atMost: 9) == 0)
    #expect(try store.dropDevices(lastSeenBefore: 40, atMost: 2) == 2)
    #expect(try store.devices(latest: 9).map(\.device) == [devices[3], devices[2]])
    #expect(try store.generationFloor() == 9)
    #expect(try store.row(devices[0].description, of: .deviceString) == nil)
    #expect(try store.row(devices[2].description, of: .deviceString) == [3])
    let revision = try store.revision()
    #expect(try store.dropDevices(lastSeenBefore: 40, atMost: 9) == 1)
    #expect(try store.generationFloor() == 9, "it never goes down")
    #expect(try store.revision() == revision)
    #expect(try store.counts() == StoreCounts(devices: 1, salts: 0))
  }

  @Test(arguments: Kind.allCases)
  func `a generation never goes down, and must rise where that is asked`(_ kind: Kind) throws {
    let (store, place) = try kind.make()
    defer { withExtendedLifetime(place) {} }
    let device = try DeviceID([UInt8](repeating: 1, count: 16))
    func see(_ generation: UInt32, _ must: Bool, at time: Int64) throws -> Bool {
      let salt = Salt.random()
      try store.keep(PendingSalt(salt, expiry: 0, note: []))
      let sighting = DeviceSighting(
        device, at: time, generation: generation, mustRaiseGeneration: must, note: [])
      let isUsed = try store.use(salt, for: sighting)
      #expect(try (store.pending(salt) == nil) == isUsed)
      return isUsed
    }
    #expect(try see(3, true, at: 10))
    #expect(try !see(3, true, at: 20))
    #expect(try !see(2, true, at: 20))
    #expect(try see(0, false, at: 5))
    let row = try #require(try store.device(device))
    #expect(row.generation == 3 && row.firstSeen == 10 && row.lastSeen == 10)
    #expect(try see(4, true, at: 30))
    #expect(try store.device(device)?.lastSeen == 30)
  }

  @Test(arguments: Kind.allCases)
  func `a device has a line of its own at each gate, which no other line touches`(
    _ kind: Kind
  ) throws {
    let (store, place) = try kind.make()
    defer { withExtendedLifetime(place) {} }
    let devices = try [1, 2].map { try DeviceID([UInt8](repeating: $0, count: 16)) }
    let gates = try [3, 4].map { try GateID([UInt8](repeating: $0, count: 16)) }
    func see(_ device: Int, _ generation: UInt32, at gate: Int?) throws -> Bool {
      let salt = Salt.random()
      try store.keep(PendingSalt(salt, expiry: 0, note: []))
      let sighting = DeviceSighting(
        devices[device], at: Int64(device), generation: generation, mustRaiseGeneration: true,
        gate: gate.map { gates[$0] }, note: [])
      let isUsed = try store.use(salt, for: sighting)
      #expect(try (store.pending(salt) == nil) == isUsed)
      return isUsed
    }
    func line(_ device: Int, at gate: Int) throws -> UInt32? {
      try store.generation(of: devices[device], at: gates[gate])
    }
    #expect(try line(0, at: 0) == nil)
    #expect(try see(0, 7, at: nil))
    for generation in 1...9 as ClosedRange<UInt32> { #expect(try see(0, generation, at: 0)) }
    #expect(try !see(0, 9, at: 0), "a line must rise, too")
    #expect(try see(0, 2, at: 1))
    #expect(try line(0, at: 0) == 9 && line(0, at: 1) == 2 && line(1, at: 0) == nil)
    #expect(try store.device(devices[0])?.generation == 7)
    #expect(try !see(0, 7, at: nil) && see(0, 8, at: nil))
    #expect(try line(0, at: 0) == 9 && line(0, at: 1) == 2)
    #expect(try see(1, 30, at: 1))
    #expect(try store.device(devices[1])?.generation == 0)
    #expect(try store.gateGenerationFloor() == 0)
    // Device 0 was seen first. Its own generation and its lines become floors of their own.
    #expect(try store.dropDevices(lastSeenBefore: 1, atMost: 9) == 1)
    #expect(try store.generationFloor() == 8 && store.gateGenerationFloor() == 9)
    #expect(try line(0, at: 0) == nil && line(1, at: 1) == 30)
  }

  @Test(arguments: Kind.allCases)
  func `a glance at a device sees what looking twice would see`(_ kind: Kind) throws {
    let (store, place) = try kind.make()
    defer { withExtendedLifetime(place) {} }
    let device = try DeviceID([UInt8](repeating: 1, count: 16))
    #expect(try store.glance(at: device).device == nil)
    let salt = Salt.random()
    try store.keep(PendingSalt(salt, expiry: 0, note: []))
    _ = try store.use(salt, for: DeviceSighting(device, at: 7, note: [1]))
    for round in 0..<3 as Range<UInt8> {
      try store.apply([.put(.api, "a", [round])])
      let seen = try store.glance(at: device)
      #expect(try seen.revision == store.revision())
      #expect(try seen.device == store.device(device))
      #expect(seen.device?.note == [1])
    }
  }

  @Test(arguments: Kind.allCases)
  func `expired salts are dropped, others stay`(_ kind: Kind) throws {
    let (store, place) = try kind.make()
    defer { withExtendedLifetime(place) {} }
    for expiry in 1...10 as ClosedRange<Int64> {
      try store.keep(PendingSalt(.random(), expiry: expiry, note: []))
    }
    #expect(try store.dropSalts(expiredBefore: 8) == 7)
    #expect(try store.counts().salts == 3)
  }

  @Test(arguments: Kind.allCases)
  func `the latest devices come first`(_ kind: Kind) throws {
    let (store, place) = try kind.make()
    defer { withExtendedLifetime(place) {} }
    for byte in 1...9 as ClosedRange<UInt8> {
      let salt = Salt.random()
      try store.keep(PendingSalt(salt, expiry: 0, note: []))
      let device = try DeviceID([UInt8](repeating: byte, count: 16))
      _ = try store.use(salt, for: DeviceSighting(device, at: Int64(byte % 5), note: []))
    }
    #expect(try store.devices(latest: 4).map(\.device.bytes[0]) == [4, 9, 3, 8])
  }

  @Test(arguments: Kind.allCases)
  func `of many threads with one salt, one uses it`(_ kind: Kind) throws {
    let (store, place) = try kind.make()
    defer { withExtendedLifetime(place) {} }
    let salts = (0..<50).map { _ in Salt.random() }
    for salt in salts { try store.keep(PendingSalt(salt, expiry: 0, note: [])) }
    let used = Mutex(0)
    DispatchQueue.concurrentPerform(iterations: 8) { thread in
      let device = try! DeviceID([UInt8](repeating: UInt8(thread), count: 16))
      for salt in salts {
        if try! store.use(salt, for: DeviceSighting(device, at: 1, note: [])) {
          used.withLock { $0 += 1 }
        }
      }
    }
    #expect(used.withLock { $0 } == 50)
  }

  @Test(arguments: Kind.allCases)
  func `threads that change, count and refuse at once do not disturb one another`(
    _ kind: Kind
  ) throws {
    let (store, place) = try kind.make()
    defer { withExtendedLifetime(place) {} }
    try store.apply([.insert(.api, "taken", [])])
    let refused = Atomic(0)
    DispatchQueue.concurrentPerform(iterations: 8) { thread in
      for round in 0..<25 {
        try! store.apply([.insert(.api, "\(thread).\(round)", [1])])
        _ = try! store.advance("count", by: 1)
        do {
          try store.apply([.put(.api, "lost \(thread)", []), .insert(.api, "taken", [])])
        } catch {
          refused.add(1, ordering: .relaxed)
        }
      }
    }
    #expect(refused.load(ordering: .relaxed) == 200)
    #expect(try store.rows(of: .api).count == 201)
    #expect(try store.advance("count", by: 0) == 200)
  }
}
