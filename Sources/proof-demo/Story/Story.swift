// SPDX-License-Identifier: Apache-2.0

import Foundation
internal import ProofBytes

/// The first act, about a lock: first the steps that must succeed, then those that must be refused, then recovery.
final class Story {
  let world: World
  let narrator: Narrator
  var chance: SplitMix64
  let seed: UInt64

  var phone: Phone { world.phone }
  var lock: Lock { world.lock }

  init(_ world: World, _ narrator: Narrator, seed: UInt64) {
    self.world = world
    self.narrator = narrator
    self.seed = seed
    chance = SplitMix64(seed: seed)
  }

  private static let prologue = """
    A lock opens for one app on one phone, without any network. It knows them by what an attestation
    service measured earlier. Service, backend, lock, apps and thieves are processes of their own here;
    what a line says of a refusal is what the lock itself decided.
    """

  func play() throws {
    narrator.say(Self.prologue)
    try goOnline()
    try narrator.mustBeWell()
    try goOffline()
    try narrator.mustBeWell()
    if lock.takesGrants { try lend() }
    try listenIn()
    try tamper()
    try steal()
    try useBadRadio()
    try update()
    try updateAhead()
    if lock.sealsCommands { try sealCommands() }
    try copy()
    if lock.keepsLog { try carryLog() }
  }

  /// Ends the processes of the act.
  func end() {
    for phone in [phone, world.otherPhone, world.guestPhone] { phone.stop() }
    world.goOffline()
    lock.stop()
  }

  /// Runs only the steps that need the network, then ends every process; the rest is for two
  /// terminals.
  func prepare() throws {
    try goOnline()
    try narrator.mustBeWell()
    end()
    narrator.say(
      """

      Service and backend are stopped. Two terminals go on without them:

        \(lock.command)
        \(phone.command)
      """)
  }

  // MARK: Online

  /// Service, backend and lock start; two phones get the app, enrol, and are measured.
  func goOnline() throws {
    narrator.begin("Online, once")
    try narrator.step("attestation service and backend start", must: "listening") {
      try world.goOnline()
      return Happening("listening", "\(world.service.url), SQLite; \(world.backend.url)")
    }
    try narrator.step("the lock leaves its factory and is switched on", must: "listening") {
      try lock.start()
      return Happening("listening", "\(lock.identity.id); it trusts the backend's key alone")
    }
    try narrator.step("the app is installed on two phones and registered", must: "registered") {
      for phone in [phone, world.otherPhone] {
        try phone.install(world.service, world.backend)
        try phone.pair(with: lock)
      }
      try world.register(phone)
      return Happening("registered", "by the digest of its executable and its bundle")
    }
    try narrator.step("the app enrols", must: "enrolled") { Happening(try phone.app("enrol")) }
    try narrator.step("it is measured, and gets a token for the lock", must: "fetched") {
      Happening(try phone.app("fetch"))
    }
    try narrator.step("both are kept on the phone, for this user alone", must: "0600") {
      Happening(try PrivateFiles.mode(of: phone.measurementFile), try phone.app("show").detail)
    }
    try narrator.step("the other phone does the same", must: "enrolled, fetched") {
      let answers = try ["enrol", "fetch"].map { try world.otherPhone.app($0) }
      return Happening(answers.map(\.outcome).joined(separator: ", "), answers[1].detail)
    }
    if lock.takesGrants { try letGuestIn() }
  }

  // MARK: Offline

  /// Stops service and backend, then unlocks, restarts the app and reboots the lock.
  private func goOffline() throws {
    narrator.begin("Offline: service and backend are stopped")
    try narrator.step(
      "the app asks for another measurement", must: "not fetched: no network"
    ) {
      world.goOffline()
      return Happening(try phone.app("fetch"))
    }
    try narrator.step("the app opens the lock, for the first time", must: "accepted") {
      Happening(try phone.app("open"))
    }
    try narrator.step("the app is ended, started again, and opens it", must: "accepted") {
      phone.stop()
      return Happening(try phone.app("open"))
    }
    try narrator.step("the lock's power fails; once it is back", must: "accepted") {
      lock.cut()
      try lock.start()
      return Happening(try phone.app("open"))
    }
  }
}
