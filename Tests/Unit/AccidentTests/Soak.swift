// SPDX-License-Identifier: Apache-2.0

import Foundation
import ProofBackend
import ProofBytes
import ProofKit
import ProofKitTesting
import ProofLink
import ProofModel

@testable import ProofService

/// Five phones of three users, and two locks. Phones 1 and 4 are copies of phones 0 and 3. Lock 0
/// reports copies, lock 1 refuses them. Users 0 and 1 lend. User 2 has the class that opens
/// nothing, and the classes that the others lend.
///
/// Sessions come one after the other, and have several commands, some in a channel. Before each,
/// one thing may happen to a phone, a lock, a loan or the backend. In it, the link or the power may
/// be cut, or the app may die.
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
    /// The generation that the app believes to be held, where the last contact leaves no doubt.
    var believed: [UInt32?] = [nil, nil]
  }

  /// A delegation on its way, and what the model knows of it.
  struct Paper {
    let delegation: Delegation
    let grant: SoakModel.Grant
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
  /// By lock, the latest last.
  var papers: [[Paper]] = [[], []]
  /// Whether the tokens of user 0 that are issued now let it lend class 3.
  var lendsMore = true
  var latestBuild = 1
  var latestSystem = 1
  var strangeSystem = 1000
  var flashBefore: [Int] = []

  init(seed: UInt64) async throws {
    dice = SplitMix64(seed: seed)
    let world = try World()
    self.world = world
    locks = try (1...2).map { number in
      try world.lock(seed &* 2 &+ number, keepsLog: true, keepsChannels: true, lends: true)
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
    for user in 0..<3 {
      let phone = try Phone(world, Look(secret: "user \(user)"))
      for lock in locks { try await phone.enrol(lock) }
      sides.append(
        Side(phone: phone, user: user, memories: [.init(), .init()], stores: [.init(), .init()]))
      // Its instance is known now, and so are its rights.
      try permit(user, like: phone)
      world.pass(seconds: 60)
      try await phone.renew()
      try noteFetch(sides.count - 1)
    }
    for (original, index) in [(0, 1), (3, 4)] {
      let first = sides[original]
      let copy = try Phone(
        world, Look(secret: "user \(first.user)"), folder: first.phone.copyFolder())
      sides.insert(
        Side(
          phone: copy, user: first.user, memories: [.init(), .init()], stores: first.stores),
        at: index)
    }
    flashBefore = locks.map(\.flashOperations)
  }

  /// The rights of the tokens of a user that are issued now.
  func rights(of user: Int) -> SoakModel.Rights {
    switch user {
    case 0: .init(own: 0b1111, device: 0b10, delegable: lendsMore ? 0b1010 : 0b10, channel: true)
    case 1: .init(own: 0b111, device: 0b10, delegable: 0b10, channel: true)
    default: .init(own: 0b1, device: 0b1, delegable: 0, channel: true)
    }
  }

  func permit(_ user: Int, like phone: Phone) throws {
    let rights = rights(of: user)
    world.permit(
      GrantPermissions(
        CommandClasses(rawValue: rights.own),
        deviceClasses: CommandClasses(rawValue: rights.device),
        attempts: UInt16(SoakModel.attempts), uses: .limited(UInt32(SoakModel.uses)),
        lifetime: UInt64(SoakModel.lifetime), permitsChannel: rights.channel,
        delegableClasses: CommandClasses(rawValue: rights.delegable)),
      to: try phone.attestor.pairs.hardware(locks[0].id).instance)
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
    tally.unexplained.append("session \(tally.sessions): \(what()); \(history.suffix(16))")
  }

  /// The pair that the app chooses now.
  func chosen(_ which: Int, _ lock: Int) -> SoakModel.Pair {
    SoakModel.chosen(sides[which].stores[lock], sides[which].phone.eyes.now, sides[which].disk)
  }

  func answers(_ which: Int, _ lock: Int, class bit: UInt16) -> Set<String> {
    let side = sides[which]
    return model.answers(
      to: side.stores[lock], side.phone.eyes.now, side.disk, at: lock, of: side.user, class: bit)
  }

  func cannotSettle(_ which: Int, _ lock: Int) -> Bool {
    let side = sides[which]
    return model.cannotSettle(
      side.stores[lock], side.phone.eyes.now, side.disk, at: lock, of: side.user)
  }

  // MARK: Comparing the lock with the model

  /// A token may have been presented and taken, without a command.
  func noteHeld(_ which: Int, _ lock: Int) throws {
    let side = sides[which]
    let pair = chosen(which, lock)
    let held = locks[lock].generation(
      of: try side.phone.attestor.pairs.hardware(locks[lock].id).instance)
    let known = model.locks[lock].slots[side.user]?.pair.generation ?? 0
    guard held != known else { return }
    explain(
      held == pair.generation && model.takes(pair, at: lock, of: side.user),
      "the lock holds generation \(held)")
    model.hold(pair, at: lock, of: side.user)
  }

  /// Compares all that the lock stores of users and loans. After a power cut a loan of this user
  /// may have been charged once more than there were commands.
  func audit(_ which: Int, _ lock: Int, mayOvercharge: Bool = false) throws {
    if locks[lock].isDark {
      locks[lock].powerOn()
      model.restart(lock)
    }
    try noteHeld(which, lock)
    try noteEpoch(which, lock)
    let charged = mayOvercharge ? model.loan(of: sides[which].user, at: lock) : nil
    for side in sides {
      let user = side.user
      let instance = try side.phone.attestor.pairs.hardware(locks[lock].id).instance
      let slot = model.locks[lock].slots[user]
      explain(
        locks[lock].generation(of: instance) == slot?.pair.generation ?? 0,
        "the lock holds another token of user \(user)")
      guard let slot else { continue }
      let (uses, lent) = (locks[lock].uses(of: instance), locks[lock].usesLent(to: instance))
      let slack = charged?.grant.owner == user ? 1 : 0
      explain(
        slot.uses - slack...slot.uses ~= uses, "user \(user) has \(uses) uses, not \(slot.uses)")
      let expected = model.loan(of: user, at: lock)?.uses ?? 0
      let isCharged = charged != nil && user == sides[which].user
      explain(
        expected - (isCharged ? 1 : 0)...expected ~= lent,
        "user \(user) is lent \(lent) uses, not \(expected)")
      if uses != slot.uses || lent != expected { tally.count("charged without a deed") }
      model.set(uses: uses, lent: lent, at: lock, of: user)
    }
  }

  /// A token that was presented brings its time, and a start forgets the lock's own clock.
  private func noteEpoch(_ which: Int, _ lock: Int) throws {
    let (state, issued) = (model.locks[lock], chosen(which, lock).issued)
    let actual = locks[lock].epoch
    let isBrought = actual == max(state.epoch, issued) || actual == max(state.signed, issued)
    explain(
      actual == state.epoch || actual == state.signed || isBrought,
      "the epoch is \(actual.seconds), not \(state.epoch.seconds)")
    if actual >= issued, actual != state.epoch, actual != state.signed {
      model.raise(to: issued, at: lock)
    }
    model.locks[lock].epoch = actual
  }
}
