// SPDX-License-Identifier: Apache-2.0

import Foundation
import ProofBackend
import ProofKit
import ProofKitTesting
import ProofLink
import ProofModel
import Testing

/// The accidents of docs/results/accidents.md, each from one end to the other: the SDK, the service, the backend and the
/// hardware are the real ones. A name tells the accident, then what heals it, a network, a person.
@Suite("Twenty accidents", .serialized)
struct AccidentTests {
  /// A world, a lock, and a phone that has opened it once.
  static func paired(
    _ seed: UInt64, keepsLog: Bool = false,
    permitting change: (inout GrantPermissions) -> Void = { _ in }
  ) async throws -> (world: World, lock: VirtualLock, phone: Phone) {
    let world = try World()
    world.permit(change)
    let lock = try world.lock(seed, keepsLog: keepsLog)
    let phone = try Phone(world)
    try await phone.enrol(lock)
    try await phone.expectOpens(lock)
    return (world, lock, phone)
  }

  @Test("1: power is cut in the app. Its stored command is recalled. No network, no person.")
  func powerCutInApp() async throws {
    let world = try World()
    let lock = try world.lock(1)
    let phone = try Phone(world)
    try await phone.enrol(lock)
    world.goOffline()
    var event = 1
    while try await survivesDeath(of: phone, at: event, lock) { event += 1 }
    // The opening, the challenge, the command and its verdict were all struck.
    #expect(event > 6)
    try await phone.expectOpens(lock)
  }

  /// The app dies at an event on its way to the lock, and begins again. False once it ends before the event.
  private func survivesDeath(of phone: Phone, at event: Int, _ lock: VirtualLock) async throws
    -> Bool
  {
    let done = lock.doneCount
    let death = Death()
    let way = Way(lock) { $0.number >= event && death.strike() }
    let memory = MortalMemory(LinkMemoryFile(in: phone.folder, for: lock.id), death)
    let door = try phone.door(lock, over: way, memory: memory)
    let result = await death.result { try await door.send(Phone.open, within: Phone.ample) }
    let hasDied = death.hasStruck
    await door.disconnect()
    try phone.restart()
    let again = try phone.door(lock)
    let isOpen = try await again.hasOpenCommand()
    let outcome = try await again.settle(within: Phone.ample)
    #expect((outcome != nil) == isOpen)
    switch result {
    case .success: #expect(lock.doneCount == done + 1)
    case .failure:
      #expect(lock.doneCount == done + (outcome?.isAccepted == true ? 1 : 0), "\(event)")
    }
    await again.disconnect()
    return hasDied
  }

  @Test(
    "2: power is cut in the lock. Records in two copies, and a recall. No network, no person.",
    arguments: VirtualLock.Tear.allCases)
  func powerCutInLock(_ tear: VirtualLock.Tear) async throws {
    let world = try World()
    let lock = try world.lock(2, keepsLog: true)
    let phone = try Phone(world)
    try world.registerApp(Look(app: 2), updating: Look())
    try await phone.enrol(lock)
    world.goOffline()
    // A first contact, then the first command after an update: token, command, candidate and commit are all cut.
    let blank = lock.flash
    for isUpdated in [false, true] {
      if isUpdated {
        try await phone.expectOpens(lock)
        phone.eyes.set { $0.app = 2 }
      }
      let before = isUpdated ? lock.flash : blank
      var operation = 1
      while try await opens(phone, lock, flash: before, cutAt: operation, tear) { operation += 1 }
      #expect(operation > 3)
    }
    try await phone.expectOpens(lock)
  }

