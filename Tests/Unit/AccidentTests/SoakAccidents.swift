// SPDX-License-Identifier: Apache-2.0

import Foundation
import ProofKit
import ProofKitTesting
import ProofLink
import ProofModel

@testable import ProofService

extension Soak {
  // MARK: The operator and the network

  func registerBuild() throws {
    world.pass(seconds: 60)
    latestBuild += 1
    try world.registerApp(Look(app: latestBuild), updating: Look(app: latestBuild - 1))
  }

  func registerSystem() throws {
    world.pass(seconds: 60)
    latestSystem += 1
    try world.registerSystem(Look(system: latestSystem))
  }

  /// The model's pairs of a fetch: four looks, of which the app and the system may go on.
  func noteFetch(_ which: Int) throws {
    let (side, now) = (sides[which], world.time)
    let look = side.phone.eyes.now
    for (index, lock) in locks.enumerated() {
      let base = try side.phone.attestor.pairs.hardware(lock.id).generation
      explain(
        base > side.stores[index].pairs.map(\.generation).max() ?? 0, "a generation came back")
      sides[which].stores[index].pairs = [
        (0, look.app, look.system), (1, look.app + 1, look.system), (2, look.app, latestSystem),
        (3, look.app + 1, latestSystem),
      ].map { offset, app, system in
        SoakModel.Pair(
          generation: base + offset, app: app, system: system, disk: side.disk,
          isUpcoming: offset > 0, issued: now, notAfter: now + SoakModel.lifetime,
          rights: rights(of: side.user))
      }
    }
  }

  func renew(_ which: Int) async throws {
    let phone = sides[which].phone
    if happens(200) {
      world.goOffline()
      defer { world.goOnline() }
      do {
        try await phone.renew()
        explain(false, "a fetch without network succeeded")
      } catch let error as EnrolmentError {
        guard case .attestation(let cause) = error, cause.reason == .noNetwork else {
          explain(false, "a fetch without network: \(error)")
          return
        }
        tally.count("offline")
      }
      return
    }
    world.pass(seconds: 60)
    do {
      try await phone.renew()
    } catch let error as EnrolmentError {
      // The machine of before was there within a day.
      explain(
        error == .backend(status: 401, word: "signature") && sides[which].disk > 0,
        "a fetch: \(error)")
      tally.count("clone window")
      world.pass(days: 2)
      try await phone.renew()
    }
    tally.count("fetch")
    try noteFetch(which)
  }

  // MARK: Settling

