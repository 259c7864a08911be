// SPDX-License-Identifier: Apache-2.0

import Foundation
import ProofBytes
import ProofKit
import ProofKitTesting
import ProofLink
import ProofModel

@testable import ProofService

/// Three phones and two locks. Phone 1 is a copy of phone 0. Lock 0 reports copies, lock 1 refuses them.
///
/// Sessions come one after the other. Before each, one thing may happen to a phone, a lock or the backend; in it, the
/// link or the power may be cut, or the app may die.
final class Soak {
  struct Tally: CustomStringConvertible {
    var sessions = 0
    /// How often each answer was given, and each accident happened.
    var counts: [String: Int] = [:]
    var unexplained: [String] = []
    var flashOperations = 0
    var erases = 0

    mutating func count(_ what: String) { counts[what, default: 0] += 1 }

    var description: String {
      let lines = counts.sorted { $0.key < $1.key }.map { "\($0.key) \($0.value)" }
      let (whole, part) = (
        flashOperations / max(1, sessions), flashOperations * 100 / max(1, sessions) % 100
      )
      return "\(sessions) sessions, \(unexplained.count) unexplained, "
        + "\(whole).\(part < 10 ? "0" : "")\(part) flash operations a session, \(erases) erases; "
        + lines.joined(separator: ", ")
    }
  }

  struct Side {
    let phone: Phone
    let user: Int
    var disk = 0
    var memories: [MemoryLinkStore]
    var stores: [SoakModel.Store]
    /// Whether a command that the lock refused is open.
    var isOpen = [false, false]
    /// Whether the lock forgot, or another copy has moved it since.
    var isForgotten = [false, false]
    /// Whether the lock's flash was put back since: it does not know so late a challenge.
    var isBehind = [false, false]
    /// Whether the lock's flash was put back to a time before it knew the app.
    var isUnknown = [false, false]
  }

  /// A phone's folder and memories, and what the model knew of them.
  struct Backup {
    let folder: String
    let memories: [[UInt8]?]
    let stores: [SoakModel.Store]
  }

  /// A lock's flash, and what the model knew of it.
  struct Image {
    let flash: [UInt8]
    let model: SoakModel.Lock
  }

  let world: World
  let locks: [VirtualLock]
  var sides: [Side] = []
  var model: SoakModel
  var dice: SplitMix64
  var tally = Tally()
  var history: [String] = []
  var backups: [Int: Backup] = [:]
  var images: [Int: Image] = [:]
  let desks: [LogDesk]
  var latestBuild = 1
  var latestSystem = 1
  var strangeSystem = 1000
  var flashBefore: [Int] = []

  init(seed: UInt64) async throws {
    dice = SplitMix64(seed: seed)
    world = try World()
    locks = try [
      world.lock(seed &* 2 &+ 1, keepsLog: true, seals: true),
      world.lock(seed &* 2 &+ 2, keepsLog: true, seals: true),
    ]
    world.permit { permissions in
      permissions.uses = .limited(UInt32(SoakModel.uses))
      permissions.attempts = UInt16(SoakModel.attempts)
      permissions.lifetime = UInt64(SoakModel.lifetime)
    }
    world.permit(.report, at: locks[0].id)
    world.permit(.refuse, at: locks[1].id)
    let epoch = world.time
    model = SoakModel(locks: [
      .init(refuses: false, epoch: epoch), .init(refuses: true, epoch: epoch),
    ])
    desks = try locks.map { try LogDesk($0) }
    try registerBuild()
    try registerSystem()
    for user in 0..<2 {
      let phone = try Phone(world, Look(secret: "user \(user)"))
      for lock in locks { try await phone.enrol(lock) }
      sides.append(
        Side(phone: phone, user: user, memories: [.init(), .init()], stores: [.init(), .init()]))
      try noteFetch(sides.count - 1)
    }
    let copy = try Phone(world, Look(secret: "user 0"), folder: sides[0].phone.copyFolder())
    sides.insert(
      Side(phone: copy, user: 0, memories: [.init(), .init()], stores: sides[0].stores), at: 1)
    flashBefore = locks.map(\.flashOperations)
  }

  func finish() -> Tally {
    tally.flashOperations = zip(locks, flashBefore).map { $0.flashOperations - $1 }.reduce(0, +)
    tally.erases = locks.map(\.flashErases).reduce(0, +)
    for desk in desks { explain(desk.end() != .altered, "the log of a lock is altered") }
    return tally
  }

  func below(_ sides: Int) -> Int { Int(dice.next() % UInt64(sides)) }

  /// In thousandths.
  func happens(_ chance: Int) -> Bool { below(1000) < chance }

  func explain(_ isExplained: Bool, _ what: @autoclosure () -> String) {
    guard !isExplained else { return }
    tally.unexplained.append("session \(tally.sessions): \(what()); \(history.suffix(12))")
  }

