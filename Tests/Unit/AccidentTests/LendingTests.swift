// SPDX-License-Identifier: Apache-2.0

import ProofKit
import ProofKitTesting
import ProofLink
import ProofModel
import Testing

// Accidents 2, 3 and 15 with a channel, and with a loan.
extension AccidentTests {
  // MARK: A channel

  /// A world whose tokens permit channels, a lock that opens them, and a phone that was there once.
  private func channel(_ seed: UInt64) async throws -> (lock: VirtualLock, phone: Phone) {
    let world = try World()
    world.permit {
      $0.ratchet = .report
      $0.permitsChannel = true
    }
    let lock = try world.lock(seed, keepsLog: true, keepsChannels: true)
    let phone = try Phone(world)
    try await phone.enrol(lock)
    world.goOffline()
    try await phone.expectOpens(lock)
    return (lock, phone)
  }

  @Test(
    "15: the link is cut at any packet of a channel. A recall. No network, no person.",
    arguments: [23, 185])
  func linkCutInChannel(mtu: Int) async throws {
    let (lock, phone) = try await channel(151)
    var event = 1
    while true {
      let (done, at) = (lock.doneCount, event)
      let way = Way(lock) { $0.number == at }
      let door = try phone.door(lock, over: way, mtu: mtu, seals: true)
      for number in 1...3 {
        let receipt = try await door.send(Phone.open, within: Phone.ample)
        #expect(receipt.verdict == .accepted && lock.doneCount == done + number, "event \(event)")
      }
      // Two further commands are in the channel. One that was cut, and each after it on a new link,
      // may be proved.
      let inChannel = way.begun.filter { $0 == 9 }.count
      if way.count < event { #expect(inChannel == 2) }
      #expect(try await door.hasSeenCopy() == false)
      #expect(try await door.hasOpenCommand() == false)
      await door.disconnect()
      if way.count < event { break }
      event += 1
    }
    #expect(event > 12)
  }

  @Test(
    "2: power is cut in the lock while a channel stands. A recall. No network, no person.",
    arguments: VirtualLock.Tear.allCases)
  func powerCutInChannel(_ tear: VirtualLock.Tear) async throws {
    let (lock, phone) = try await channel(21)
    var operation = 1
    while true {
      let way = Way(lock)
      let door = try phone.door(lock, over: way, seals: true)
      #expect(try await door.send(Phone.open, within: Phone.ample).verdict == .accepted)
      let (done, count, begun) = (lock.doneCount, lock.flashOperations, way.begun.count)
      lock.cutPower(at: operation, tear)
      let receipt = try await door.send(Phone.open, within: Phone.ample)
      lock.cutPower(at: 0)
      #expect(receipt.verdict == .accepted, "operation \(operation)")
      #expect(way.begun.dropFirst(begun).first == 9, "operation \(operation)")
      // A cut between record and deed loses the deed. None is done twice.
      #expect(lock.doneCount - done <= 1, "operation \(operation)")
      #expect(try await door.hasSeenCopy() == false)
      await door.disconnect()
      if lock.flashOperations - count < operation { break }
      operation += 1
    }
    #expect(operation > 2)
    try await phone.expectOpens(lock)
  }

  @Test("1: power is cut in the app in a channel. Its stored command is recalled. No network.")
  func powerCutInAppInChannel() async throws {
    let (lock, phone) = try await channel(22)
    var (event, hasDied) = (1, true)
    while hasDied {
      let death = Death()
      let at = event
      let way = Way(lock)
      let memory = MortalMemory(LinkMemoryFile(in: phone.folder, for: lock.id), death)
      let door = try phone.door(lock, over: way, memory: memory, seals: true)
      #expect(try await door.send(Phone.open, within: Phone.ample).verdict == .accepted)
      let done = lock.doneCount
      way.cut { $0.number >= at && death.strike() }
      let result = await death.result { try await door.send(Phone.open, within: Phone.ample) }
      hasDied = death.hasStruck
      await door.disconnect()
      try phone.restart()
      let again = try phone.door(lock)
      let outcome = try await again.settle(within: Phone.ample)
      await again.disconnect()
      var isDone = outcome?.isAccepted == true
      if case .success = result { isDone = true }
      #expect(outcome != .unknown && lock.doneCount == done + (isDone ? 1 : 0), "event \(event)")
      event += 1
    }
    // The command and its answer were both struck.
    #expect(event > 3)
    try await phone.expectOpens(lock)
  }

  // MARK: A loan

  private static let lent = CommandClasses(1)
  private static let uses: UInt16 = 4

  /// An owner and a member at one lock. Both have been there once, and the network is gone.
  private func lending(
    _ seed: UInt64
  ) async throws -> (lock: VirtualLock, member: Phone, loan: Delegation, owner: Phone) {
    let world = try World()
    let lock = try world.lock(seed, keepsLog: true, lends: true)
    world.permit { $0.integrityClasses = CommandClasses(0) }
    world.permit { $0.deviceClasses = [] }
    let member = try Phone(world, Look(secret: "member"))
    try await member.enrol(lock)
    world.permit {
      $0.integrityClasses = .all
      $0.delegableClasses = Self.lent
    }
    let owner = try Phone(world, Look(secret: "owner"))
    try await owner.enrol(lock)
    try await owner.expectOpens(lock)
    try await member.expectRefusal("LOCK-19.1", mendedBy: .operator, at: lock)
    world.goOffline()
    let name = try await member.door(lock).memberName()
    let loan = try await owner.door(lock).lend(
      Self.lent, to: name, uses: Self.uses, until: world.time + World.day, at: world.time)
    return (lock, member, loan, owner)
  }

  /// The member brings the loan, and the lock tells how many uses are left.
  private func usesLeft(
    _ member: Phone, _ lock: VirtualLock, _ loan: Delegation, over way: Way? = nil
  ) async throws -> UInt16? {
    let door = try member.door(lock, over: way, memory: MemoryLinkStore())
    let receipt = try await door.deliver(loan, within: Phone.ample)
    await door.disconnect()
    return receipt?.usesLeft
  }

  @Test(
    "2: power is cut in the lock while a loan is taken and used. No network, no person.",
    arguments: VirtualLock.Tear.allCases)
  func powerCutInLoan(_ tear: VirtualLock.Tear) async throws {
    let (lock, member, loan, owner) = try await lending(23)
    let flash = lock.flash
    let instance = try owner.attestor.pairs.hardware(lock.id).instance
    let owned = lock.uses(of: instance)
    var (operation, overcharged) = (1, 0)
    while true {
      lock.restore(flash)
      let (count, done) = (lock.flashOperations, lock.doneCount)
      lock.cutPower(at: operation, tear)
      #expect(try await usesLeft(member, lock, loan) == Self.uses, "operation \(operation)")
      let door = try member.door(lock, memory: MemoryLinkStore())
      let receipt = try await door.send(Phone.open, within: Phone.ample)
      await door.disconnect()
      lock.cutPower(at: 0)
      #expect(receipt.verdict == .accepted && lock.doneCount - done <= 1, "operation \(operation)")
      // A cut between the charges costs uses, and opens nothing.
      let left = try #require(try await usesLeft(member, lock, loan))
      #expect((Self.uses - 2...Self.uses - 1).contains(left), "operation \(operation)")
      #expect((owned - 2...owned - 1).contains(lock.uses(of: instance)), "operation \(operation)")
      #expect(owned - lock.uses(of: instance) >= Int(Self.uses - left), "operation \(operation)")
      if left == Self.uses - 2 { overcharged += 1 }
      if lock.flashOperations - count < operation { break }
      operation += 1
    }
    #expect(operation > 5 && overcharged > 0)
  }

  @Test("3: an answer to a member is lost. The loan is brought again, and the command recalled.")
  func answerLostWithLoan() async throws {
    let (lock, member, loan, owner) = try await lending(30)
    let instance = try owner.attestor.pairs.hardware(lock.id).instance
    let owned = lock.uses(of: instance)
    /// A way on which so many answers are lost.
    func way(losing losses: Int) -> Way {
      let lost = CoreLock(0)
      return Way(lock) { event in
        event.isOfAnswer
          && lost.withLock { count in
            count += 1
            return count <= losses
          }
      }
    }
    for losses in 1...3 {
      let left = try await usesLeft(member, lock, loan, over: way(losing: losses))
      #expect(left == Self.uses + 1 - UInt16(losses))
      let done = lock.doneCount
      let door = try member.door(lock, over: way(losing: losses))
      #expect(try await door.send(Phone.open, within: Phone.ample).verdict == .accepted)
      await door.disconnect()
      // Each is charged once.
      #expect(lock.doneCount == done + 1 && lock.uses(of: instance) == owned - losses)
    }
  }
}
