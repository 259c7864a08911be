// SPDX-License-Identifier: Apache-2.0

import ProofModel

/// The expectation of the soak: locks and stores in whole numbers, without keys, proofs or messages. Written from SPEC.md
/// alone. A ratchet is a number that no other one equals. Classes are bits.
struct SoakModel {
  /// The rights of a token.
  struct Rights: Equatable {
    var own: UInt16
    var device: UInt16
    var delegable: UInt16
    var channel: Bool
  }

  struct Pair: Equatable {
    let generation: UInt32
    let app: Int
    let system: Int
    let disk: Int
    let isUpcoming: Bool
    let issued: UnixTime
    let notAfter: UnixTime
    let rights: Rights
  }

  struct Slot {
    var pair: Pair
    var uses: Int
    var attempts: Int
    var ratchet: Int
  }

  struct Revocation {
    var generation: UInt32
    var time: UnixTime
    /// When the slot's token was issued.
    var issued: UnixTime
  }

  struct Lock {
    let refuses: Bool
    /// By user: an installation has one. A token is held.
    var slots: [Int: Slot] = [:]
    /// The user of each slot that is not free.
    var places = [Int?](repeating: nil, count: SoakModel.placeCount)
    /// Loans and serials, by the member's place.
    var rows = [Row](repeating: Row(), count: SoakModel.placeCount)
    var revoked: [Int: Revocation] = [:]
    /// The epoch, which runs with the lock's clock, and the one of the last signature.
    var epoch: UnixTime
    var signed: UnixTime
    var floor: UnixTime = 0
    /// Commands accepted, by user.
    var accepted: [Int: Int] = [:]

    init(refuses: Bool, epoch: UnixTime) {
      self.refuses = refuses
      (self.epoch, signed) = (epoch, epoch)
    }
  }

  /// The stored pairs and the ratchet of one phone for one lock.
  struct Store {
    /// The present one first.
    var pairs: [Pair] = []
    /// The ratchet, and the token whose commands moved it last.
    var ratchet: (generation: UInt32, value: Int)?
  }

  static let uses = 60
  static let attempts = 5
  static let lifetime: Int64 = 30 * 86_400
  static let placeCount = 8

  var locks: [Lock]
  private var ratchetCount = 0

  init(locks: [Lock]) { self.locks = locks }

  private mutating func newRatchet() -> Int {
    ratchetCount += 1
    return ratchetCount
  }

  /// The ratchet with which a token begins.
  private func first(_ pair: Pair) -> Int { -Int(pair.generation) }

  /// The pair that an app of this look chooses.
  static func chosen(_ store: Store, _ look: Look, _ disk: Int) -> Pair {
    store.pairs.first { fits($0, look, disk) } ?? store.pairs[0]
  }

  static func fits(_ pair: Pair, _ look: Look, _ disk: Int) -> Bool {
    pair.app == look.app && pair.system == look.system && pair.disk == disk
  }

  func isCandidate(_ pair: Pair, at lock: Int, of user: Int) -> Bool {
    guard let slot = locks[lock].slots[user] else { return false }
    return pair.isUpcoming && pair.generation > slot.pair.generation
  }

  /// Whether the lock does not hold this pair, and takes it when it is presented.
  func takes(_ pair: Pair, at lock: Int, of user: Int) -> Bool {
    guard let slot = locks[lock].slots[user] else { return true }
    return pair.generation > slot.pair.generation
  }

  /// The answers that a token may get, other than *held* and *ready*.
  func refusals(ofToken pair: Pair, at lock: Int, of user: Int) -> Set<String> {
    let state = locks[lock]
    if state.slots[user]?.pair.generation == pair.generation { return [] }
    var refusals: Set<String> = []
    if let revoked = state.revoked[user], pair.generation <= revoked.generation {
      refusals.insert("LOCK-36")
    }
    if !takes(pair, at: lock, of: user) { refusals.insert("LOCK-35") }
    if pair.notAfter < state.epoch { refusals.insert("LOCK-34") }
    if pair.issued < state.floor { refusals.insert("LOCK-35") }
    return refusals
  }