  // MARK: A session

  func door(
    _ which: Int, _ lock: Int, over way: Way? = nil, memory: (any LinkMemoryStore)? = nil,
    seals: Bool = false
  ) throws -> HardwareConnection {
    let side = sides[which]
    return try side.phone.door(
      locks[lock], over: way, memory: memory ?? side.memories[lock],
      mtu: below(4) == 0 ? 23 : 185, seals: seals)
  }

  func session() async throws {
    tally.sessions += 1
    let (which, lock) = (below(sides.count), below(locks.count))
    try await accident(which, lock)
    if sides[which].isOpen[lock] {
      guard try await settle(which, lock) else { return }
    }
    // A device match permits class 1, and not class 2.
    let isDeviceClass = below(6) > 0
    let command = isDeviceClass ? Phone.open : Phone.settings
    var expected = answers(which, lock, isDeviceClass: isDeviceClass)
    // The lock takes the token again, and cannot tell what became of the command that came before it.
    if sides[which].isUnknown[lock] { expected.insert("LINK-16") }
    let mayFail = !expected.isDisjoint(with: ["accepted", "acceptedCopy"])
    let fault = mayFail ? below(100) : 99
    if fault < 5 { return try await die(which, lock, command, expected) }
    let way = Way(locks[lock])
    if fault < 20 {
      let event = 1 + below(30)
      way.cut { $0.number == event }
      tally.count("link cut")
    } else if fault < 28 {
      locks[lock].cutPower(at: 1 + below(8), VirtualLock.Tear.allCases[below(3)])
      tally.count("power cut")
    }
    let door = try door(which, lock, over: way, seals: below(3) == 0)
    let done = locks[lock].doneCount
    let answer = await self.answer { try await door.send(command, within: Phone.ample) }
    locks[lock].cutPower(at: 0)
    explain(
      expected.contains(answer.word),
      "phone \(which), lock \(lock): \(answer.error.map { "\($0)" } ?? answer.word), expected \(expected)"
    )
    tally.count(answer.word)
    history.append("\(tally.sessions):\(which)/\(lock) \(answer.word) fault \(fault)")
    if answer.word == "acceptedCopy" || answer.word == "LOCK-23",
      model.stepsAnotherRatchet(
        sides[which].stores[lock], sides[which].phone.eyes.now, sides[which].disk, at: lock,
        of: sides[which].user)
    {
      tally.count("told of a copy by a ratchet of the token before")
    }
    note(answer.word, which, lock)
    let doneNow = locks[lock].doneCount - done
    if answer.error == nil {
      explain(doneNow <= 1, "a command was done \(doneNow) times")
      if doneNow == 0 { tally.count("accepted, and power was cut before the deed") }
      explain(doneNow == 1 || fault < 28, "an accepted command was not done")
      // A link on which a command was recalled, and not accepted, hands out no log.
      if fault >= 28, below(10) == 0 { try await carryLog(lock, over: door) }
    } else {
      explain(doneNow == 0, "a refused command was done")
    }
    await door.disconnect()
    if let error = answer.error {
      sides[which].isOpen[lock] = try await door.hasOpenCommand()
      sides[which].isBehind[lock] = false
      // A lock without a slot for the app will have forgotten the command when it gets one.
      sides[which].isForgotten[lock] = model.locks[lock].slots[sides[which].user] == nil
      if error.whoCanMend == .online { try await renew(which) }
    }
  }

  func answers(_ which: Int, _ lock: Int, isDeviceClass: Bool) -> Set<String> {
    let side = sides[which]
    return model.answers(
      to: side.stores[lock], side.phone.eyes.now, side.disk, at: lock, of: side.user,
      isDeviceClass: isDeviceClass)
  }

  func answer(
    _ send: () async throws -> Receipt
  ) async -> (word: String, error: LinkError?) {
    do {
      let receipt = try await send()
      return ("\(receipt.verdict == .acceptedCopy ? "acceptedCopy" : "accepted")", nil)
    } catch let error as LinkError {
      let code = error.code
      return (String(code.prefix { $0 != "." }), error)
    } catch {
      return ("\(error)", LinkError(.cancelled))
    }
  }

  /// The model goes on as the answer says.
  func note(_ word: String, _ which: Int, _ lock: Int) {
    let (user, look, disk) = (
      sides[which].user, sides[which].phone.eyes.now, sides[which].disk
    )
    if word == "accepted" || word == "acceptedCopy" {
      model.accept(
        &sides[which].stores[lock], look, disk, at: lock, of: user, isCopy: word == "acceptedCopy")
      for index in sides.indices where sides[index].user == user {
        sides[index].isUnknown[lock] = false
      }
      for index in sides.indices where index != which && sides[index].user == user {
        sides[index].isForgotten[lock] = true
      }
    } else {
      model.refuse(word, sides[which].stores[lock], look, disk, at: lock, of: user)
    }
  }

