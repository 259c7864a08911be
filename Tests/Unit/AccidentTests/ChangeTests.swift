// SPDX-License-Identifier: Apache-2.0

import Foundation
import ProofKit
import ProofLink
import ProofModel
import Testing

@testable import ProofService

// Accidents 8 to 14: what changes around the app, and tables that are full.
extension AccidentTests {
  /// Facts of the device differ: the lock refuses, and the service waits for the clone window.
  ///
  /// The service cannot tell a changed machine from a copy of the storage on another one. It gives no token until the
  /// machine of before was silent for a day.
  private func expectHealedOnline(
    _ phone: Phone, _ lock: VirtualLock, _ change: (inout Look) -> Void
  ) async throws {
    let world = phone.world
    try await phone.enrol(lock)
    try await phone.expectOpens(lock)
    phone.eyes.set(change)
    try await phone.expectRefusal("LOCK-17", at: lock, mayBeDone: true)
    await phone.expectNoNetwork()
    let refusal = await #expect(throws: EnrolmentError.self) { try await phone.renew() }
    #expect(refusal == .backend(status: 401, word: "signature"), "\(String(describing: refusal))")
    world.pass(days: 2)
    try await phone.renew()
    try await phone.expectOpens(lock)
  }

  @Test(
    "8: another user, who cannot read the serials. A new token, after a day. Network, no person.")
  func otherUser() async throws {
    let world = try World()
    let lock = try world.lock(8)
    let phone = try Phone(world)
    try await expectHealedOnline(phone, lock) { $0.device[3] = .some(nil) }
  }

  @Test("8: another user with a folder of its own. It enrols. Network, no person.")
  func otherFolder() async throws {
    let world = try World()
    let lock = try world.lock(80)
    let first = try Phone(world)
    try await first.enrol(lock)
    try await first.expectOpens(lock)
    let second = try Phone(world, Look(secret: "second user"))
    let error = #expect(throws: MeasurementStoreError.self) { try second.door(lock) }
    #expect(error == .notPaired(lock.id) && error?.whoCanMend == .online)
    world.goOffline()
    let offline = await #expect(throws: EnrolmentError.self) { try await second.enrol(lock) }
    #expect(offline?.whoCanMend == .user)
    world.goOnline()
    try await second.enrol(lock)
    try await second.expectOpens(lock)
    try await first.expectOpens(lock)
  }

  @Test(
    "9: the app is moved. Its files are measured by their paths within it. No network, no person.")
  func moved() async throws {
    let world = try World()
    let lock = try world.lock(9)
    let place = "/var/tmp/proofkit-moved-\(UInt64.random(in: 1 ... .max))"
    defer { try? FileManager.default.removeItem(atPath: place) }
    try FileManager.default.createDirectory(
      atPath: "\(place)/old/share", withIntermediateDirectories: true)
    for (name, text) in [("share/words", "open"), ("share/icon", "door"), ("program", "code")] {
      try Data(text.utf8).write(to: URL(filePath: "\(place)/old/\(name)"))
    }
    let phone = try Phone(world, files: Probe(.init(bundle: "\(place)/old", hardens: false)))
    let source = try Source(SourceID(.app, 3), version: 1, groupsLog2: 0)
    let other = try Source(SourceID(.app, 2), version: 1, groupsLog2: 0)
    let files = try phone.eyes.observe(
      [source, other], policy: .full, limitLog2: 33, cancellation: Cancellation()
    ).evidence
    #expect(files.records.count > 1)
    try world.management.register(AppDigest(of: files), name: "door in files")
    try await phone.enrol(lock)
    try await phone.expectOpens(lock)
    world.goOffline()
    try phone.restart {
      try FileManager.default.moveItem(atPath: "\(place)/old", toPath: "\(place)/new")
    }
    phone.eyes.set(files: try Probe(.init(bundle: "\(place)/new", hardens: false)))
    try await phone.expectOpens(lock)
    // A changed file in the new place is another app.
    try Data("opem".utf8).write(to: URL(filePath: "\(place)/new/share/words"))
    try await phone.expectRefusal("LOCK-16.4", at: lock)
  }