  /// The answers that the lock may give to a command. More than one only if several rules refuse it.
  func answers(
    to store: Store, _ look: Look, _ disk: Int, at lock: Int, of user: Int, class bit: UInt16
  ) -> Set<String> {
    let pair = Self.chosen(store, look, disk)
    let state = locks[lock]
    let slot = state.slots[user]
    let isPresented = takes(pair, at: lock, of: user)
    var refusals = refusals(ofToken: pair, at: lock, of: user)
    // The app may be asked to present its token, which then may have ended as well.
    if !isPresented, !refusals.isEmpty { return refusals }
    let epoch = isPresented ? max(state.epoch, pair.issued) : state.epoch
    if pair.disk != disk { refusals.insert("LOCK-17") }
    if pair.notAfter < max(state.epoch, pair.issued) { refusals.insert("LOCK-34") }
    let isNew = slot == nil || (isPresented && !pair.isUpcoming)
    if !isNew, let slot {
      if slot.attempts == 0 { refusals.insert("LOCK-20") }
      if slot.uses == 0 { refusals.insert("LOCK-21") }
    }
    if pair.app != look.app || pair.system != look.system { refusals.insert("LOCK-16") }
    // An app whose link ended, or whose lock has flash of before an update, has a command to settle. The lock holds no
    // pair under which it can tell the app that it was not done.
    var answers: Set<String> =
      cannotSettle(store, look, disk, at: lock, of: user) ? ["LOCK-17"] : []
    guard refusals.isEmpty else { return refusals.union(answers) }
    if pair.rights.own & bit == 0,
      let refusal = refusal(ofLent: bit, at: lock, to: user, at: epoch)
    {
      answers.insert(refusal)
    } else if isInStep(store, pair, at: lock, of: user) {
      answers.insert("accepted")
    } else {
      let isDeviceClass = pair.rights.device & bit != 0
      answers.insert(state.refuses && !isDeviceClass ? "LOCK-23" : "acceptedCopy")
    }
    return answers
  }

  private func isInStep(_ store: Store, _ pair: Pair, at lock: Int, of user: Int) -> Bool {
    let slot = locks[lock].slots[user]
    let carries = isCandidate(pair, at: lock, of: user)
    let theirs: Int
    if let slot, carries || slot.pair.generation == pair.generation {
      theirs = slot.ratchet
    } else {
      theirs = first(pair)
    }
    return ratchet(of: store, pair, carries: carries) == theirs
  }

  /// The ratchet that the app steps with a command under this pair.
  private func ratchet(of store: Store, _ pair: Pair, carries: Bool) -> Int {
    guard let ratchet = store.ratchet, carries || ratchet.generation == pair.generation else {
      return first(pair)
    }
    return ratchet.value
  }

  /// Whether an open command stays open offline: the app was updated, and the lock holds neither the pair of the update
  /// nor the one before it, so that it can make no receipt that the app understands.
  func cannotSettle(
    _ store: Store, _ look: Look, _ disk: Int, at lock: Int, of user: Int
  ) -> Bool {
    let pair = Self.chosen(store, look, disk)
    guard isCandidate(pair, at: lock, of: user), let slot = locks[lock].slots[user] else {
      return false
    }
    return slot.pair.generation != store.pairs[0].generation
  }

  /// Whether the app steps the ratchet of a token before the one that the lock took last: a known limit of the SDK.
  func stepsAnotherRatchet(
    _ store: Store, _ look: Look, _ disk: Int, at lock: Int, of user: Int
  ) -> Bool {
    let pair = Self.chosen(store, look, disk)
    guard isCandidate(pair, at: lock, of: user), let ratchet = store.ratchet else { return false }
    return ratchet.generation != locks[lock].slots[user]?.pair.generation
  }

  /// The lock took a token, and did not need a command for that.
  mutating func hold(_ pair: Pair, at lock: Int, of user: Int) {
    if locks[lock].slots[user] == nil { forgetLoans(of: place(of: user, at: lock), at: lock) }
    locks[lock].slots[user] = Slot(
      pair: pair, uses: Self.uses, attempts: Self.attempts, ratchet: first(pair))
    raise(to: pair.issued, at: lock)
  }

