// SPDX-License-Identifier: Apache-2.0

import Foundation

extension Story {
  /// The lock has written down what happened. The owner's phone carries the log, and the backend reads it.
  func carryLog() throws {
    narrator.begin("What the lock wrote down")
    try narrator.step("a link that has proved nothing asks for the log", must: "not handed out") {
      Happening(try phone.app("log unproved"))
    }
    try narrator.step("the owner's phone sends a command, and carries it", must: "carried") {
      Happening(try phone.app("log"))
    }
    let folder = phone.home + "/log"
    let files = try FileManager.default.contentsOfDirectory(atPath: folder).sorted().map {
      "\(folder)/\($0)"
    }
    try narrator.step("the operator reads the parts: proofctl log show", must: "whole") {
      let report = try world.backend.log(of: lock.identity, in: files)
      return Happening(report.outcome, report.words)
    }
    try narrator.step("the phone keeps the first part back", must: "incomplete") {
      let kept = files.filter { !$0.hasSuffix("/0.part") }
      let report = try world.backend.log(of: lock.identity, in: kept)
      return Happening(report.outcome, "the others tell what is missing")
    }
    try narrator.step(
      "the phone changes one bit of a part", must: "incomplete, its head is wrong: PROOF-26"
    ) {
      let changed = folder + "/0.part"
      var bytes = try Data(contentsOf: URL(fileURLWithPath: changed))
      // In an entry: behind the nonce and the fields.
      bytes[bytes.startIndex + 16 + 32 + Int(chance.next() % 32)] ^= 1
      try bytes.write(to: URL(fileURLWithPath: changed))
      let report = try world.backend.log(of: lock.identity, in: files)
      let code = report.refused.map(\.code).joined(separator: ", ")
      return Happening("\(report.outcome), its head is wrong: \(code)")
    }
  }
}

extension LogReport {
  /// Its content in numbers.
  fileprivate var words: String {
    let commands = entries.filter { $0.event == "command" }
    let accepted = commands.filter { $0.verdictName?.hasPrefix("accepted") == true }.count
    let notes = entries.compactMap(\.note)
    let refused = notes.map { $0.refusedCommands + $0.refusedTokens }.reduce(0, +)
    return """
      \(accepted) commands done and \(commands.count - accepted) refused of \(entries.count) entries, \
      \(notes.filter(\.started).count) starts, and \(refused) strangers refused in between
      """
  }
}