  /// The app opens although power is cut in a flash operation. False if there were fewer.
  private func opens(
    _ phone: Phone, _ lock: VirtualLock, flash: [UInt8], cutAt operation: Int,
    _ tear: VirtualLock.Tear
  ) async throws -> Bool {
    let folder = try phone.backUp()
    lock.restore(flash)
    let (done, count) = (lock.doneCount, lock.flashOperations)
    lock.cutPower(at: operation, tear)
    let door = try phone.door(lock, memory: MemoryLinkStore())
    let receipt = try await door.send(Phone.open, within: Phone.ample)
    await door.disconnect()
    #expect(receipt.verdict == .accepted, "operation \(operation)")
    // A cut between record and deed loses the deed. None is done twice.
    #expect(lock.doneCount - done <= 1, "operation \(operation)")
    lock.cutPower(at: 0)
    let wasCut = lock.flashOperations - count >= operation
    if wasCut {
      try phone.restore(folder)
    } else {
      try FileManager.default.removeItem(atPath: folder)
    }
    return wasCut
  }

  @Test(
    "3: an answer is lost. The command is recalled. No network, no person.", arguments: [23, 185])
  func answerLost(mtu: Int) async throws {
    let (world, lock, phone) = try await Self.paired(3)
    world.goOffline()
    // The answer to the command, and then those to the recalls.
    for losses in 1...3 {
      let done = lock.doneCount
      let lost = CoreLock(0)
      let way = Way(lock) { event in
        event.isOfAnswer
          && lost.withLock { count in
            guard count < losses else { return false }
            count += 1
            return true
          }
      }
      let door = try phone.door(lock, over: way, mtu: mtu)
      #expect(try await door.send(Phone.open, within: Phone.ample).verdict == .accepted)
      #expect(lock.doneCount == done + 1 && lost.withLock { $0 } == losses)
      await door.disconnect()
    }
  }

