// SPDX-License-Identifier: Apache-2.0

import Console
import Foundation

/// An app of the demonstration.
protocol DemoApp {
  /// Does what words say.
  func perform(_ words: [String]) async -> AppAnswer
}

/// `proof-demo app`: a sample app as a process, for a person or a program in front of it.
struct AppShell {
  private static let known = [
    Option("--home", "FOLDER", help: "the app's files; the present folder if missing"),
    Option("--socket", "PATH", help: "where the lock listens; the paired one if missing"),
    Option("--shop", help: "the app of the shop; else the app of the lock"),
    Option("--json", help: "answers in JSON, one line for each"),
  ]

  private static let usage = Usage(
    "proof-demo app", "[options] [VERB]",
    "A sample app. Does what the verb says; without one, what each line of its standard\n"
      + "input says. Ends with 1 if the last thing was not done.\n\n" + AppVerb.help
      + "\n\nWith --shop:\n\n" + ShopApp.help, known, takesOperands: true)

  private let app: any DemoApp
  private let words: [String]
  private let isJSON: Bool

  init(_ arguments: some Collection<String>) {
    let options = Self.usage.made(of: arguments) { $0 }
    words = options.operands
    isJSON = options.has("--json")
    do {
      let home = AppHome(options.value("--home") ?? ".")
      app =
        options.has("--shop")
        ? try ShopApp(home) : try SampleApp(home, link: options.value("--socket"))
    } catch {
      Terminal.complain("proof-demo app: \(error)")
      Terminal.end(1)
    }
  }

  /// Does the verb, or the verb in each line of input. Ends with 1 if the last one failed.
  func run() async -> Never {
    guard words.isEmpty else { Terminal.end(await answer(words) ? 0 : 1) }
    var isWell = true
    if isJSON { say("ready") }
    while let line = readLine() {
      let words = line.split(separator: " ").map(String.init)
      if !words.isEmpty { isWell = await answer(words) }
    }
    Terminal.end(isWell ? 0 : 1)
  }

  private func answer(_ words: [String]) async -> Bool {
    let answer = await app.perform(words)
    if isJSON, let data = try? JSONEncoder().encode(answer) {
      say(String(decoding: data, as: UTF8.self))
    } else {
      say(answer.outcome + (answer.detail.isEmpty ? "" : "\n  \(answer.detail)"))
    }
    return answer.isDone
  }

  private func say(_ text: String) {
    print(text)
    fflush(nil)
  }
}