  /// A token may have been presented and taken, without a command.
  func noteHeld(_ which: Int, _ lock: Int) throws {
    let side = sides[which]
    let pair = SoakModel.chosen(side.stores[lock], side.phone.eyes.now, side.disk)
    let held = locks[lock].generation(
      of: try side.phone.attestor.pairs.hardware(locks[lock].id).instance)
    let known = model.locks[lock].slots[side.user]?.pair.generation ?? 0
    guard held != known else { return }
    explain(
      held == pair.generation && model.takes(pair, at: lock, of: side.user),
      "the lock holds generation \(held)")
    model.hold(pair, at: lock, of: side.user)
  }

  /// Settles the command that a refusal left open: it was not done. False if the lock refuses the app itself.
  func settle(_ which: Int, _ lock: Int) async throws -> Bool {
    let door = try door(which, lock)
    do {
      let outcome = try await door.settle(within: Phone.ample)
      await door.disconnect()
      switch outcome {
      case .unknown?:
        explain(sides[which].isForgotten[lock], "phone \(which), lock \(lock): unknown outcome")
        tally.count("unknown outcome")
      case .accepted?: explain(false, "a refused command was accepted")
      case .notExecuted?, nil: tally.count("settled")
      }
      (sides[which].isOpen[lock], sides[which].isBehind[lock]) = (false, false)
      try noteHeld(which, lock)
      return true
    } catch let error as LinkError {
      await door.disconnect()
      let code = String(error.code.prefix { $0 != "." })
      if code == "LOCK-48", sides[which].isBehind[lock] {
        // The user looks at the door.
        tally.count("flash restored under an open command")
        try await door.forgetOpenCommand()
        (sides[which].isOpen[lock], sides[which].isBehind[lock]) = (false, false)
        try noteHeld(which, lock)
        return true
      }
      let isKnown = model.cannotSettle(
        sides[which].stores[lock], sides[which].phone.eyes.now, sides[which].disk, at: lock,
        of: sides[which].user)
      explain(
        answers(which, lock, isDeviceClass: true).contains(code) || (code == "LOCK-17" && isKnown),
        "phone \(which), lock \(lock), settling: \(error)")
      tally.count("settling \(code)")
      try noteHeld(which, lock)
      if error.whoCanMend == .online { try await renew(which) }
      return false
    }
  }

  /// The app dies at some event, begins again with what it stored, and settles.
  func die(
    _ which: Int, _ lock: Int, _ command: Command, _ expected: Set<String>
  ) async throws {
    let death = Death()
    let event = 1 + below(24)
    let way = Way(locks[lock]) { $0.number >= event && death.strike() }
    let memory = MortalMemory(sides[which].memories[lock], death)
    let done = locks[lock].doneCount
    let door = try door(which, lock, over: way, memory: memory, seals: below(3) == 0)
    let result = await death.result { try await door.send(command, within: Phone.ample) }
    await door.disconnect()
    tally.count("app died")
    let again = try self.door(which, lock)
    let outcome: Outcome?
    do throws(LinkError) {
      outcome = try await again.settle(within: Phone.ample)
      await again.disconnect()
    } catch {
      await again.disconnect()
      explain(
        error.code == "LOCK-17"
          && model.cannotSettle(
            sides[which].stores[lock], sides[which].phone.eyes.now, sides[which].disk, at: lock,
            of: sides[which].user),
        "settling after a death: \(error)")
      explain(locks[lock].doneCount == done, "a command without outcome was done")
      tally.count("settling LOCK-17")
      (sides[which].isOpen[lock], sides[which].isForgotten[lock]) = (true, false)
      try noteHeld(which, lock)
      return try await renew(which)
    }
    var isDone = outcome?.isAccepted == true
    if case .success = result { isDone = true }
    explain(
      outcome != .unknown || sides[which].isUnknown[lock],
      "a command of an app that died has no outcome")
    explain(locks[lock].doneCount - done == (isDone ? 1 : 0), "the outcome is not so: \(isDone)")
    if isDone, let word = expected.first(where: { $0.hasPrefix("accepted") }) {
      note(word, which, lock)
    } else {
      try noteHeld(which, lock)
    }
  }

  /// The phone carries the log. One of three couriers dies on its way to the backend.
  func carryLog(_ lock: Int, over door: HardwareConnection) async throws {
    let parts = try await door.collectLog(from: desks[lock].next, within: Phone.ample)
    guard below(3) > 0 else {
      tally.count("courier died")
      return
    }
    tally.count("log carried")
    for part in parts {
      for finding in desks[lock].read(part) { explain(false, "the log: \(finding)") }
    }
  }
}
