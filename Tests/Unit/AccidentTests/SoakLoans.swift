// SPDX-License-Identifier: Apache-2.0

import Foundation
import ProofKit
import ProofLink
import ProofModel

extension Soak {
  // MARK: Loans

  /// An owner lends or takes back, or a phone brings what an owner made.
  func lending(_ lock: Int) async throws {
    let roll = below(100)
    if roll < 60 {
      guard let member = try await lend(lock, takesBack: roll >= 45) else { return }
      // Most are brought at once, by the member.
      guard below(4) > 0 else { return }
      try await bring(lock, by: below(4) > 0 ? member : below(sides.count))
    } else {
      try await bring(lock, by: below(sides.count))
    }
  }

  private func holds(_ which: Int, _ lock: Int) -> Bool {
    model.locks[lock].slots[sides[which].user]?.pair.generation == chosen(which, lock).generation
  }

  private func bring(_ lock: Int, by which: Int) async throws {
    let door = try door(which, lock)
    try await deliver(lock, by: which, over: door, mayFail: true)
    await door.disconnect()
  }

  /// The phone of the member, if something was made.
  private func lend(_ lock: Int, takesBack: Bool) async throws -> Int? {
    // Phones of users 0 and 1 are the first three. Most know that their token is held.
    let owners = (0..<3).filter { holds($0, lock) }
    let which = owners.isEmpty || below(5) == 0 ? below(3) : owners[below(owners.count)]
    let owner = sides[which]
    let members = sides.indices.filter { sides[$0].user != owner.user }
    let known = members.filter { holds($0, lock) }
    let memberIndex =
      known.isEmpty || below(5) == 0
      ? members[below(members.count)] : known[below(known.count)]
    let member = sides[memberIndex]
    // Two copies may give one number twice within a second.
    if below(3) > 0 { world.pass(seconds: 1) }
    let pair = chosen(which, lock)
    // User 0 may lend two classes, and user 1 one. Some owners try others.
    let able: [UInt16] = owner.user == 0 ? [0b10, 0b1000, 0b1010] : [0b10]
    let classes = takesBack ? 0 : below(6) == 0 ? 0b1100 : able[below(able.count)]
    let uses = takesBack ? 0 : 1 + below(8)
    let day: Int64 = 86_400
    let end = takesBack ? 0 : world.time + [600, day, 5 * day, 20 * day][below(4)]
    let name = member.stores[lock].pairs[0].generation
    let memberDoor = try member.phone.door(locks[lock], memory: member.memories[lock])
    let digest = await memberDoor.memberName()
    let door = try door(which, lock)
    let delegation: Delegation
    do throws(LinkError) {
      delegation =
        takesBack
        ? try await door.takeBack(from: digest, at: world.time)
        : try await door.lend(
          CommandClasses(rawValue: classes), to: digest, uses: UInt16(uses), until: end,
          at: world.time)
    } catch {
      explain(
        error.code == "LINK-27" && owner.believed[lock] != pair.generation,
        "phone \(which) lends at lock \(lock): \(error)")
      tally.count("loan: not made, the token is not held (LINK-27)")
      return nil
    }
    if let believed = owner.believed[lock] {
      explain(believed == pair.generation, "a grant under a token that is not held")
    }
    let grant = SoakModel.Grant(
      owner: owner.user, generation: pair.generation,
      isGenuine: SoakModel.fits(pair, owner.phone.eyes.now, owner.disk),
      serial: delegation.loan.serial, member: member.user, name: name, classes: classes,
      uses: uses, end: end)
    tally.count(takesBack ? "taking back: made" : "loan: made")
    if papers[lock].count == 12 { papers[lock].removeFirst() }
    papers[lock].append(Paper(delegation: delegation, grant: grant))
    return memberIndex
  }

