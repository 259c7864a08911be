// SPDX-License-Identifier: Apache-2.0

import ProofModel

// Loans and channels: SPEC.md, sections 19 and 20.
extension SoakModel {
  /// A grant that an owner's app made.
  struct Grant: Equatable {
    let owner: Int
    /// The owner's token, with which its tag was made.
    let generation: UInt32
    /// Whether the owner's app was as its token says when it made the grant.
    let isGenuine: Bool
    let serial: UInt32
    /// The member, and the generation of the token that it names.
    let member: Int
    let name: UInt32
    /// 0 takes back.
    let classes: UInt16
    let uses: Int
    let end: UnixTime

    var takesBack: Bool { classes == 0 }
  }

  /// A loan in a slot.
  struct Loan {
    let grant: Grant
    let ownerPlace: Int
    var uses: Int
  }

  struct Row {
    var loan: Loan?
    /// The highest serial that was taken, by the owner's place.
    var serials: [Int: UInt32] = [:]
  }

  /// A channel as the hardware keeps it.
  struct Channel {
    let user: Int
    let generation: UInt32
    /// Seconds of the lock since the opening.
    var age: Int64 = 0
    var commandsLeft = 16
    /// Commands of the instance that were accepted, as this one's was the last.
    var accepted: Int
    /// Whether a restart, or another message on its link, has ended it.
    var hasEnded = false
  }

  private func place(_ user: Int, at lock: Int) -> Int? {
    locks[lock].places.firstIndex(of: user)
  }

  func loan(of user: Int, at lock: Int) -> Loan? {
    guard locks[lock].slots[user] != nil, let place = place(user, at: lock) else { return nil }
    return locks[lock].rows[place].loan
  }

  /// Before a slot comes to be held: what its instance was lent, what it lent, and its serials.
  mutating func forgetLoans(of place: Int, at lock: Int) {
    locks[lock].rows[place] = Row()
    for index in locks[lock].rows.indices {
      locks[lock].rows[index].serials[place] = nil
      if locks[lock].rows[index].loan?.ownerPlace == place { locks[lock].rows[index].loan = nil }
    }
  }

  /// Whether an owner could send commands now.
  private func isAble(_ owner: Slot, at epoch: UnixTime) -> Bool {
    owner.pair.notAfter >= epoch && owner.attempts > 0 && owner.uses > 0
  }

  /// The answer to a command of a class that is not the member's own; nil if the class is lent.
  func refusal(
    ofLent bit: UInt16, at lock: Int, to user: Int, at epoch: UnixTime
  ) -> String? {
    guard let loan = loan(of: user, at: lock), loan.grant.classes & bit != 0 else {
      return "LOCK-19.1"
    }
    if loan.uses == 0 || loan.grant.end < epoch { return "LOCK-19.4" }
    guard let owner = locks[lock].slots[loan.grant.owner], isAble(owner, at: epoch) else {
      return "LOCK-19.5"
    }
    let rights = owner.pair.rights
    return rights.delegable & rights.own & bit != 0 ? nil : "LOCK-19.5"
  }

  /// A command of a class lent was accepted: the owner and the loan have one use less.
  mutating func charge(at lock: Int, to user: Int) {
    guard let place = place(user, at: lock), let loan = locks[lock].rows[place].loan else { return }
    locks[lock].slots[loan.grant.owner]?.uses -= 1
    locks[lock].rows[place].loan?.uses -= 1
  }

