import Foundation

extension Story {
  /// The link loses, repeats, reorders and damages packets, and breaks off; a command is still done
  /// once.
  func useBadRadio() throws {
    narrator.begin("A bad radio")
    let commands = ["close", "open", "close", "open"]
    let before = try phone.app("status").doneCount ?? 0
    let outcomes = commands.map { _ in "accepted" }.joined(separator: ", ")
    try narrator.step("over a bad radio: " + commands.joined(separator: ", "), must: outcomes) {
      let (answers, air) = try overBadRadio { try commands.map { try phone.app($0) } }
      var time = StepTime()
      for answer in answers { time += answer.time }
      return Happening(answers.map(\.outcome).joined(separator: ", "), air, time: time)
    }
    try narrator.step("each was done", must: "once") {
      // One of those done is this question.
      let done = (try phone.app("status").doneCount ?? 0) - before - 1
      return Happening(done == commands.count ? "once" : "\(done) instead of \(commands.count)")
    }
  }

  /// Runs the app behind a radio that is bad in a way that the seed decides.
  private func overBadRadio(_ act: () throws -> [AppAnswer]) throws -> ([AppAnswer], String) {
    let socket = world.cast.folder + "/radio"
    let radio = try Child(
      "the radio", world.tool.path("proof-relay"),
      [
        "--listen", socket, "--socket", lock.socket, "--seed", "\(seed)",
      ], in: world.cast)
    defer {
      phone.stop()
      radio.stop()
    }
    try radio.line(with: "listening")
    try phone.start(over: socket)
    return (try act(), "")
  }
}
