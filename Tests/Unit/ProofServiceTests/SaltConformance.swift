// SPDX-License-Identifier: Apache-2.0

import Foundation
import OwnThreads
import ProofModel
import Testing

@testable import ProofService

/// Properties of every store: a salt is spent once, and with it the device is seen.
@Suite struct SaltConformance {
  private let place = Workplace()
  private let device = Spender.device(1)

  private func spender(_ kind: StoreKind) throws -> Spender { Spender(store: try kind.make(place)) }

  @Test(arguments: StoreKind.all)
  func `a salt is spent once; its report gets the same answer again, another report gets none`(
    _ kind: StoreKind
  ) throws {
    let spender = try spender(kind)
    let store = spender.store
    var use = try spender.use(by: device, DeviceSighting(over: 0, note: [9]))
    #expect(try spender.mark(of: use) == nil)
    #expect(try store.use(use) == .used)
    #expect(try spender.mark(of: use) == SpentMark(use.report, answer: [42]))
    #expect(try store.device(device)?.note == [9])
    // Judged again, as a retry is: by another row, with a fresh answer.
    use.answer = [43]
    use.sighting = DeviceSighting(over: 1, note: [8])
    #expect(try store.use(use) == .again([42]))
    use.report = Digest(hashing: [2])
    #expect(try store.use(use) == .stale)
    #expect(try spender.mark(of: use)?.answer == [42])
    #expect(try store.device(device)?.note == [9] && store.device(device)?.version == 1)
    // The same salt of another device is another salt.
    use.device = Spender.device(2)
    use.sighting = nil
    #expect(try store.use(use) == .used)
    #expect(try store.device(use.device) == nil)
    #expect(try store.counts() == StoreCounts(devices: 1))
  }

  @Test(arguments: StoreKind.all)
  func `a use that was judged under another revision changes nothing`(_ kind: StoreKind) throws {
    let spender = try spender(kind)
    let use = try spender.use(by: device, DeviceSighting(over: 0, note: [1]))
    try spender.store.apply([.put(.deviceRule, "ban", [])])
    #expect(try spender.store.use(use) == .changed)
    #expect(try spender.mark(of: use) == nil && spender.store.device(device) == nil)
    var again = use
    again.revision = try spender.store.revision()
    #expect(try spender.store.use(again) == .used)
  }

  @Test(arguments: StoreKind.all)
  func `an expired salt is stale, and leaves nothing`(_ kind: StoreKind) throws {
    let spender = try spender(kind)
    for seconds in [0, -1, -3_600] as [Int64] {
      let use = try spender.use(by: device, in: seconds, DeviceSighting(over: 0, note: []))
      #expect(try spender.store.use(use) == .stale)
      #expect(try spender.mark(of: use) == nil && spender.store.device(device) == nil)
    }
    // A used one is stale too: its answer is kept until its end and no longer.
    var use = try spender.use(by: device)
    #expect(try spender.store.use(use) == .used)
    use.time = use.expiry
    #expect(try spender.store.use(use) == .stale)
  }