  @Test(
    "4: a clock says 1970 or 2100. Time moves by signatures, by 400 days at most. No network, no person.",
    arguments: [0, 4_102_444_800] as [UnixTime])
  func wrongClock(_ time: UnixTime) async throws {
    let world = try World()
    let lock = try world.lock(4)
    // The phone's clock: nothing that a lock judges depends on it, and a fetch works too.
    let phone = try Phone(world, time: time)
    try await phone.enrol(lock)
    try await phone.expectOpens(lock)
    // The lock's clock: it starts at zero with each start, and counts from what it knew.
    lock.pass(seconds: 1_000_000)
    lock.powerOn()
    try await phone.expectOpens(lock)
    // The backend's clock: in the future it signs nothing, and the present token stays.
    world.setBackendError(Int64(time - world.time))
    if time > world.time {
      let refusal = await #expect(throws: EnrolmentError.self) {
        try await phone.renew()
      }
      #expect(refusal == .backend(status: 503, word: "unavailable"))
      // An operator who trusts the wrong clock signs: the lock refuses the order, and knows no other time.
      let before = lock.epoch
      let order = try world.issuer(trustsClock: true).orderEpoch(for: lock.id)
      let door = try phone.door(lock)
      let error = await #expect(throws: LinkError.self) { try await door.deliver(order) }
      #expect(error?.code == "LOCK-34.65535" && error?.whoCanMend == .operator)
      await door.disconnect()
      #expect(lock.epoch < before + 1000)
    }
    try await phone.expectOpens(lock)
    world.setBackendError(0)
    try await phone.renew()
    try await phone.expectOpens(lock)
  }

  @Test(
    "5: the app's folder is restored, ratchet reports. The lock tells of it. No network, no person."
  )
  func folderRestoredReport() async throws {
    let (world, lock, phone) = try await Self.paired(5) { $0.ratchet = .report }
    let copy = try phone.backUp()
    for _ in 0..<2 { try await phone.expectOpens(lock) }
    try phone.restore(copy)
    world.goOffline()
    try await phone.expectOpens(lock, .acceptedCopy)
    try await phone.expectOpens(lock)
    let door = try phone.door(lock)
    #expect(try await door.hasSeenCopy())
    // The next fetch tells the service, and the app is no longer told.
    world.goOnline()
    try await phone.renew()
    #expect(try await door.hasSeenCopy() == false)
    try await phone.expectOpens(lock)
  }

  @Test("5: the app's folder is restored, ratchet refuses. A new token. Network, no person.")
  func folderRestoredRefuse() async throws {
    let world = try World()
    world.permit { $0.ratchet = .refuse }
    let lock = try world.lock(50)
    let phone = try Phone(world)
    try await phone.enrol(lock)
    try await phone.expectOpens(lock, .accepted, Phone.settings)
    let copy = try phone.backUp()
    try await phone.expectOpens(lock, .accepted, Phone.settings)
    try phone.restore(copy)
    try await phone.expectRefusal("LOCK-23", at: lock, Phone.settings)
    await phone.expectNoNetwork()
    try await phone.renew()
    try await phone.expectOpens(lock, .accepted, Phone.settings)
  }

  @Test("5: the folder is restored from before a renewal. A new token. Network, no person.")
  func folderRestoredOlder() async throws {
    let (_, lock, phone) = try await Self.paired(51)
    let copy = try phone.backUp()
    try await phone.renew()
    try await phone.expectOpens(lock)
    try phone.restore(copy)
    try await phone.expectRefusal("LOCK-35.2", at: lock, mayBeDone: true)
    await phone.expectNoNetwork()
    try await phone.renew()
    try await phone.expectOpens(lock)
  }

  @Test(
    "6: the lock's flash is restored, ratchet reports. The log shows it. No network, no person.")
  func flashRestoredReport() async throws {
    let (world, lock, phone) = try await Self.paired(6, keepsLog: true) { $0.ratchet = .report }
    let flash = lock.flash
    for _ in 0..<3 { try await phone.expectOpens(lock) }
    var parts = try await log(of: lock, by: phone)
    lock.restore(flash)
    world.goOffline()
    try await phone.expectOpens(lock, .acceptedCopy)
    try await phone.expectOpens(lock)
    parts += try await log(of: lock, by: phone)
    // The backend reads what the phone carried: two entries with one number, or fewer than there were.
    #expect(try Self.outcome(of: parts, at: lock) == .altered)
  }

  @Test(
    "6: the lock's flash is restored, ratchet refuses. A new token. Network, no person to get in.")
  func flashRestoredRefuse() async throws {
    let world = try World()
    world.permit { $0.ratchet = .refuse }
    let lock = try world.lock(60, keepsLog: true)
    let phone = try Phone(world)
    try await phone.enrol(lock)
    try await phone.expectOpens(lock, .accepted, Phone.settings)
    let flash = lock.flash
    for _ in 0..<2 { try await phone.expectOpens(lock, .accepted, Phone.settings) }
    lock.restore(flash)
    try await phone.expectRefusal("LOCK-23", at: lock, Phone.settings)
    await phone.expectNoNetwork()
    try await phone.renew()
    try await phone.expectOpens(lock, .accepted, Phone.settings)
  }

  @Test("6: the flash is restored, and the link is cut. A recall. No network, no person.")
  func flashRestoredAndCut() async throws {
    let (world, lock, phone) = try await Self.paired(61)
    let flash = lock.flash
    // The lock holds an older token than the app remembers.
    try await phone.renew()
    let memory = MemoryLinkStore()
    let first = try phone.door(lock, memory: memory)
    _ = try await first.send(Phone.open, within: Phone.ample)
    await first.disconnect()
    let remembered = try #require(try memory.load())
    world.goOffline()
    var event = 1
    while true {
      lock.restore(flash)
      let copy = MemoryLinkStore()
      try copy.save(remembered)
      let at = event
      let way = Way(lock) { $0.number == at }
      let door = try phone.door(lock, over: way, memory: copy)
      let done = lock.doneCount
      #expect(try await door.send(Phone.open, within: Phone.ample).verdict == .accepted, "\(event)")
      #expect(lock.doneCount == done + 1)
      await door.disconnect()
      if way.count < event { break }
      event += 1
    }
    #expect(event > 8)
  }

  @Test("6: the flash is restored under an open command. The user looks. No network; the user.")
  func flashRestoredUnderOpenCommand() async throws {
    let (world, lock, phone) = try await Self.paired(62)
    let flash = lock.flash
    // Each start uses a block of challenges.
    for _ in 0..<3 { lock.powerOn() }
    let death = Death()
    let way = Way(lock) { $0.isOfAnswer && death.strike() }
    let memory = MortalMemory(LinkMemoryFile(in: phone.folder, for: lock.id), death)
    let door = try phone.door(lock, over: way, memory: memory)
    _ = await death.result { try await door.send(Phone.open, within: Phone.ample) }
    await door.disconnect()
    lock.restore(flash)
    world.goOffline()
    try phone.restart()
    try await phone.expectRefusal("LOCK-48", mendedBy: .operator, at: lock, mayBeDone: true)
    let again = try phone.door(lock)
    #expect(try await again.hasOpenCommand())
    try await again.forgetOpenCommand()
    try await phone.expectOpens(lock)
  }

  /// The log, carried after a command. It costs a command.
  private func log(of lock: VirtualLock, by phone: Phone) async throws -> [HardwareLogPart] {
    let door = try phone.door(lock)
    _ = try await door.send(Phone.open, within: Phone.ample)
    let parts = try await door.collectLog(within: Phone.ample)
    await door.disconnect()
    return parts
  }

  private static func outcome(
    of parts: [HardwareLogPart], at lock: VirtualLock
  ) throws -> HardwareLogOutcome {
    let drawn = try #require(lock.drawn)
    var reader = HardwareLogReader(
      of: try HardwareLogKey(of: lock.id, drawn: SecretBytes(copying: drawn.span)))
    for part in parts { _ = try reader.read(HardwareLogPart(part.bytes)) }
    return reader.end().1
  }

  @Test("7: an update is half written. It fits no pair until it is whole. No network, no person.")
  func halfWrittenUpdate() async throws {
    let world = try World()
    let lock = try world.lock(7)
    let phone = try Phone(world)
    try world.registerApp(Look(app: 2), updating: Look())
    try await phone.enrol(lock)
    try await phone.expectOpens(lock)
    world.goOffline()
    phone.eyes.set { $0.app = 99 }
    try await phone.expectRefusal("LOCK-16.4", at: lock)
    try phone.restart()
    // Written back, and then written whole: no pair was deleted early.
    phone.eyes.set { $0.app = 1 }
    try await phone.expectOpens(lock)
    phone.eyes.set { $0.app = 2 }
    try await phone.expectOpens(lock)
    try phone.restart()
    try await phone.expectOpens(lock)
  }
}