  @Test("10: the disk has another number. A new token, after a day. Network, no person.")
  func diskRenumbered() async throws {
    let world = try World()
    let lock = try world.lock(10)
    let phone = try Phone(world)
    try await expectHealedOnline(phone, lock) { $0.device[4] = "sdb1" }
  }

  @Test("10: the disk has another number before the first visit. As above. Network, no person.")
  func diskRenumberedEarly() async throws {
    let world = try World()
    let lock = try world.lock(100)
    let phone = try Phone(world)
    try await phone.enrol(lock)
    phone.eyes.set { $0.device[4] = "sdb1" }
    // The lock takes the token, and the app cannot read its receipt.
    try await phone.expectRefusal("LOCK-17", at: lock)
    await phone.expectNoNetwork()
    world.pass(days: 2)
    try await phone.renew()
    try await phone.expectOpens(lock)
  }

  @Test("11: a library is updated, as registered. The pair for it fits. No network, no person.")
  func libraryUpdated() async throws {
    let world = try World()
    let lock = try world.lock(11)
    let phone = try Phone(world)
    try world.registerSystem(Look(system: 2))
    try world.registerApp(Look(app: 2), updating: Look())
    try await phone.enrol(lock)
    try await phone.expectOpens(lock)
    world.goOffline()
    phone.eyes.set { $0.system = 2 }
    try await phone.expectOpens(lock)
    // The app's update after it, of the same fetch.
    phone.eyes.set { $0.app = 2 }
    try await phone.expectOpens(lock)
  }

  @Test("11: a library is updated, and not registered. A new token. Network, no person.")
  func libraryUpdatedUnregistered() async throws {
    let (_, lock, phone) = try await Self.paired(110)
    phone.eyes.set { $0.system = 3 }
    try await phone.expectRefusal("LOCK-16.4", at: lock)
    await phone.expectNoNetwork()
    try await phone.renew()
    try await phone.expectOpens(lock)
  }

  @Test(
    "12: the token store is full. The new lock's token is refused. Network; the user drops a lock.")
  func storeFull() async throws {
    let world = try World()
    let locks = try [world.lock(12), world.lock(120)]
    let phone = try Phone(world)
    try await phone.enrol(locks[0])
    // 255 more locks, of which the phone holds tokens.
    let key = try locks[0].identity.publicKey
    let others = try (0..<255).map { number in
      try HardwareID(Array(Digest(hashing: Array("lock \(number)".utf8)).bytes.prefix(16)))
    }
    for id in others {
      try world.management.addHardware(
        HardwareIdentity(id: id, publicKey: key), mode: .development, features: locks[0].features,
        name: "other door")
    }
    try phone.restart {
      let store = try MeasurementStore(folder: phone.folder + "/measurement")
      let present = try #require(try store.load())
      let tokens = try others.map { id in
        let head = Array("PT".utf8) + [1, 1] + id.bytes.prefix(4)
        let body = [UInt8](repeating: 0, count: MeasurementToken.byteCount - head.count)
        return try StoredToken(MeasurementToken(head + body), for: id)
      }
      try store.erase()
      try store.save(
        StoredMeasurement(
          present.config, of: present.instance, tokens: present.tokens + tokens))
    }
    let full = try phone.attestor.pairs.all()
    #expect(full.count == 256)
    let error = await #expect(throws: EnrolmentError.self) { try await phone.enrol(locks[1]) }
    #expect(error == .store(.tooManyTokens(count: 257, allowed: 256)))
    #expect(error?.code == "ENROL-6" && error?.whoCanMend == .developer)
    // All of before opens as before; and a lock that is dropped makes room.
    #expect(try phone.attestor.pairs.all() == full)
    try await phone.expectOpens(locks[0])
    try phone.attestor.pairs.remove(others[0])
    try await phone.enrol(locks[1])
    for lock in locks { try await phone.expectOpens(lock) }
  }

