// SPDX-License-Identifier: Apache-2.0

import Foundation
import ProofKit
import ProofKitTesting
import ProofLink
import ProofModel

/// A phone at a lock: one connection, and several commands on it.
struct SoakVisit {
  let which: Int
  let lock: Int
  let seals: Bool
  let keepsChannel: Bool
  let door: HardwareConnection
  let way: Way
  /// The channel whose key the app has.
  var channel: SoakModel.Channel?
  /// The time when the app opened it. The SDK gives a channel up by its own clock, which a busy
  /// machine may let pass.
  var opened = ContinuousClock.now
  /// Whether a link or the power may have been cut since. The app and the lock may then disagree
  /// about the channel.
  var isFaulty = false
  /// Whether the last command was accepted on the present link, without a recall.
  var mayCollect = false
}

extension Soak {
  // MARK: A session

  func door(
    _ which: Int, _ lock: Int, over way: Way? = nil, memory: (any LinkMemoryStore)? = nil,
    seals: Bool = false, keepsChannel: Bool = true
  ) throws -> HardwareConnection {
    let side = sides[which]
    return try side.phone.door(
      locks[lock], over: way, memory: memory ?? side.memories[lock],
      mtu: below(4) == 0 ? 23 : 185, seals: seals, keepsChannel: keepsChannel)
  }

  private func visit(
    _ which: Int, _ lock: Int, memory: (any LinkMemoryStore)? = nil
  ) throws -> SoakVisit {
    let (seals, keepsChannel) = (below(2) == 0, below(8) > 0)
    let way = Way(locks[lock])
    return SoakVisit(
      which: which, lock: lock, seals: seals, keepsChannel: keepsChannel,
      door: try door(
        which, lock, over: way, memory: memory, seals: seals, keepsChannel: keepsChannel),
      way: way)
  }

  func session() async throws {
    tally.sessions += 1
    let (which, lock) = (below(sides.count), below(locks.count))
    try await accident(which, lock)
    if happens(250) { try await lending(lock) }
    if sides[which].isOpen[lock] {
      guard try await settle(which, lock) else { return try audit(which, lock) }
    }
    let fault = below(100)
    let death = fault < 5 ? Death() : nil
    var visit = try visit(
      which, lock, memory: death.map { MortalMemory(sides[which].memories[lock], $0) })
    // A channel ends after 16 further commands.
    let count = visit.seals ? (below(15) == 0 ? 20 : 1 + below(5)) : 1 + below(2)
    let struck = fault < 28 ? 1 + below(count) : 0
    for number in 1...count {
      if struck == 0, number > 1 { try await between(&visit) }
      if number == struck, let death {
        try await die(&visit, by: death)
        break
      }
      if number == struck, fault < 20 {
        let event = 1 + below(30)
        visit.way.cut { $0.number == event }
        visit.isFaulty = true
        tally.count("link cut")
      } else if number == struck {
        locks[lock].cutPower(at: 1 + below(8), VirtualLock.Tear.allCases[below(3)])
        visit.isFaulty = true
        tally.count("power cut")
      }
      guard try await play(&visit, isPowerCut: visit.isFaulty && fault >= 20) else { break }
    }
    await visit.door.disconnect()
    locks[lock].cutPower(at: 0)
    try audit(which, lock)
  }

  /// Another phone sends a command on a link of its own.
  func interlude(_ which: Int, _ lock: Int) async throws {
    var visit = try visit(which, lock)
    _ = try await play(&visit)
    await visit.door.disconnect()
  }

  /// The class of the next command: one that a device match permits, another one, or one that is
  /// lent.
  private func nextClass(_ which: Int, _ lock: Int) -> UInt16 {
    let user = sides[which].user
    let loan = model.loan(of: user, at: lock)
    if user > 0, happens(loan?.uses ?? 0 > 0 ? 600 : 50) {
      let foreign = ~rights(of: user).own & 0b1010
      let lent = foreign & (loan?.grant.classes ?? 0)
      let wanted = lent == 0 || below(10) == 0 ? foreign : lent
      return wanted == 0b1010 ? [0b10, 0b1000][below(2)] : wanted
    }
    if user == 2 { return 1 }
    return below(6) > 0 ? 0b10 : 0b100
  }

  private func command(_ bit: UInt16) throws -> Command {
    try Command(Array("open".utf8), class: CommandClass(UInt8(bit.trailingZeroBitCount)))
  }

  /// The expectation of the model for the next command.
  private struct Expectation {
    var answers: Set<String>
    /// Whether the app has the key of a channel, and whether the lock takes the command in it.
    var asksInChannel = false
    var stands = false
  }

