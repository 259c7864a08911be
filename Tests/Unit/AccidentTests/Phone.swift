// SPDX-License-Identifier: Apache-2.0

import DurableFiles
import Foundation
import ProofKit
import ProofKitTesting
import ProofLink
import ProofModel
import Testing

/// An app with its storage folder, made by the SDK as an app developer makes it.
final class Phone {
  static let open = Command("open", class: 1)
  /// A command of a class that a device match does not permit.
  static let settings = Command("open", class: 2)
  /// Only a hang lasts as long.
  static let ample = Duration.seconds(60)

  let world: World
  let eyes: Eyes
  let folder: String
  let clock: ManualClock
  /// Nil while the app is not running.
  private var running: Attestor?
  private var copies: [String] = []

  init(
    _ world: World, _ look: Look = Look(), folder: String? = nil, files: Probe? = nil,
    time: UnixTime = World.beginning
  ) throws {
    self.world = world
    self.folder = folder ?? "/var/tmp/proofkit-accident-\(UInt64.random(in: 1 ... .max))"
    eyes = Eyes(look, files: files)
    clock = ManualClock(time: time)
    try start()
  }

  deinit {
    for path in copies + [folder] { try? FileManager.default.removeItem(atPath: path) }
  }

  var attestor: Attestor {
    guard let running else { preconditionFailure("the app is running") }
    return running
  }

  private func start() throws {
    running = try Attestor(
      Configuration(account: world.management.signedConfiguration(), storage: folder),
      using: Parts(probe: eyes, transport: world, clock: clock.clock))
  }

  /// The app ends, and begins again with what is in its folder.
  func restart(_ meanwhile: () throws -> Void = {}) throws {
    running = nil
    // The folder has one owner at a time, and a thread of the library may hold the last one a little longer.
    if FileManager.default.fileExists(atPath: folder + "/measurement/lock") {
      _ = try FolderLock(folder + "/measurement/lock", waiting: 60_000)
    }
    try meanwhile()
    try start()
  }

  func enrol(_ lock: VirtualLock) async throws {
    clock.advance(by: .seconds(1))
    try await attestor.enrol(lock.id, at: World.unlockURL)
  }

  /// Goes online by itself, as an app does that hears ``Mender/online``.
  func renew() async throws {
    clock.advance(by: .seconds(1))
    try await attestor.renew(at: World.unlockURL)
  }

  func door(
    _ lock: VirtualLock, over way: Way? = nil, memory: (any LinkMemoryStore)? = nil,
    mtu: Int = 185, seals: Bool = false, keepsChannel: Bool = true
  ) throws -> HardwareConnection {
    attestor.connection(
      to: try attestor.pairs.hardware(lock.id), over: way ?? Way(lock), memory: memory,
      options: .init(
        mtu: mtu, patience: .seconds(1), sealsCommands: seals, keepsChannel: keepsChannel))
  }

  /// Copies the folder, for another phone that has it from then on.
  func copyFolder() throws -> String {
    let copy = "\(folder)-\(UInt64.random(in: 1 ... .max))"
    try FileManager.default.copyItem(atPath: folder, toPath: copy)
    return copy
  }

  /// Copies the folder, as a backup does. The copy goes with this phone.
  func backUp() throws -> String {
    let copy = try copyFolder()
    copies.append(copy)
    return copy
  }

  /// Puts a copy of the folder in its place, while the app is not running.
  func restore(_ copy: String) throws {
    try restart {
      try FileManager.default.removeItem(atPath: folder)
      try FileManager.default.moveItem(atPath: copy, toPath: folder)
    }
  }

  // MARK: Expectations

  /// Sends a command offline, and expects the refusal of this code and what it says who mends it.
  func expectRefusal(
    _ code: String, mendedBy mender: Mender = .online, at lock: VirtualLock,
    _ command: Command = Phone.open, mayBeDone: Bool = false,
    sourceLocation: SourceLocation = #_sourceLocation
  ) async throws {
    let requests = world.requestCount
    let door = try door(lock)
    let error = await #expect(throws: LinkError.self, sourceLocation: sourceLocation) {
      try await door.send(command, within: Self.ample)
    }
    await door.disconnect()
    #expect(
      error?.code == code && error?.whoCanMend == mender && error?.commandMayBeDone == mayBeDone,
      "\(String(describing: error?.code)): \(String(describing: error))",
      sourceLocation: sourceLocation)
    #expect(world.requestCount == requests, sourceLocation: sourceLocation)
  }

  /// Tries to heal it without network, and expects the reason that says so.
  func expectNoNetwork(sourceLocation: SourceLocation = #_sourceLocation) async {
    world.goOffline()
    let error = await #expect(throws: EnrolmentError.self, sourceLocation: sourceLocation) {
      try await renew()
    }
    guard case .attestation(let cause)? = error else {
      Issue.record("\(String(describing: error))", sourceLocation: sourceLocation)
      return
    }
    #expect(
      cause.reason == .noNetwork && error?.whoCanMend == .user, sourceLocation: sourceLocation)
    world.goOnline()
  }

  /// The lock forgot the last command with its slot: the app asks its user to look, once. Nothing is done.
  func expectLook(
    at lock: VirtualLock, sourceLocation: SourceLocation = #_sourceLocation
  ) async throws {
    let done = lock.doneCount
    let door = try door(lock)
    let error = await #expect(throws: LinkError.self, sourceLocation: sourceLocation) {
      try await door.send(Self.open, within: Self.ample)
    }
    await door.disconnect()
    #expect(
      error?.reason == .earlierCommand && error?.earlier == .unknown && error?.whoCanMend == .user,
      "\(String(describing: error))", sourceLocation: sourceLocation)
    #expect(lock.doneCount == done, sourceLocation: sourceLocation)
  }

  /// Opens, offline.
  @discardableResult
  func expectOpens(
    _ lock: VirtualLock, _ verdict: Verdict = .accepted, _ command: Command = Phone.open,
    sourceLocation: SourceLocation = #_sourceLocation
  ) async throws -> Receipt {
    let (requests, done) = (world.requestCount, lock.doneCount)
    let door = try door(lock)
    let receipt = try await door.send(command, within: Self.ample)
    await door.disconnect()
    #expect(receipt.verdict == verdict, "\(receipt.verdict)", sourceLocation: sourceLocation)
    #expect(lock.doneCount == done + 1, sourceLocation: sourceLocation)
    #expect(world.requestCount == requests, "no network", sourceLocation: sourceLocation)
    return receipt
  }
}