  /// A command was accepted.
  mutating func accept(
    _ store: inout Store, _ look: Look, _ disk: Int, at lock: Int, of user: Int,
    class bit: UInt16, isCopy: Bool
  ) {
    let pair = Self.chosen(store, look, disk)
    if isCandidate(pair, at: lock, of: user) {
      locks[lock].slots[user]?.pair = pair
      raise(to: pair.issued, at: lock)
    } else if takes(pair, at: lock, of: user) {
      hold(pair, at: lock, of: user)
    }
    if pair.rights.own & bit == 0 { charge(at: lock, to: user) }
    locks[lock].slots[user]?.uses -= 1
    locks[lock].accepted[user, default: 0] += 1
    let value = newRatchet()
    if !isCopy || !locks[lock].refuses {
      locks[lock].slots[user]?.ratchet = value
      store.ratchet = (pair.generation, value)
    }
    // The older pairs of this lock are deleted.
    store.pairs.removeAll { $0.generation < pair.generation }
  }

  /// A command was refused, and for a changed app an attempt is spent.
  mutating func refuse(
    _ answer: String, _ store: inout Store, _ look: Look, _ disk: Int, at lock: Int, of user: Int
  ) {
    let pair = Self.chosen(store, look, disk)
    let carries = isCandidate(pair, at: lock, of: user)
    // The ratchet was looked at before, so the app has stored the one of this token.
    let isLate = answer == "LOCK-23" || answer.hasPrefix("LOCK-19")
    if isLate, store.ratchet?.generation != pair.generation {
      store.ratchet = (pair.generation, ratchet(of: store, pair, carries: carries))
    }
    if isLate || answer == "LOCK-16", takes(pair, at: lock, of: user), !carries {
      hold(pair, at: lock, of: user)
    }
    if answer == "LOCK-16" { locks[lock].slots[user]?.attempts -= 1 }
  }

  // MARK: Orders, time

  /// A signature of the backend brings a time.
  mutating func raise(to time: UnixTime, at lock: Int) {
    locks[lock].signed = max(locks[lock].signed, time)
    locks[lock].epoch = max(locks[lock].epoch, time)
  }

  /// Time passes at the lock, which has a clock.
  mutating func pass(seconds: Int64, at lock: Int) {
    locks[lock].epoch = locks[lock].epoch + seconds
  }

  /// The lock starts again. Its clock goes on from the last signature.
  mutating func restart(_ lock: Int) { locks[lock].epoch = locks[lock].signed }

  /// A floor frees the slots of older tokens. Returns the users who had one.
  mutating func raiseFloor(to time: UnixTime, at lock: Int) -> [Int] {
    locks[lock].floor = time
    raise(to: time, at: lock)
    let older = locks[lock].slots.filter { $0.value.pair.issued < time }.map(\.key)
    for user in older {
      let slot = locks[lock].slots.removeValue(forKey: user)
      locks[lock].revoked[user]?.issued = slot?.pair.issued ?? 0
    }
    for (index, user) in locks[lock].places.enumerated() {
      guard let user, locks[lock].slots[user] == nil else { continue }
      if let revoked = locks[lock].revoked[user], max(revoked.time, revoked.issued) >= time {
        continue
      }
      locks[lock].places[index] = nil
      locks[lock].revoked[user] = nil
    }
    return older
  }

  /// A revocation up to a generation.
  mutating func revoke(_ user: Int, through generation: UInt32, at lock: Int, time: UnixTime) {
    _ = place(of: user, at: lock)
    let slot = locks[lock].slots[user]
    let before = locks[lock].revoked[user]
    locks[lock].revoked[user] = Revocation(
      generation: max(generation, before?.generation ?? 0), time: time,
      issued: slot?.pair.issued ?? before?.issued ?? 0)
    if let slot, slot.pair.generation <= generation { locks[lock].slots[user] = nil }
    raise(to: time, at: lock)
  }

  /// The slot of a user, or the first free one, which is then the user's.
  private mutating func place(of user: Int, at lock: Int) -> Int {
    if let place = locks[lock].places.firstIndex(of: user) { return place }
    guard let free = locks[lock].places.firstIndex(of: nil) else {
      preconditionFailure("there are fewer users than slots")
    }
    locks[lock].places[free] = user
    return free
  }
}