  private func expectation(_ visit: SoakVisit, class bit: UInt16) -> Expectation {
    let (which, lock) = (visit.which, visit.lock)
    var expected = Expectation(answers: answers(which, lock, class: bit))
    // The lock takes the token again, and cannot tell the outcome of the command before it.
    if sides[which].isUnknown[lock] { expected.answers.insert("LINK-16") }
    guard let channel = visit.channel, channel.generation == chosen(which, lock).generation else {
      return expected
    }
    expected.asksInChannel = true
    expected.stands = model.stands(channel, at: lock)
    if expected.stands {
      let answers = model.answers(in: channel, at: lock, class: bit)
      // A link that was cut has the app measure itself again.
      expected.answers = visit.isFaulty ? answers.union(expected.answers) : answers
    } else if model.isOvertaken(channel, at: lock),
      model.locks[lock].slots[channel.user]?.pair.generation == channel.generation
    {
      // A later command of the instance was accepted: a recall of this one no longer has an answer.
      expected.answers = ["LINK-16"]
    }
    return expected
  }

  /// One command. False if the visit ends with it.
  func play(_ visit: inout SoakVisit, isPowerCut: Bool = false) async throws -> Bool {
    let (which, lock) = (visit.which, visit.lock)
    let bit = nextClass(which, lock)
    var expected = expectation(visit, class: bit)
    let isLent = chosen(which, lock).rights.own & bit == 0
    if expected.answers.isDisjoint(with: ["accepted", "acceptedCopy"]) {
      // Refusals are played without faults.
      visit.way.cut { _ in false }
      locks[lock].cutPower(at: 0)
    }
    // A charge without a deed may have used up what is lent, or the owner.
    if isLent, isPowerCut { expected.answers.formUnion(["LOCK-19.4", "LOCK-19.5"]) }
    let (done, before, time) = (locks[lock].doneCount, visit.way.begun.count, visit.opened)
    let command = try command(bit)
    let door = visit.door
    let state = stateText(which, lock)
    let answer = await self.answer { try await door.send(command, within: Phone.ample) }
    let begun = visit.way.begun.dropFirst(before)
    explain(
      expected.answers.contains(answer.word),
      "phone \(which), lock \(lock), class \(bit): "
        + "\(answer.error.map { "\($0)" } ?? answer.word) by \(begun), expected \(expected.answers)"
    )
    tally.count(answer.word)
    history.append(
      "\(tally.sessions):\(which)/\(lock) \(answer.word)\(isLent ? " lent" : "") \(begun) \(state)")
    if !visit.isFaulty, ContinuousClock.now - time < .seconds(20) || visit.channel == nil {
      let inChannel = begun.filter { $0 == 9 }.count
      explain(inChannel == (expected.asksInChannel ? 1 : 0), "\(inChannel) commands in a channel")
      if answer.error == nil {
        explain(
          begun.contains(4) != expected.stands,
          "a channel \(expected.stands ? "stands" : "has ended"), and the app sent \(begun)")
      }
    }
    let isAccepted = answer.error == nil
    if isAccepted, begun.contains(9) {
      tally.count(begun.contains(4) ? "proved again after a channel" : "accepted in a channel")
    }
    if isLent { tally.count("lent: \(answer.word)") }
    if answer.word == "acceptedCopy" || answer.word == "LOCK-23",
      model.stepsAnotherRatchet(
        sides[which].stores[lock], sides[which].phone.eyes.now, sides[which].disk, at: lock,
        of: sides[which].user)
    {
      tally.count("told of a copy by a ratchet of the token before")
    }
    let isOvertaken = visit.channel.map { model.isOvertaken($0, at: lock) } ?? false
    note(answer.word, which, lock, class: bit)
    let doneNow = locks[lock].doneCount - done
    if isAccepted {
      explain(doneNow <= 1, "a command was done \(doneNow) times")
      if doneNow == 0 { tally.count("accepted, and power was cut before the deed") }
      explain(doneNow == 1 || visit.isFaulty, "an accepted command was not done")
    } else {
      explain(doneNow == 0, "a refused command was done")
    }
    follow(&visit, answer.word, begun)
    let isForgotten = isOvertaken || model.locks[lock].slots[sides[which].user] == nil
    try audit(which, lock, mayOvercharge: isLent && isPowerCut)
    if let error = answer.error {
      await door.disconnect()
      sides[which].isOpen[lock] = try await door.hasOpenCommand()
      sides[which].isBehind[lock] = false
      // A lock without a slot for the app will have forgotten the command when it gets one.
      sides[which].isForgotten[lock] = isForgotten
      if error.whoCanMend == .online { try await renew(which) }
      return false
    }
    // A link on which a command was recalled, and not accepted, hands out no log.
    visit.mayCollect = !visit.isFaulty
    if visit.mayCollect, below(20) == 0 { try await carryLog(lock, over: door) }
    return true
  }

