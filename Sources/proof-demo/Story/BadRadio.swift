// SPDX-License-Identifier: Apache-2.0

import Foundation

extension Story {
  /// The link loses, repeats, reorders and damages packets, and breaks off; a command is still done
  /// once.
  func useBadRadio() throws {
    narrator.begin("A bad radio")
    let commands = ["close", "open", "close", "open"]
    var before = 0
    let outcomes = commands.map { _ in "accepted" }.joined(separator: ", ")
    try narrator.step("over a bad radio: " + commands.joined(separator: ", "), must: outcomes) {
      before = try phone.app("status").doneCount ?? 0
      let (answers, air) = try overBadRadio { try commands.map { try phone.app($0) } }
      var time = StepTime()
      for answer in answers { time += answer.time }
      return Happening(answers.map(\.outcome).joined(separator: ", "), air, time: time)
    }
    try narrator.step("each was done", must: "once") {
      // One of those done is this status command.
      let done = (try phone.app("status").doneCount ?? 0) - before - 1
      return Happening(done == commands.count ? "once" : "\(done) instead of \(commands.count)")
    }
  }

  /// Runs the app behind a radio whose faults the seed decides. Returns the app's answers, and the
  /// fates of the packets.
  private func overBadRadio(_ act: () throws -> [AppAnswer]) throws -> ([AppAnswer], String) {
    let socket = world.cast.folder + "/radio"
    let radio = try Child(
      "proof-relay", world.tool.path("proof-relay"),
      [
        "--listen", socket, "--connect", lock.socket, "--seed", "\(seed)", "--loss", "20",
        "--duplication", "60", "--reordering", "40", "--corruption", "15", "--truncation", "10",
        "--disconnection", "5",
      ], in: world.cast)
    try radio.line(with: "listening")
    try phone.start(over: socket)
    let answers = try act()
    phone.stop()
    radio.stop()
    return (answers, Self.fates(radio.rest()))
  }

  /// Adds up the relay's traces of its links: a letter for each packet.
  private static func fates(_ lines: [String]) -> String {
    let links = lines.filter { $0.hasPrefix("link ") }.count
    let letters = lines.filter { $0.hasPrefix("  to ") }.flatMap { line in
      line.split(separator: " ").last ?? ""
    }
    let names: [(Character, String)] = [
      ("l", "lost"), ("d", "twice"), ("r", "late"), ("c", "damaged"), ("t", "cut short"),
    ]
    let counts = names.map { letter, name in "\(letters.filter { $0 == letter }.count) \(name)" }
    return "\(links) links, packets " + counts.joined(separator: ", ")
  }
}