  @Test("13: the slot table is full. A floor frees it. Network; the operator orders the floor.")
  func slotsFull() async throws {
    let world = try World()
    let lock = try world.lock(13)
    var phones: [Phone] = []
    for number in 0..<8 {
      phones.append(try Phone(world, Look(secret: "user \(number)")))
      try await phones[number].enrol(lock)
      try await phones[number].expectOpens(lock)
    }
    let ninth = try Phone(world, Look(secret: "user 8"))
    try await ninth.enrol(lock)
    try await ninth.expectRefusal("LOCK-38.8", mendedBy: .operator, at: lock)
    await ninth.expectNoNetwork()
    // Online by itself is not enough.
    world.pass(days: 1)
    try await ninth.renew()
    try await ninth.expectRefusal("LOCK-38.8", mendedBy: .operator, at: lock)
    // The phones of before are not disturbed.
    try await phones[0].expectOpens(lock)
    let order = try world.issuer().orderFloor(for: lock.id)
    let door = try ninth.door(lock)
    try await door.deliver(order)
    await door.disconnect()
    try await ninth.expectOpens(lock)
    // Those who still come go online once. The one that comes last finds no slot.
    for phone in phones.prefix(7) {
      try await phone.expectRefusal("LOCK-35.1", at: lock, mayBeDone: true)
      try await phone.renew()
      try await phone.expectLook(at: lock)
      try await phone.expectOpens(lock)
    }
    try await phones[7].renew()
    try await phones[7].expectRefusal("LOCK-38.8", mendedBy: .operator, at: lock)
  }

  @Test("14: two phones are one instance. The ratchet tells both. No network, no person to get in.")
  func twoPhones() async throws {
    let world = try World()
    world.permit { $0.ratchet = .report }
    let lock = try world.lock(14)
    let owner = try Phone(world)
    try await owner.enrol(lock)
    try await owner.expectOpens(lock)
    let copy = try Phone(world, folder: owner.copyFolder())
    world.goOffline()
    try await copy.expectOpens(lock)
    try await owner.expectOpens(lock, .acceptedCopy)
    try await owner.expectOpens(lock)
    try await copy.expectOpens(lock, .acceptedCopy)
    for phone in [owner, copy] {
      #expect(try await phone.door(lock).hasSeenCopy())
    }
    // A new token of one of them ends that of the other, until it was online.
    world.goOnline()
    try await owner.renew()
    try await owner.expectOpens(lock)
    try await copy.expectRefusal("LOCK-35.2", at: lock, mayBeDone: true)
    await copy.expectNoNetwork()
    try await copy.renew()
    try await copy.expectOpens(lock)
  }

  @Test(
    "14: one phone dies with a token taken, and is updated. It is told of a copy. No network, no person."
  )
  func onePhoneLikeTwo() async throws {
    let world = try World()
    world.permit { $0.ratchet = .report }
    try world.registerApp(Look(app: 2), updating: Look())
    let lock = try world.lock(140)
    let phone = try Phone(world)
    try await phone.enrol(lock)
    try await phone.expectOpens(lock)
    try await phone.renew()
    // The lock takes the token, and the app dies before its first command.
    let death = Death()
    let way = Way(lock) { $0.isOfAnswer && death.strike() }
    let memory = MortalMemory(LinkMemoryFile(in: phone.folder, for: lock.id), death)
    let door = try phone.door(lock, over: way, memory: memory)
    _ = await death.result { try await door.send(Phone.open, within: Phone.ample) }
    await door.disconnect()
    world.goOffline()
    try phone.restart()
    phone.eyes.set { $0.app = 2 }
    // A known limit: the app steps the ratchet of the token before, and the lock began a new one.
    let again = try phone.door(lock)
    let verdict = try await again.send(Phone.open, within: Phone.ample).verdict
    #expect(verdict == .acceptedCopy || verdict == .accepted)
    await again.disconnect()
    try await phone.expectOpens(lock)
  }
}
