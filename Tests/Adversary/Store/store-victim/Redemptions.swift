// SPDX-License-Identifier: Apache-2.0

import Foundation
import ProofBackend
import ProofModel
import ProofService

// A replay store to be cut: `store-victim provision FILE` makes one. `store-victim redeem FILE FIRST COUNT` redeems
// tokens of one device and account, `store-victim insert FILE FIRST COUNT` uses keys; each prints a line when the store
// has answered. `getpgrp` marks where the uses begin and end. `store-victim uses FILE FIRST COUNT` opens the store as a
// gate does after its start, prints up to when it says that uses may be missing, how many events it has counted for the
// device and how many devices for the account, then which of the tokens were used before. A file whose name ends with
// `.db` is the service's database, of which an audience has a part. A file whose name ends with `.journal` is a replay
// journal, which redeems no tokens. STORE_NOW is the time of a verifier, by default the system's.

private func key(_ number: Int) throws -> ReplayKey {
  try ReplayKey(Array(Digest(hashing: Array("\(number)".utf8)).bytes.prefix(ReplayKey.byteCount)))
}

private func redemption(_ number: Int, at now: UnixTime) throws -> Redemption {
  Redemption(
    try key(number), until: now + 200_000, device: try key(-1), account: try key(-2),
    name: try key(-1_000 - number), kept: now + 86_400)
}

/// Writes a line with a call of `write` that a preloaded library sees; that of `print` is inside of glibc.
private func say(_ line: String) {
  FileHandle.standardOutput.write(Data((line + "\n").utf8))
}

private func store(_ path: String, isNew: Bool = false) throws -> any ReplayStore {
  if path.hasSuffix(".journal") {
    return try isNew ? JournalReplayStore(provisioning: path) : JournalReplayStore(at: path)
  }
  guard path.hasSuffix(".db") else {
    return try isNew ? SQLiteReplayStore(provisioning: path) : SQLiteReplayStore(at: path)
  }
  let database = try isNew ? SQLiteStore(creatingAt: path) : SQLiteStore(at: path)
  return try database.redemptions(for: AudienceID([UInt8](1...16)))
}

func runRedemptions(_ arguments: [String]) throws -> Bool {
  let told = ProcessInfo.processInfo.environment["STORE_NOW"].flatMap(Int64.init)
  let now = told.map { UnixTime(seconds: $0) } ?? .now
  if arguments[0] == "provision" {
    _ = try store(arguments[1], isNew: true)
    return true
  }
  guard ["redeem", "insert", "uses"].contains(arguments[0]), arguments.count == 4,
    let first = Int(arguments[2]), let count = Int(arguments[3])
  else { return false }
  let store = try store(arguments[1])
  let redeemer = store as? any RedemptionStore
  let numbers = first..<first + count
  switch arguments[0] {
  case "redeem":
    let all = try numbers.map { try redemption($0, at: now) }
    mark()
    for (number, redemption) in zip(numbers, all) {
      let end = try redeemer?.redeem(redemption, at: now, { _ in [1] })
      guard case .redeemed? = end else { continue }
      say("\(number)")
    }
    mark()
  case "insert":
    let all = try numbers.map { try key($0) }
    mark()
    for (number, key) in zip(numbers, all)
    where try store.insert(key, until: now + 200_000, at: now) {
      say("\(number)")
    }
    mark()
  default:
    say("gap \(try store.begin(at: now).gap ?? 0)")
    // A token of another number: the counts of all before it, and its own.
    let last = try redemption(1_000_000, at: now)
    if case .redeemed(let counts)? = try redeemer?.redeem(last, at: now, { _ in [] }) {
      say("events \(counts.eventsOfDevice.day - 1)")
    }
    for number in numbers where try !store.insert(key(number), until: now + 200_000, at: now) {
      say("used \(number)")
    }
    for number in numbers where try redeemer?.judgement(under: key(-1_000 - number)) != nil {
      say("judged \(number)")
    }
  }
  return true
}