  /// The token that the app chooses and the one that the lock holds, each with its ratchet.
  private func stateText(_ which: Int, _ lock: Int) -> String {
    let (pair, store) = (chosen(which, lock), sides[which].stores[lock])
    let slot = model.locks[lock].slots[sides[which].user]
    let mine = store.ratchet.map { "\($0.generation):\($0.value)" } ?? "-"
    let theirs = slot.map { "\($0.pair.generation):\($0.ratchet)" } ?? "-"
    return "\(pair.generation)\(pair.isUpcoming ? "u" : "") \(mine)/\(theirs)"
  }

  /// The channel after a command.
  private func follow(_ visit: inout SoakVisit, _ word: String, _ begun: ArraySlice<UInt8>) {
    let (user, lock) = (sides[visit.which].user, visit.lock)
    guard word == "accepted", visit.seals, let slot = model.locks[lock].slots[user],
      slot.pair.rights.channel
    else {
      visit.channel = nil
      return
    }
    if visit.channel != nil, begun.contains(9), !begun.contains(4) {
      visit.channel?.commandsLeft -= 1
      visit.channel?.accepted = model.locks[lock].accepted[user, default: 0]
      if visit.channel?.commandsLeft == 0 {
        tally.count("channel used up")
        visit.channel = nil
      }
    } else {
      tally.count("channel opened")
      visit.opened = .now
      visit.channel = SoakModel.Channel(
        user: user, generation: slot.pair.generation,
        accepted: model.locks[lock].accepted[user, default: 0])
    }
    if !visit.keepsChannel { visit.channel = nil }
  }

  func answer(
    _ send: () async throws -> Receipt
  ) async -> (word: String, error: LinkError?) {
    do {
      let receipt = try await send()
      return ("\(receipt.verdict == .acceptedCopy ? "acceptedCopy" : "accepted")", nil)
    } catch let error as LinkError {
      return (Self.word(of: error), error)
    } catch {
      return ("\(error)", LinkError(.cancelled))
    }
  }

  /// The code, with the detail where the model knows it.
  static func word(of error: LinkError) -> String {
    let code = error.code
    return code.hasPrefix("LOCK-19.") || code.hasPrefix("LOCK-22.")
      ? code : String(code.prefix { $0 != "." })
  }

  /// The model goes on as the answer says.
  func note(_ word: String, _ which: Int, _ lock: Int, class bit: UInt16) {
    let (user, look, disk) = (
      sides[which].user, sides[which].phone.eyes.now, sides[which].disk
    )
    sides[which].believed[lock] = nil
    if word == "accepted" || word == "acceptedCopy" {
      model.accept(
        &sides[which].stores[lock], look, disk, at: lock, of: user, class: bit,
        isCopy: word == "acceptedCopy")
      sides[which].believed[lock] = model.locks[lock].slots[user]?.pair.generation
      for index in sides.indices where sides[index].user == user {
        sides[index].isUnknown[lock] = false
      }
      for index in sides.indices where index != which && sides[index].user == user {
        sides[index].isForgotten[lock] = true
      }
    } else {
      model.refuse(word, &sides[which].stores[lock], look, disk, at: lock, of: user)
    }
  }

  /// The app dies at some event of a command, begins again with what it stored, and settles.
  private func die(_ visit: inout SoakVisit, by death: Death) async throws {
    let (which, lock, door) = (visit.which, visit.lock, visit.door)
    let bit = nextClass(which, lock)
    let expected = expectation(visit, class: bit).answers
    guard !expected.isDisjoint(with: ["accepted", "acceptedCopy"]) else { return }
    let event = 1 + below(visit.channel == nil ? 24 : 6)
    visit.way.cut { $0.number >= event && death.strike() }
    let done = locks[lock].doneCount
    let command = try command(bit)
    let result = await death.result { try await door.send(command, within: Phone.ample) }
    await door.disconnect()
    tally.count(visit.way.begun.contains(9) ? "app died in a channel" : "app died")
    sides[which].believed[lock] = nil
    let again = try self.door(which, lock)
    let outcome: Outcome?
    do throws(LinkError) {
      outcome = try await again.settle(within: Phone.ample)
      await again.disconnect()
    } catch {
      await again.disconnect()
      explain(
        error.code == "LOCK-17" && cannotSettle(which, lock), "settling after a death: \(error)")
      explain(locks[lock].doneCount == done, "a command without outcome was done")
      tally.count("settling LOCK-17")
      (sides[which].isOpen[lock], sides[which].isForgotten[lock]) = (true, false)
      try audit(which, lock)
      return try await renew(which)
    }
    var isDone = outcome?.isAccepted == true
    if case .success = result { isDone = true }
    explain(
      outcome != .unknown || sides[which].isUnknown[lock],
      "a command of an app that died has no outcome")
    explain(locks[lock].doneCount - done == (isDone ? 1 : 0), "the outcome is not so: \(isDone)")
    if isDone, let word = expected.first(where: { $0.hasPrefix("accepted") }) {
      note(word, which, lock, class: bit)
      // It may have died before it stored that its token is held.
      sides[which].believed[lock] = nil
    } else {
      try audit(which, lock)
    }
  }
}
