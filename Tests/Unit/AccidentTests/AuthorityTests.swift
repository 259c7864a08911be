// SPDX-License-Identifier: Apache-2.0

import ProofKit
import ProofKitTesting
import ProofLink
import ProofModel
import Testing

@testable import ProofService

// Accidents 15 to 20: the link, and what the operator changes.
extension AccidentTests {
  @Test(
    "15: the link is cut at any packet. The command is recalled. No network, no person.",
    arguments: [(23, false), (185, true)])
  func linkCut(_ contact: (mtu: Int, seals: Bool)) async throws {
    let world = try World()
    world.permit { $0.ratchet = .report }
    let lock = try world.lock(15, seals: true)
    let phone = try Phone(world)
    try await phone.enrol(lock)
    world.goOffline()
    let blank = lock.flash
    for isKnown in [false, true] {
      // Each round is a first contact of its own, or one more command of the same app.
      let memory = isKnown ? MemoryLinkStore() : nil
      lock.restore(blank)
      if isKnown { try await send(phone, lock, memory, contact, cutAt: nil) }
      var event = 1
      while true {
        if !isKnown { lock.restore(blank) }
        let count = try await send(
          phone, lock, memory ?? MemoryLinkStore(), contact, cutAt: event)
        if count < event { break }
        event += 1
      }
      #expect(event > 6)
    }
  }

  @Test(
    "15: renewed, updated, then cut at the first visit. A recall, or a new token. Network at times."
  )
  func linkCutAfterRenewalAndUpdate() async throws {
    let world = try World()
    try world.registerApp(Look(app: 2), updating: Look())
    let lock = try world.lock(150)
    let phone = try Phone(world)
    try await phone.enrol(lock)
    try await phone.expectOpens(lock)
    try await phone.renew()
    phone.eyes.set { $0.app = 2 }
    let (flash, memory) = (lock.flash, LinkMemoryFile(in: phone.folder, for: lock.id))
    let remembered = try #require(try memory.load())
    var (event, counts) = (1, [0, 0])
    while true {
      let folder = try phone.backUp()
      lock.restore(flash)
      let copy = MemoryLinkStore()
      try copy.save(remembered)
      let at = event
      let way = Way(lock) { $0.number == at }
      let door = try phone.door(lock, over: way, memory: copy)
      let done = lock.doneCount
      do throws(LinkError) {
        let receipt = try await door.send(Phone.open, within: Phone.ample)
        #expect(receipt.verdict == .accepted && lock.doneCount == done + 1, "event \(event)")
        counts[0] += 1
      } catch {
        // The lock still holds the pair of before the renewal, which the app has no more.
        #expect(error.code == "LOCK-17" && error.whoCanMend == .online, "event \(event): \(error)")
        #expect(lock.doneCount == done)
        counts[1] += 1
        await phone.expectNoNetwork()
        try await phone.renew()
        let settled = try await phone.door(lock, memory: copy).settle(within: Phone.ample)
        #expect(settled == .notExecuted)
        let after = try phone.door(lock, memory: copy)
        #expect(try await after.send(Phone.open, within: Phone.ample).verdict == .accepted)
        await after.disconnect()
      }
      await door.disconnect()
      try phone.restore(folder)
      if way.count < event { break }
      event += 1
    }
    #expect(counts[0] > counts[1])
  }

  /// One command over a way that is cut once. Returns the number of events.
  @discardableResult
  private func send(
    _ phone: Phone, _ lock: VirtualLock, _ memory: (any LinkMemoryStore)?,
    _ contact: (mtu: Int, seals: Bool), cutAt event: Int?
  ) async throws -> Int {
    let done = lock.doneCount
    let way = Way(lock) { $0.number == event }
    let door = try phone.door(
      lock, over: way, memory: memory, mtu: contact.mtu, seals: contact.seals)
    let receipt = try await door.send(Phone.open, within: Phone.ample)
    #expect(receipt.verdict == .accepted && lock.doneCount == done + 1, "event \(event ?? 0)")
    #expect(try await door.hasSeenCopy() == false)
    await door.disconnect()
    return way.count
  }

  /// The lock has another key under its old id: its operator registers it under another one.
  ///
  /// An id names one key for good. Orders name the id, so a lock with another key must not obey those of before.
  private func expectNewID(_ phone: Phone, _ broken: VirtualLock, _ other: VirtualLock) async throws
  {
    let world = phone.world
    try await phone.expectRefusal("LOCK-32", at: other, mayBeDone: true)
    await phone.expectNoNetwork()
    // Online by itself is not enough: the backend seals to the key that is registered.
    try await phone.renew()
    try await phone.expectRefusal("LOCK-32", at: other, mayBeDone: true)
    let refusal = #expect(throws: ServiceError.self) { try world.register(other) }
    guard case .alreadyThere? = refusal else {
      Issue.record("\(String(describing: refusal))")
      return
    }
    try world.management.revokeHardware(broken.id)
    let new = try world.lock(1000 + UInt64(broken.id.bytes[0]))
    try await phone.enrol(new)
    try await phone.expectOpens(new)
    // The pair of the revoked lock is gone.
    #expect(try phone.attestor.pairs.all().map(\.id) == [new.id])
  }

