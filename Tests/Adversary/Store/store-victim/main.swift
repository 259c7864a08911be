// SPDX-License-Identifier: Apache-2.0

import Foundation
import ProofKit
import ProofModel

// A process to be killed: `store-victim save FOLDER GENERATION` saves a pair, `store-victim load
// FOLDER` prints the generation of what is stored, or what the store says. `store-victim make
// FOLDER` makes the folder. `store-victim define FOLDER VALUE` defines a string of the app's own,
// `store-victim string FOLDER` prints it, and another one that stays. `getpgrp` marks where the save,
// or the making, begins and ends, for the tracer beside this file. Redemptions.swift has the verbs of
// replay stores, Links.swift those of the memory of a link.

/// Marks the beginning or the end of what the tracer cuts.
func mark() { _ = getpgrp() }

func pair(_ generation: UInt32) throws -> StoredMeasurement {
  let device = try Source(SourceID(.device, 1), version: 1, groupsLog2: 0)
  let app = try Source(SourceID(.app, 2), version: 1, groupsLog2: 0)
  let draft = try BaselineDraft(
    salt: Salt([UInt8](repeating: 1, count: 16)), sources: [device, app], generation: generation)
  let evidence = try EvidenceSet([
    EvidenceRecord(device.id, name: Array("board".utf8), digest: Digest(hashing: [1])),
    EvidenceRecord(app.id, name: Array("executable".utf8), digest: Digest(hashing: [2])),
  ])
  return try StoredMeasurement(
    MeasurementConfig(baseline: evidence, draft, with: .sdk),
    of: InstanceID([UInt8](repeating: 7, count: 16)))
}

func runStrings(_ arguments: [String]) throws -> Bool {
  let store = SecureStringStore(folder: arguments[1])
  let key = try StringKey(SecretBytes(copying: [UInt8](repeating: 7, count: 32).span))
  func define(_ name: String, _ value: String) throws {
    let value = SecretBytes(copying: Array(value.utf8).span)
    try store.define(name, as: value, of: "acme", with: [key])
  }
  switch arguments[0] {
  case "first":
    try define("stays", "here")
    try define("counts", arguments[2])
  case "define":
    mark()
    try define("counts", arguments[2])
    mark()
  case "string":
    for (name, expected) in [("stays", "here"), ("counts", arguments[2])] {
      let expected = SecretBytes(copying: Array(expected.utf8).span)
      let value = try store.string(named: name, of: "acme", with: [key])
      print(value.matches(expected) ? "same" : "other")
    }
  default: return false
  }
  return true
}

func run(_ arguments: [String]) throws {
  guard arguments.count >= 2 else { throw CocoaError(.featureUnsupported) }
  if arguments[0] == "make" {
    mark()
    _ = try MeasurementStore(folder: arguments[1])
    mark()
    return
  }
  if try runStrings(arguments) || runLinks(arguments) || runRedemptions(arguments) { return }
  let store = try MeasurementStore(folder: arguments[1])
  switch arguments[0] {
  case "save":
    let new = try pair(UInt32(arguments[2]) ?? 1)
    mark()
    try store.save(new)
    mark()
  case "hold":
    print("held")
    fflush(nil)
    _ = readLine()
  default:
    print(try store.load()?.generation ?? 0)
  }
}

do {
  try run(Array(CommandLine.arguments.dropFirst()))
} catch {
  print(error)
  exit(1)
}