  @Test(arguments: StoreKind.all)
  func `a sighting is written only over the row that it was judged by`(_ kind: StoreKind) throws {
    let spender = try spender(kind)
    let store = spender.store
    func use(over version: UInt64, _ note: UInt8) throws -> SaltUse {
      try spender.use(by: device, DeviceSighting(over: version, generation: 9, note: [note]))
    }
    #expect(try store.use(use(over: 1, 1)) == .changed, "no row, and one was judged")
    #expect(try store.device(device) == nil)
    #expect(try store.use(use(over: 0, 1)) == .used)
    for (version, expected) in [(0, 1), (1, 2), (2, 3)] as [(UInt64, UInt64)] {
      let late = try use(over: version &- 1, 7)
      #expect(try store.use(late) == .changed)
      #expect(try spender.mark(of: late) == nil, "the report is judged again under its salt")
      if version > 0 { #expect(try store.use(use(over: version, 3)) == .used) }
      #expect(try store.device(device)?.version == expected)
    }
    #expect(try store.dropDevices(lastSeenBefore: spender.now + 1, atMost: 9) == 1)
    #expect(try store.use(use(over: 3, 4)) == .changed, "its row was dropped meanwhile")
    #expect(try store.device(device) == nil)
  }

  @Test(arguments: StoreKind.all)
  func `a generation never goes down; a report that must raise it and does not is spent unanswered`(
    _ kind: StoreKind
  ) throws {
    let spender = try spender(kind)
    let store = spender.store
    #expect(try spender.see(device, at: 10, generation: 3, must: true) == .used)
    for generation in [3, 2] as [UInt32] {
      var use = try spender.use(
        by: device,
        DeviceSighting(over: 1, generation: generation, mustRaiseGeneration: true, note: [7]))
      #expect(try store.use(use) == .stale)
      #expect(try spender.mark(of: use) == SpentMark(use.report, answer: []))
      #expect(try store.use(use) == .stale, "a retry gets no answer that was never sent")
      // It lost the generation whatever row it was judged by.
      use.salt = .random()
      use.sighting?.version = 0
      #expect(try store.use(use) == .stale)
    }
    #expect(try spender.see(device, at: 5) == .used)
    let row = try #require(try store.device(device))
    #expect(row.generation == 3 && row.note == [])
    #expect(row.firstSeen == spender.now + 10 && row.lastSeen == spender.now + 10)
    #expect(try spender.see(device, at: 30, generation: 4, must: true) == .used)
    #expect(try store.device(device)?.lastSeen == spender.now + 30)
    #expect(try store.device(device)?.generation == 4)
  }

  @Test(arguments: StoreKind.all)
  func `a device has a line of its own at each gate, which no other line touches`(
    _ kind: StoreKind
  ) throws {
    let spender = try spender(kind)
    let store = spender.store
    let devices = [1, 2].map { Spender.device($0) }
    let gates = try [3, 4].map { try GateID([UInt8](repeating: $0, count: 16)) }
    func see(_ device: Int, _ generation: UInt32, at gate: Int?) throws -> Bool {
      try spender.see(
        devices[device], at: Int64(device), generation: generation, must: true,
        gate: gate.map { gates[$0] }) == .used
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
    #expect(try store.dropDevices(lastSeenBefore: spender.now + 1, atMost: 9) == 1)
    #expect(try store.generationFloor() == 8 && store.gateGenerationFloor() == 9)
    #expect(try line(0, at: 0) == nil && line(1, at: 1) == 30)
  }

  @Test(arguments: StoreKind.all)
  func `a device's strings are written in the step that spends the salt, and in no other`(
    _ kind: StoreKind
  ) throws {
    let spender = try spender(kind)
    let store = spender.store
    func strings() throws -> [UInt8]? {
      try store.row(device.description, of: .deviceString)
    }
    let revision = try store.revision()
    #expect(try spender.see(device, strings: .put([1])) == .used)
    #expect(try strings() == [1])
    let late = try spender.use(by: device, DeviceSighting(over: 0, note: [], strings: .put([2])))
    #expect(try store.use(late) == .changed)
    #expect(try spender.see(device, must: true, strings: .put([3])) == .stale)
    #expect(try strings() == [1])
    #expect(try spender.see(device) == .used)
    #expect(try strings() == [1])
    #expect(try spender.see(device, strings: .remove) == .used)
    #expect(try strings() == nil)
    #expect(try store.revision() == revision, "apps make these changes, and no cache holds them")
  }

  @Test(arguments: StoreKind.all)
  func `devices that were not seen for long are dropped, and their generations are not`(
    _ kind: StoreKind
  ) throws {
    let spender = try spender(kind)
    let store = spender.store
    let now = spender.now
    func see(_ number: UInt8, at time: Int64, _ generation: UInt32) throws -> InstanceID {
      let device = Spender.device(number)
      let outcome = try spender.see(
        device, at: time, generation: generation, note: [number], strings: .put([number]))
      #expect(outcome == .used)
      return device
    }
    let devices = try [(1, 10, 4), (2, 20, 9), (3, 30, 5), (4, 40, 2)].map {
      try see($0, at: $1, $2)
    }
    #expect(try store.generationFloor() == 0)
    #expect(try store.dropDevices(lastSeenBefore: now + 10, atMost: 9) == 0)
    #expect(try store.dropDevices(lastSeenBefore: now + 40, atMost: 2) == 2)
    #expect(try store.devices(latest: 9).map(\.device) == [devices[3], devices[2]])
    // A survey is of the present where there is no replica.
    let (listed, counted) = try (store.surveyedDevices(latest: 1), store.surveyedCounts())
    #expect(listed.content.map(\.device) == [devices[3]] && listed.age == .present)
    #expect(counted.content.devices == 2 && counted.age == .present)
    #expect(try store.generationFloor() == 9)
    #expect(try store.row(devices[0].description, of: .deviceString) == nil)
    #expect(try store.row(devices[2].description, of: .deviceString) == [3])
    let revision = try store.revision()
    #expect(try store.dropDevices(lastSeenBefore: now + 40, atMost: 9) == 1)
    #expect(try store.generationFloor() == 9, "it never goes down")
    #expect(try store.revision() == revision)
    #expect(try store.counts() == StoreCounts(devices: 1))
  }

  @Test(arguments: StoreKind.all)
  func `the first generation of a dropped device is a floor, too, at gates and without one`(
    _ kind: StoreKind
  ) throws {
    let spender = try spender(kind)
    let gate = try GateID([UInt8](repeating: 4, count: 16))
    func drop(_ gate: GateID?) throws -> [UInt32] {
      #expect(try spender.see(device, generation: 1, must: true, gate: gate) == .used)
      #expect(try spender.store.dropDevices(lastSeenBefore: spender.now + 1, atMost: 1) == 1)
      return try [spender.store.generationFloor(), spender.store.gateGenerationFloor()]
    }
    #expect(try drop(nil) == [1, 0])
    #expect(try drop(gate) == [1, 1])
  }

  @Test(arguments: StoreKind.all)
  func `a glance at a device sees what looking twice would see`(_ kind: StoreKind) throws {
    let spender = try spender(kind)
    let store = spender.store
    #expect(try store.glance(at: device).device == nil)
    #expect(try spender.see(device, note: [1]) == .used)
    for round in 0..<3 as Range<UInt8> {
      try store.apply([.put(.api, "a", [round])])
      let seen = try store.glance(at: device)
      #expect(try seen.revision == store.revision())
      #expect(try seen.device == store.device(device))
      #expect(seen.device?.note == [1])
      #expect(seen.mark == nil)
    }
  }

  @Test(arguments: StoreKind.all)
  func `a glance sees the mark of a spent salt, for its device and its end alone`(
    _ kind: StoreKind
  ) throws {
    let spender = try spender(kind)
    let store = spender.store
    let (known, unknown) = (device, Spender.device(9))
    let use = try spender.use(by: known, report: 3, answer: [4, 5])
    let place = SaltPlace(use.salt, expiring: use.expiry)
    #expect(try store.glance(at: known, and: place).mark == nil)
    #expect(try store.use(use) == .used)
    // The device has a mark and no row: the report was refused.
    let seen = try store.glance(at: known, and: place)
    #expect(seen.mark == SpentMark(use.report, answer: [4, 5]))
    #expect(seen.device == nil)
    #expect(try seen.revision == store.revision())
    #expect(try spender.see(known, note: [1]) == .used)
    #expect(try store.glance(at: known, and: place).device == store.device(known))
    #expect(try store.glance(at: known, and: place).mark == seen.mark)
    #expect(try store.glance(at: unknown, and: place).mark == nil)
    let others = [
      SaltPlace(.random(), expiring: use.expiry), SaltPlace(use.salt, expiring: use.expiry + 60),
      SaltPlace(use.salt, expiring: -1), SaltPlace(use.salt, expiring: .last),
      SaltPlace(use.salt, expiring: UnixTime(seconds: .min)),
    ]
    // A lap of the ring later the table is the same. The end is authenticated elsewhere.
    for other in others where other.salt != use.salt || other.slot != place.slot {
      #expect(try store.glance(at: known, and: other).mark == nil, "\(other)")
    }
    #expect(try store.glance(at: known, and: nil).mark == nil)
  }

  @Test(arguments: StoreKind.all)
  func `the latest devices come first`(_ kind: StoreKind) throws {
    let spender = try spender(kind)
    for byte in 1...9 as ClosedRange<UInt8> {
      #expect(try spender.see(Spender.device(byte), at: Int64(byte % 5)) == .used)
    }
    #expect(try spender.store.devices(latest: 4).map(\.device.bytes[0]) == [4, 9, 3, 8])
  }

  // MARK: The ring

  @Test(arguments: StoreKind.all)
  func `a salt that is redeemed on both sides of a minute is spent once`(_ kind: StoreKind) throws {
    let spender = try spender(kind)
    var use = try spender.use(by: device, in: 500)
    #expect(try spender.store.use(use) == .used)
    for minute in 1...8 as ClosedRange<Int64> {
      use.time = spender.now + 60 * minute
      #expect(try spender.store.use(use) == .again([42]), "minute \(minute)")
    }
  }

  @Test(arguments: StoreKind.all)
  func `marks are dropped by whole minutes, and no salt of a dropped minute is accepted again`(
    _ kind: StoreKind
  ) throws {
    let spender = try spender(kind)
    let store = spender.store
    let start = 120 - spender.now.seconds % 60
    // Three minutes: the first and the last second of each.
    var uses: [SaltUse] = []
    for minute in 0..<3 as Range<Int64> {
      for second in [0, 59] as [Int64] {
        uses.append(try spender.use(by: device, in: start + 60 * minute + second))
      }
    }
    for use in uses { #expect(try store.use(use) == .used) }
    #expect(try store.dropMarks(expiredBefore: spender.now + start + 59) == 0)
    #expect(try store.dropMarks(expiredBefore: spender.now + start + 60) == 1)
    #expect(try store.dropMarks(expiredBefore: spender.now + start + 60) == 0)
    for (index, use) in uses.enumerated() {
      #expect(try (spender.mark(of: use) == nil) == (index < 2))
      // The clock was set back: none of them has expired by it.
      #expect(try store.use(use) == (index < 2 ? .stale : .again([42])), "use \(index)")
    }
    var fresh = uses[1]
    fresh.salt = .random()
    #expect(try store.use(fresh) == .stale, "the minute is closed")
    fresh.expiry += 1
    #expect(try store.use(fresh) == .used, "the next is not")
    #expect(try store.dropMarks(expiredBefore: spender.now + start + 600) == 2)
  }

  @Test(arguments: StoreKind.all)
  func `a slot whose marks are of two laps of the ring is not emptied before the later one ends`(
    _ kind: StoreKind
  ) throws {
    let spender = try spender(kind)
    let lap = Int64(SpentRing.slotCount) * 60
    let first = try spender.use(by: device, in: 300)
    let later = try spender.use(by: device, in: 300 + lap)
    for use in [first, later] { #expect(try spender.store.use(use) == .used) }
    #expect(try spender.store.dropMarks(expiredBefore: first.expiry + lap - 60) == 0)
    #expect(try spender.store.use(later) == .again([42]))
    #expect(try spender.store.dropMarks(expiredBefore: later.expiry + 60) == 1)
    #expect(try spender.store.use(later) == .stale)
  }

  @Test(arguments: StoreKind.all)
  func `each slot of the ring keeps and drops its marks`(_ kind: StoreKind) throws {
    let spender = try spender(kind)
    let uses = try (0..<SpentRing.slotCount).map {
      try spender.use(by: device, in: 60 + 60 * Int64($0))
    }
    for use in uses { #expect(try spender.store.use(use) == .used) }
    for use in uses { #expect(try spender.store.use(use) == .again([42])) }
    let end = try #require(uses.last).expiry + 60
    #expect(try spender.store.dropMarks(expiredBefore: end) == SpentRing.slotCount)
    for use in uses { #expect(try spender.store.use(use) == .stale) }
  }

  // MARK: Threads

  @Test(arguments: StoreKind.all)
  func `one of many threads spends a salt, and equal reports get its answer`(
    _ kind: StoreKind
  ) throws {
    let spender = try spender(kind)
    let store = spender.store
    let salts = (0..<50).map { _ in Salt.random() }
    struct Tally {
      var used: [Salt: [UInt8]] = [:]
      var again: [Salt: Set<[UInt8]>] = [:]
      var stale = 0
    }
    let tally = CoreLock(Tally())
    // Threads 0 to 3 have one report, 4 to 7 another; each has made an answer of its own.
    onThreads(8) { thread in
      for salt in salts {
        let use = try! spender.use(
          salt, by: device, report: UInt8(thread / 4), answer: [UInt8(thread)])
        let outcome = try! store.use(use)
        tally.withLock { tally in
          switch outcome {
          case .used:
            precondition(tally.used.updateValue(use.answer, forKey: salt) == nil, "spent twice")
          case .again(let answer): tally.again[salt, default: []].insert(answer)
          case .stale: tally.stale += 1
          case .changed: preconditionFailure("nothing was changed")
          }
        }
      }
    }
    tally.withLock { tally in
      #expect(tally.used.count == 50 && tally.stale == 200)
      for salt in salts { #expect(tally.again[salt] == tally.used[salt].map { [$0] }) }
    }
  }

  @Test(arguments: StoreKind.all)
  func `no thread's note of a device is lost to another's`(_ kind: StoreKind) throws {
    let spender = try spender(kind)
    let store = spender.store
    onThreads(8) { thread in
      for _ in 0..<10 {
        let salt = Salt.random()
        while true {
          let row = try! store.device(device)
          let sighting = DeviceSighting(
            over: row?.version ?? 0, note: (row?.note ?? []) + [UInt8(thread)])
          if try! store.use(spender.use(salt, by: device, sighting)) == .used { break }
        }
      }
    }
    let row = try #require(try store.device(device))
    #expect(row.note.count == 80 && row.version == 80)
    for thread in 0..<8 as Range<UInt8> { #expect(row.note.count { $0 == thread } == 10) }
  }
}
