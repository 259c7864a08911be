// SPDX-License-Identifier: Apache-2.0

import Foundation

extension Story {
  /// An attacker is on the link between app and lock.
  func listenIn() throws {
    narrator.begin("Attacks on the link")
    var recorded = ""
    try narrator.step("a thief listens while the owner opens", must: "accepted") {
      let answer: AppAnswer
      (answer, recorded) = try tapped { try phone.app("open") }
      return Happening(answer.outcome, "recorded: \(recorded.count / 2) bytes", time: answer.time)
    }
    try narrator.step("he plays the recording", must: "stale") {
      Happening(
        try attack("replay", "--command", recorded), "twice: as it is, then under a new challenge")
    }
    try narrator.step("he plays it after a power cut of the lock", must: "stale") {
      lock.cut()
      try lock.start()
      return Happening(try attack("replay", "--command", recorded))
    }
    try narrator.step(
      "he makes 'open' of a 'status' on its way", must: "device differs, then accepted"
    ) {
      _ = try phone.app("close")
      lock.turnPage()
      let (answer, _) = try tapped(["--replace", "open"]) { try phone.app("status") }
      return Happening(
        "\(try lock.verdict(on: "command")), then \(answer.outcome)",
        "the owner's own command goes through afterwards: \(answer.detail)")
    }
    try narrator.step("he forges a token with keys of his own", must: "not for me") {
      let instance = try phone.app("enrol").instance ?? ""
      let verdict = try attack(
        "forge", "--hardware", lock.identity.id, "--key", lock.identity.publicKey, "--instance",
        instance)
      return Happening(
        verdict,
        "sealed to the lock's public key, everything public is right; the factory secret is not")
    }
  }

  /// Runs the app behind a tap. Returns the app's answer, and the first command that passed.
  func tapped(
    _ options: [String] = [], _ act: () throws -> AppAnswer
  ) throws -> (AppAnswer, command: String) {
    let (answer, commands) = try tapped(options, commands: 1, act)
    return (answer, commands[0])
  }

  /// The same, with as many commands as passed.
  func tapped(
    _ options: [String] = [], commands count: Int, _ act: () throws -> AppAnswer
  ) throws -> (AppAnswer, commands: [String]) {
    let socket = world.cast.folder + "/tap"
    let tap = try Child(
      "the thief's tap", world.tool.path("proof-demo"),
      ["attack", "tap", "--listen", socket, "--socket", lock.socket] + options, in: world.cast)
    defer {
      phone.stop()
      tap.cut()
      try? FileManager.default.removeItem(atPath: socket)
    }
    try tap.line(with: "ready")
    try phone.start(over: socket)
    let answer = try act()
    let commands = try (0..<count).map { _ in
      String(try tap.line(with: "command ").dropFirst("command ".count))
    }
    return (answer, commands)
  }

  /// Runs one of the thief's programs against the lock, and returns the lock's answer.
  func attack(_ arguments: String...) throws -> String {
    let output = try world.tool.run(
      world.tool.path("proof-demo"), ["attack"] + arguments + ["--socket", lock.socket])
    return String(decoding: output, as: UTF8.self).trimmingCharacters(in: .whitespacesAndNewlines)
  }
}