  /// Settles the command that a refusal left open: it was not done. False if the lock refuses the
  /// app itself.
  func settle(_ which: Int, _ lock: Int) async throws -> Bool {
    let door = try door(which, lock)
    sides[which].believed[lock] = nil
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
      try audit(which, lock)
      return true
    } catch let error as LinkError {
      await door.disconnect()
      let code = String(error.code.prefix { $0 != "." })
      if code == "LOCK-48", sides[which].isBehind[lock] {
        // The user looks at the door.
        tally.count("flash restored under an open command")
        try await door.forgetOpenCommand()
        (sides[which].isOpen[lock], sides[which].isBehind[lock]) = (false, false)
        try audit(which, lock)
        return true
      }
      explain(
        answers(which, lock, class: 0b1).contains(code)
          || (code == "LOCK-17" && cannotSettle(which, lock)),
        "phone \(which), lock \(lock), settling: \(error)")
      tally.count("settling \(code)")
      try audit(which, lock)
      if error.whoCanMend == .online { try await renew(which) }
      return false
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

  // MARK: Before a session

  func accident(_ which: Int, _ lock: Int) async throws {
    let phone = sides[which].phone
    let roll = below(1000)
    if roll < 82 { history.append("\(tally.sessions):\(which)/\(lock) roll \(roll)") }
    switch roll {
    case 0..<12:
      phone.eyes.set { $0.app += 1 }
      tally.count("app updated")
      if phone.eyes.now.app == latestBuild { try registerBuild() }
    case 12..<20:
      let latest = latestSystem
      phone.eyes.set { $0.system = latest }
      tally.count("system updated")
      try registerSystem()
    case 20..<23:
      strangeSystem += 1
      let system = strangeSystem
      phone.eyes.set { $0.system = system }
      tally.count("system updated, not registered")
    case 23..<25 where sides[which].user == 1:
      sides[which].disk += 1
      let disk = sides[which].disk
      phone.eyes.set { $0.device[4] = "disk \(disk)" }
      tally.count("disk renumbered")
    case 25..<35: try await order(which, lock)
    case 35..<45: restart(lock)
    case 45..<55: try backUp(which)
    case 55..<60: try restore(which)
    case 60..<64: images[lock] = Image(flash: locks[lock].flash, model: model.locks[lock])
    case 64..<66: restoreFlash(lock)
    case 66..<68:
      sides[which].memories[lock] = MemoryLinkStore()
      sides[which].stores[lock].ratchet = nil
      sides[which].believed[lock] = nil
      (sides[which].isOpen[lock], sides[which].isForgotten[lock]) = (false, false)
      tally.count("link memory lost")
    case 68..<78:
      try await renew(which)
    case 78..<82:
      world.pass(days: 5)
    case 82..<86 where sides[which].user == 0:
      lendsMore.toggle()
      try permit(0, like: phone)
      tally.count("rights to lend changed")
    default: break
    }
  }

  func restart(_ lock: Int) {
    locks[lock].powerOn()
    model.restart(lock)
    tally.count("lock restarted")
  }

  func order(_ which: Int, _ lock: Int) async throws {
    let door = try door(which, lock)
    try await order(lock, by: which, over: door)
    await door.disconnect()
  }

  /// An order of the backend, carried by any phone.
  func order(_ lock: Int, by which: Int, over door: HardwareConnection) async throws {
    world.pass(seconds: 60)
    // An app that fits another pair by now forgets what it knew of the one that is held.
    if sides[which].believed[lock] != chosen(which, lock).generation {
      sides[which].believed[lock] = nil
    }
    let roll = below(8)
    if roll == 0 {
      try await door.deliver(world.issuer().orderFloor(for: locks[lock].id))
      let freed = model.raiseFloor(to: world.time, at: lock)
      for index in sides.indices where freed.contains(sides[index].user) {
        sides[index].isForgotten[lock] = true
      }
      tally.count("floor")
    } else if roll == 1 {
      let user = below(3)
      let known = sides.filter { $0.user == user }
      let last = known.flatMap(\.stores[lock].pairs).map(\.generation).max() ?? 0
      let held = model.locks[lock].slots[user]?.pair.generation ?? 0
      let through = max(last, held)
      try await door.deliver(
        world.issuer().orderRevocation(
          of: known[0].phone.attestor.pairs.hardware(locks[lock].id).instance, through: through,
          at: locks[lock].id))
      model.revoke(user, through: through, at: lock, time: world.time)
      tally.count("revocation")
    } else {
      try await door.deliver(world.issuer().orderEpoch(for: locks[lock].id))
      model.raise(to: world.time, at: lock)
      tally.count("epoch")
    }
  }

  func backUp(_ which: Int) throws {
    guard !sides[which].isOpen.contains(true) else { return }
    let side = sides[which]
    if let old = backups[which] { try FileManager.default.removeItem(atPath: old.folder) }
    backups[which] = Backup(
      folder: try side.phone.backUp(), memories: try side.memories.map { try $0.load() },
      stores: side.stores)
  }

  func restore(_ which: Int) throws {
    guard let backup = backups.removeValue(forKey: which) else { return }
    try sides[which].phone.restore(backup.folder)
    for (index, bytes) in backup.memories.enumerated() {
      sides[which].memories[index] = MemoryLinkStore()
      if let bytes { try sides[which].memories[index].save(bytes) }
    }
    sides[which].stores = backup.stores
    sides[which].believed = [nil, nil]
    (sides[which].isOpen, sides[which].isForgotten) = ([false, false], [false, false])
    tally.count("folder restored")
  }

  func restoreFlash(_ lock: Int) {
    guard let image = images.removeValue(forKey: lock) else { return }
    // The log of before ends here; with the one after it the backend sees a fork.
    explain(desks[lock].end() != .altered, "the log of a lock is altered")
    desks[lock].begin()
    locks[lock].restore(image.flash)
    model.locks[lock] = image.model
    for index in sides.indices {
      sides[index].isForgotten[lock] = true
      sides[index].isBehind[lock] = sides[index].isOpen[lock]
      sides[index].isUnknown[lock] = image.model.slots[sides[index].user] == nil
    }
    tally.count("flash restored")
  }
}

/// The backend's desk for the log of one lock.
final class LogDesk {
  private let key: HardwareLogKey
  private var reader: HardwareLogReader?
  private(set) var next: UInt64 = 0

  init(_ lock: VirtualLock) throws {
    guard let drawn = lock.drawn else { throw ProofError.storageFailed }
    key = try HardwareLogKey(of: lock.id, drawn: SecretBytes(copying: drawn.span))
    begin()
  }

  func begin() {
    reader = HardwareLogReader(of: key)
    next = 0
  }

  /// Reads one part, and returns what should not be.
  func read(_ part: HardwareLogPart) -> [String] {
    next = part.entries.upperBound
    do {
      let findings = try reader?.read(part) ?? []
      return findings.filter { [.changed, .forked, .shorter].contains($0.kind) }.map { "\($0)" }
    } catch {
      return ["\(error)"]
    }
  }

  func end() -> HardwareLogOutcome {
    guard let ending = reader.take() else { return .whole }
    return ending.end().1
  }
}