  /// Brings one of the latest papers, again or for the first time.
  func deliver(
    _ lock: Int, by which: Int, over door: HardwareConnection, mayFail: Bool = false
  ) async throws {
    guard !papers[lock].isEmpty else { return }
    let count = papers[lock].count
    let paper = papers[lock][below(4) > 0 ? count - 1 : below(count)]
    let (grant, side) = (paper.grant, sides[which])
    let expected = answers(to: grant, by: which, lock)
    // A device that differs cannot read its receipts.
    guard chosen(which, lock).disk == side.disk else { return }
    let fault = mayFail ? below(100) : 99
    if fault < 12 { locks[lock].cutPower(at: 1 + below(4), VirtualLock.Tear.allCases[below(3)]) }
    let word: String
    var receipt: Receipt?
    do throws(LinkError) {
      receipt = try await door.deliver(paper.delegation, within: Phone.ample)
      word = "done"
    } catch { word = Self.word(of: error) }
    locks[lock].cutPower(at: 0)
    history.append("\(tally.sessions):\(which)/\(lock) grant \(grant.serial) \(word)")
    explain(
      expected.contains(word), "phone \(which), lock \(lock), \(grant): \(word), not \(expected)")
    let what = grant.takesBack ? "taking back" : "loan"
    let isNew = word == "done" && model.isNew(grant, at: lock)
    tally.count("\(what): \(word == "done" && !isNew ? "done, again" : word)")
    sides[which].believed[lock] = nil
    try noteHeld(which, lock)
    if word == "done" { model.take(grant, at: lock) }
    if let receipt {
      let left = grant.takesBack ? 0 : model.loan(of: grant.member, at: lock)?.uses ?? 0
      explain(receipt.usesLeft.map(Int.init) == left, "\(receipt) does not tell \(left) uses")
    }
    try audit(which, lock)
  }

  /// The answers to a grant that this phone brings. A member presents its token before, if it must.
  private func answers(to grant: SoakModel.Grant, by which: Int, _ lock: Int) -> Set<String> {
    let (user, pair) = (sides[which].user, chosen(which, lock))
    let answer = model.answer(to: grant, at: lock)
    let isMember =
      !grant.takesBack && grant.member == user && grant.name == pair.generation
    guard isMember, model.locks[lock].slots[user]?.pair.generation != pair.generation else {
      return [answer]
    }
    var answers = model.refusals(ofToken: pair, at: lock, of: user)
    if answer != "LOCK-22.1" { answers.insert(answer) }
    guard answers.isEmpty || answer != "LOCK-22.1" else { return answers }
    if model.isCandidate(pair, at: lock, of: user) {
      answers.insert(answer)
    } else if model.takes(pair, at: lock, of: user) {
      var later = model
      later.hold(pair, at: lock, of: user)
      answers.insert(later.answer(to: grant, at: lock))
    }
    return answers
  }

  // MARK: Between two commands of a visit

  /// One thing may happen while a link is up, and perhaps a channel stands.
  func between(_ visit: inout SoakVisit) async throws {
    guard below(4) == 0 else { return }
    let (which, lock) = (visit.which, visit.lock)
    let others = sides.indices.filter { $0 != which && !sides[$0].isOpen[lock] }
    let other = others.isEmpty ? nil : others[below(others.count)]
    let roll = below(8)
    history.append("\(tally.sessions):\(which)/\(lock) between \(roll)")
    switch roll {
    case 0:
      let seconds = [10, 31][below(2)]
      world.pass(seconds: Int64(seconds))
      locks[lock].pass(seconds: seconds)
      model.pass(seconds: Int64(seconds), at: lock)
      visit.channel?.age += Int64(seconds)
      if visit.channel != nil { tally.count("time passed while a channel stood") }
    case 1:
      restart(lock)
      if visit.channel != nil { tally.count("lock restarted while a channel stood") }
      visit.channel?.hasEnded = true
      visit.mayCollect = false
    case 2 where visit.mayCollect:
      if visit.channel != nil { tally.count("log asked for while a channel stood") }
      try await carryLog(lock, over: visit.door)
    case 3:
      guard let other else { return }
      if visit.channel != nil { tally.count("another phone came while a channel stood") }
      try await interlude(other, lock)
    case 4:
      guard let other else { return }
      try await order(other, lock)
    case 5:
      try await order(lock, by: which, over: visit.door)
      visit.channel = nil
    case 6:
      // An update that is registered, or one that is not.
      let phone = sides[which].phone
      if below(2) == 0 {
        phone.eyes.set { $0.app += 1 }
        if phone.eyes.now.app == latestBuild { try registerBuild() }
      } else {
        strangeSystem += 1
        let system = strangeSystem
        phone.eyes.set { $0.system = system }
      }
      if visit.channel != nil { tally.count("app or system updated while a channel stood") }
    default:
      guard !papers[lock].isEmpty, chosen(which, lock).disk == sides[which].disk else { return }
      try await deliver(lock, by: which, over: visit.door)
      visit.channel = nil
    }
  }
}
