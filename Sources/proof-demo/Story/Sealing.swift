// SPDX-License-Identifier: Apache-2.0

extension Story {
  /// The thief on the link reads a command in the clear, and nothing of a sealed one, nor of a
  /// further one in a channel.
  func sealCommands() throws {
    narrator.begin("Sealed commands")
    let instance = try phone.app("show").instance ?? ""
    try narrator.step(
      "the thief reads what he hears of a command in the clear",
      must: "the command, and whose it is"
    ) {
      let (_, heard) = try tapped { try phone.app("open") }
      return Happening(try read(heard, by: instance))
    }
    var heard = ""
    try narrator.step("the owner's app seals its command and opens", must: "accepted") {
      let answer: AppAnswer
      (answer, heard) = try tapped { try phone.app("open sealed") }
      return Happening(answer.outcome, "recorded: \(heard.count / 2) bytes", time: answer.time)
    }
    try narrator.step("the thief reads what he hears of that", must: "neither") {
      Happening(try read(heard, by: instance), "with the command and the installation to look for")
    }
    try narrator.step("he plays the recording", must: "stale") {
      Happening(try attack("replay", "--command", heard))
    }
    try useChannel()
  }

  /// A second command goes in the channel that the first one has opened: one message each way.
  private func useChannel() throws {
    let instance = try phone.app("show").instance ?? ""
    var heard: [String] = []
    try narrator.step(
      "the owner's app opens twice, the second time in a channel", must: "accepted, accepted"
    ) {
      let answer: AppAnswer
      (answer, heard) = try tapped(commands: 2) { try phone.app("open sealed twice") }
      let sizes = heard.map { "\($0.count / 2)" }.joined(separator: " and ")
      return Happening(
        answer.outcome, "recorded: \(sizes) bytes; the second asked for no challenge",
        time: answer.time)
    }
    try narrator.step("the thief reads the second one, and plays it", must: "neither, stale") {
      let seen = try read(heard[1], by: instance)
      return Happening("\(seen), \(try attack("replay", "--in-channel", "--command", heard[1]))")
    }
  }

  /// Says which parts of an installation's command "open" stand in a recording.
  private func read(_ heard: String, by instance: String) throws -> String {
    try attack("read", "--command", heard, "--text", "open", "--instance", instance)
  }
}