  /// The answer to a grant: *done*, or the code of a refusal.
  func answer(to grant: Grant, at lock: Int) -> String {
    let state = locks[lock]
    guard let ownerPlace = place(grant.owner, at: lock) else { return "LOCK-22" }
    guard let owner = state.slots[grant.owner] else { return "LOCK-36" }
    // The key of the tag is that of the owner's token: an earlier one has another.
    guard grant.isGenuine, owner.pair.generation == grant.generation else { return "LOCK-17" }
    guard let row = row(named: grant, from: ownerPlace, at: lock) else { return "LOCK-22.1" }
    let theirs = row.loan.flatMap { $0.ownerPlace == ownerPlace ? $0 : nil }
    let last = row.serials[ownerPlace] ?? 0
    if grant.serial <= last {
      let isAgain =
        grant.takesBack ? theirs?.uses ?? 0 == 0 : theirs?.grant == grant && grant.serial == last
      return isAgain ? "done" : "LOCK-19.4"
    }
    if grant.takesBack { return "done" }
    guard isAble(owner, at: state.epoch) else { return "LOCK-19.5" }
    let rights = owner.pair.rights
    guard grant.classes & ~(rights.delegable & rights.own) == 0 else { return "LOCK-19.9" }
    return state.epoch > grant.end ? "LOCK-34" : "done"
  }

  /// The row of the member's slot, if it holds the token that the grant names.
  private func row(named grant: Grant, from ownerPlace: Int, at lock: Int) -> Row? {
    guard let slot = locks[lock].slots[grant.member], let place = place(grant.member, at: lock)
    else { return nil }
    let row = locks[lock].rows[place]
    if slot.pair.generation == grant.name { return row }
    guard grant.takesBack, let loan = row.loan, loan.ownerPlace == ownerPlace else { return nil }
    return loan.grant.name == grant.name ? row : nil
  }

  /// Whether the lock took neither this grant nor a later one of its owner to its member.
  func isNew(_ grant: Grant, at lock: Int) -> Bool {
    guard let ownerPlace = place(grant.owner, at: lock),
      let place = place(grant.member, at: lock)
    else { return true }
    return grant.serial > locks[lock].rows[place].serials[ownerPlace] ?? 0
  }

  /// A grant was answered *done*.
  mutating func take(_ grant: Grant, at lock: Int) {
    guard let ownerPlace = place(grant.owner, at: lock),
      let place = place(grant.member, at: lock),
      grant.serial > locks[lock].rows[place].serials[ownerPlace] ?? 0
    else { return }
    locks[lock].rows[place].serials[ownerPlace] = grant.serial
    if !grant.takesBack {
      locks[lock].rows[place].loan = Loan(grant: grant, ownerPlace: ownerPlace, uses: grant.uses)
    } else if locks[lock].rows[place].loan?.ownerPlace == ownerPlace {
      locks[lock].rows[place].loan?.uses = 0
    }
  }

  /// Takes over the numbers that the lock was found to store, within the bounds that were expected.
  mutating func set(uses: Int, lent: Int, at lock: Int, of user: Int) {
    locks[lock].slots[user]?.uses = uses
    if let place = place(user, at: lock) { locks[lock].rows[place].loan?.uses = lent }
  }

  // MARK: Channels

  /// Whether another command of the instance was accepted since.
  func isOvertaken(_ channel: Channel, at lock: Int) -> Bool {
    locks[lock].accepted[channel.user, default: 0] != channel.accepted
  }

  /// Whether the hardware takes the channel's next command.
  func stands(_ channel: Channel, at lock: Int) -> Bool {
    !channel.hasEnded && channel.age <= 30 && channel.commandsLeft > 0
      && locks[lock].slots[channel.user]?.pair.generation == channel.generation
      && !isOvertaken(channel, at: lock)
  }

  /// The answers to a command in a channel that stands. The app is not measured.
  func answers(in channel: Channel, at lock: Int, class bit: UInt16) -> Set<String> {
    let state = locks[lock]
    guard let slot = state.slots[channel.user] else { return [] }
    if slot.pair.notAfter < state.epoch { return ["LOCK-34"] }
    if slot.attempts == 0 { return ["LOCK-20"] }
    if slot.uses == 0 { return ["LOCK-21"] }
    guard slot.pair.rights.own & bit == 0,
      let refusal = refusal(ofLent: bit, at: lock, to: channel.user, at: state.epoch)
    else { return ["accepted"] }
    return [refusal]
  }
}
