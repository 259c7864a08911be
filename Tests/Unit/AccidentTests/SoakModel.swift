// SPDX-License-Identifier: Apache-2.0

import ProofModel

/// The expectation of the soak: locks and stores in whole numbers, without keys, proofs or messages. Written from SPEC.md
/// alone. A ratchet is a number that no other one equals.
struct SoakModel {
  struct Pair: Equatable {
    let generation: UInt32
    let app: Int
    let system: Int
    let disk: Int
    let isUpcoming: Bool
    let issued: UnixTime
    let notAfter: UnixTime
  }

  struct Slot {
    var pair: Pair
    var uses: Int
    var attempts: Int
    var ratchet: Int
  }

  struct Lock {
    let refuses: Bool
    /// By user: an installation has one.
    var slots: [Int: Slot] = [:]
    var epoch: UnixTime
    var floor: UnixTime = 0
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
    store.pairs.first {
      $0.app == look.app && $0.system == look.system && $0.disk == disk
    } ?? store.pairs[0]
  }

  private func isCandidate(_ pair: Pair, at lock: Int, of user: Int) -> Bool {
    guard let slot = locks[lock].slots[user] else { return false }
    return pair.isUpcoming && pair.generation > slot.pair.generation
  }

  /// Whether the lock does not hold this pair, and takes it when it is presented.
  func takes(_ pair: Pair, at lock: Int, of user: Int) -> Bool {
    guard let slot = locks[lock].slots[user] else { return true }
    return pair.generation > slot.pair.generation
  }

  /// The answers that the lock may give to a command. More than one only if several rules refuse it.
  func answers(
    to store: Store, _ look: Look, _ disk: Int, at lock: Int, of user: Int, isDeviceClass: Bool
  ) -> Set<String> {
    let pair = Self.chosen(store, look, disk)
    let state = locks[lock]
    var refusals: Set<String> = []
    let slot = state.slots[user]
    if takes(pair, at: lock, of: user) {
      if pair.notAfter < state.epoch { refusals.insert("LOCK-34") }
      if pair.issued < state.floor { refusals.insert("LOCK-35") }
    } else if let slot, slot.pair.generation > pair.generation {
      // The app may be asked to present its token, which then may have ended as well.
      refusals.insert("LOCK-35")
      if pair.notAfter < state.epoch { refusals.insert("LOCK-34") }
      if pair.issued < state.floor { refusals.insert("LOCK-35") }
      return refusals
    }
    if pair.disk != disk { refusals.insert("LOCK-17") }
    if pair.notAfter < max(state.epoch, pair.issued) { refusals.insert("LOCK-34") }
    let isNew = slot == nil || (takes(pair, at: lock, of: user) && !pair.isUpcoming)
    if !isNew, let slot {
      if slot.attempts == 0 { refusals.insert("LOCK-20") }
      if slot.uses == 0 { refusals.insert("LOCK-21") }
    }
    if pair.app != look.app || pair.system != look.system { refusals.insert("LOCK-16") }
    guard refusals.isEmpty else { return refusals }
    var answers: Set<String> = []
    // An app whose link ended, or whose lock has flash of before an update, has a command to settle. The lock holds no
    // pair under which it can tell the app that it was not done.
    if cannotSettle(store, look, disk, at: lock, of: user) { answers.insert("LOCK-17") }
    if isInStep(store, pair, at: lock, of: user) {
      answers.insert("accepted")
    } else {
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
    let mine: Int
    if let ratchet = store.ratchet, carries || ratchet.generation == pair.generation {
      mine = ratchet.value
    } else {
      mine = first(pair)
    }
    return mine == theirs
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
    locks[lock].slots[user] = Slot(
      pair: pair, uses: Self.uses, attempts: Self.attempts, ratchet: first(pair))
    locks[lock].epoch = max(locks[lock].epoch, pair.issued)
  }

  /// A command was accepted.
  mutating func accept(
    _ store: inout Store, _ look: Look, _ disk: Int, at lock: Int, of user: Int, isCopy: Bool
  ) {
    let pair = Self.chosen(store, look, disk)
    if isCandidate(pair, at: lock, of: user) {
      locks[lock].slots[user]?.pair = pair
      locks[lock].epoch = max(locks[lock].epoch, pair.issued)
    } else if takes(pair, at: lock, of: user) {
      hold(pair, at: lock, of: user)
    }
    locks[lock].slots[user]?.uses -= 1
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
    _ answer: String, _ store: Store, _ look: Look, _ disk: Int, at lock: Int, of user: Int
  ) {
    let pair = Self.chosen(store, look, disk)
    let counts = answer == "LOCK-16" || answer == "LOCK-23"
    if counts, takes(pair, at: lock, of: user), !isCandidate(pair, at: lock, of: user) {
      hold(pair, at: lock, of: user)
    }
    if answer == "LOCK-16" { locks[lock].slots[user]?.attempts -= 1 }
  }

  /// A floor frees the slots of older tokens. Returns the users who had one.
  mutating func raiseFloor(to time: UnixTime, at lock: Int) -> [Int] {
    locks[lock].floor = time
    locks[lock].epoch = max(locks[lock].epoch, time)
    let freed = locks[lock].slots.filter { $0.value.pair.issued < time }.map(\.key)
    for user in freed { locks[lock].slots[user] = nil }
    return freed
  }
}
