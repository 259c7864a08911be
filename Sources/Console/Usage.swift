// SPDX-License-Identifier: Apache-2.0

/// The usage of a program: its options, and the text of its `--help`.
package struct Usage: Sendable {
  /// The program's name as it is typed, for error messages.
  private let program: String
  private let synopsis: String
  private let summary: String
  private let options: [Option]
  private let takesOperands: Bool

  /// - Parameters:
  ///   - program: The program's name, as it is typed.
  ///   - synopsis: The words behind the name; further lines of it are whole.
  ///   - summary: The program's purpose, in a few lines.
  ///   - options: The program's options, all but `--help` and `--version`.
  ///   - takesOperands: Whether words without dashes may stand between the options.
  package init(
    _ program: String, _ synopsis: String, _ summary: String, _ options: [Option],
    takesOperands: Bool = false
  ) {
    self.program = program
    self.synopsis = synopsis
    self.summary = summary
    self.options = options
    self.takesOperands = takesOperands
  }

  /// The text that `--help` prints.
  package var help: String {
    let all = options + [Self.version, Option("--help", help: "prints this")]
    return "usage: \(program) \(synopsis)\n\n\(summary)\n\n"
      + Self.columns(all.map { ($0.words, $0.help) })
  }

  /// The option that every program takes.
  private static let version = Option("--version", help: "prints the version")

  /// Two columns: the words to type, and their effect.
  package static func columns(_ rows: [(words: String, help: String)]) -> String {
    let width = rows.map(\.words.count).max() ?? 0
    return rows.map { words, help in
      "  \(words)\(String(repeating: " ", count: width - words.count))  \(help)"
    }.joined(separator: "\n")
  }

  /// Reads a command line; the program's own name is not part of it.
  package func read(_ arguments: some Sequence<String>) throws(UsageError) -> Options {
    try Options(arguments, taking: options + [Self.version], takesOperands: takesOperands)
  }

  /// The line that `--version` prints. The first word of the program's name is the executable's.
  package var versionLine: String {
    "\(program.prefix { $0 != " " }) \(Version.text)"
  }

  /// Turns a command line into the program's settings. If it asks for help, prints that and ends
  /// the process with 0. If it is invalid, prints the reason and ends the process with 2.
  package func made<Value>(
    of arguments: some Sequence<String>, by make: (Options) throws -> Value
  ) -> Value {
    do {
      let options = try read(arguments)
      if options.has("--help") {
        print(help)
        Terminal.end(0)
      }
      if options.has("--version") {
        print(versionLine)
        Terminal.end(0)
      }
      return try make(options)
    } catch {
      refuse(error)
    }
  }

  /// Prints the error in the command line, and ends the process with 2.
  package func refuse(_ error: any Error) -> Never {
    Terminal.complain("\(program): \(error); --help tells more")
    Terminal.end(2)
  }
}