  @Test("16: a lock is replaced under its id. Another id. Network; the operator registers it.")
  func replaced() async throws {
    let (world, lock, phone) = try await Self.paired(16)
    let other = try VirtualLock(seed: 160, id: lock.id, issuers: [world.issuerKey])
    try await expectNewID(phone, lock, other)
  }

  @Test("17: the epoch passes a token's end. A new token. Network, no person.")
  func epochAhead() async throws {
    let world = try World()
    let lock = try world.lock(17)
    let (phone, other) = (try Phone(world), try Phone(world, Look(secret: "technician")))
    try await phone.enrol(lock)
    try await phone.expectOpens(lock)
    world.pass(days: 40)
    try await other.enrol(lock)
    let door = try other.door(lock)
    try await door.deliver(world.issuer().orderEpoch(for: lock.id))
    await door.disconnect()
    try await phone.expectRefusal("LOCK-34", at: lock)
    await phone.expectNoNetwork()
    try await phone.renew()
    try await phone.expectOpens(lock)
  }

  @Test("17: the epoch was poisoned. The lock is provisioned anew. Network; the operator cures it.")
  func epochPoisoned() async throws {
    let (world, lock, phone) = try await Self.paired(170)
    world.setBackendError(300 * World.day)
    let poison = try world.issuer(trustsClock: true).orderEpoch(for: lock.id)
    world.setBackendError(0)
    var door = try phone.door(lock)
    try await door.deliver(poison)
    await door.disconnect()
    try await phone.expectRefusal("LOCK-34", at: lock)
    await phone.expectNoNetwork()
    // Online by itself is not enough: each token that the backend issues has ended there.
    try await phone.renew()
    try await phone.expectRefusal("LOCK-34.271", at: lock)
    let issuer = world.prepareIssuer()
    world.rotateIssuer()
    try lock.provision(issuers: [issuer], epoch: world.time)
    try await phone.renew()
    try await phone.expectOpens(lock)
    door = try phone.door(lock)
    let replay = await #expect(throws: LinkError.self) { try await door.deliver(poison) }
    #expect(replay?.code == "LOCK-33")
    await door.disconnect()
    try await phone.expectOpens(lock)
  }

  @Test("18: a floor is raised above the token. A new token. Network; the user looks once.")
  func floorRaised() async throws {
    let (world, lock, phone) = try await Self.paired(18)
    world.pass(days: 1)
    let door = try phone.door(lock)
    try await door.deliver(world.issuer().orderFloor(for: lock.id))
    await door.disconnect()
    try await phone.expectRefusal("LOCK-35.1", at: lock, mayBeDone: true)
    await phone.expectNoNetwork()
    try await phone.renew()
    try await phone.expectLook(at: lock)
    try await phone.expectOpens(lock)
  }

  @Test(
    "19: the issuer is rotated with an overlap. The present token stays. No network, no person.")
  func issuerRotated() async throws {
    let world = try World()
    let next = world.prepareIssuer()
    let lock = try VirtualLock(
      seed: 19, issuers: [world.issuerKey, next], epoch: world.time)
    try world.register(lock)
    let phone = try Phone(world)
    try await phone.enrol(lock)
    try await phone.expectOpens(lock)
    world.rotateIssuer()
    try await phone.expectOpens(lock)
    try await phone.renew()
    try await phone.expectOpens(lock)
  }

  @Test(
    "19: the issuer is rotated without overlap. Trust in the new key. Network; the operator provisions."
  )
  func issuerRotatedAtOnce() async throws {
    let (world, lock, phone) = try await Self.paired(190)
    let (before, next) = (world.issuerKey, world.prepareIssuer())
    world.rotateIssuer()
    try await phone.expectOpens(lock)
    try await phone.renew()
    try await phone.expectRefusal("LOCK-33", mendedBy: .operator, at: lock)
    await phone.expectNoNetwork()
    try lock.provision(
      issuers: [before, next], epoch: world.time, floor: world.time)
    try await phone.expectOpens(lock)
  }

  @Test("20: a lock's own key is rotated. Another id. Network; the operator registers it.")
  func keyRotated() async throws {
    let (world, lock, phone) = try await Self.paired(20)
    try lock.provision(newKey: 200, epoch: world.time, floor: world.time)
    try await expectNewID(phone, lock, lock)
  }
}