/// An app that dies: its task is cancelled, and its link ends with it.
final class Death: Sendable {
  private let task = CoreLock<Task<Receipt, any Error>?>(nil)
  private let struck = CoreLock(false)

  var hasStruck: Bool { struck.withLock { $0 } }

  /// True: the link ends, too.
  func strike() -> Bool {
    struck.withLock { $0 = true }
    task.withLock { $0?.cancel() }
    return true
  }

  func result(
    _ send: sending @escaping @isolated(any) () async throws -> Receipt
  ) async -> Result<Receipt, any Error> {
    // It begins when its death holds it.
    let (gate, opener) = AsyncStream<Never>.makeStream()
    let held = Task { () async throws -> Receipt in
      for await _ in gate {}
      return try await send()
    }
    task.withLock { $0 = held }
    opener.finish()
    let result = await held.result
    task.withLock { $0 = nil }
    return result
  }
}

/// A connection's memory that a dead app writes no more.
struct MortalMemory: LinkMemoryStore {
  private let memory: any LinkMemoryStore
  private let death: Death

  init(_ memory: any LinkMemoryStore, _ death: Death) {
    self.memory = memory
    self.death = death
  }

  func load() throws -> [UInt8]? { try memory.load() }
  func save(_ bytes: [UInt8]) throws { if !death.hasStruck { try memory.save(bytes) } }
}
