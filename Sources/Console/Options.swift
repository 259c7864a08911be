/// One option of a command line, such as `--json` or `--filter NAME`.
package struct Option: Sendable {
  let name: String
  let placeholder: String?
  let help: String

  /// - Parameters:
  ///   - name: With its dashes.
  ///   - placeholder: What stands for the value, for options that take one.
  ///   - help: What it does, in a line.
  package init(_ name: String, _ placeholder: String? = nil, help: String) {
    self.name = name
    self.placeholder = placeholder
    self.help = help
  }
}

/// A command line that could not be understood.
package struct UsageError: Error, CustomStringConvertible {
  package let description: String

  package init(_ description: String) { self.description = description }
}

/// A command line, read against the options that a program takes. `--help` is always among them.
package struct Options: Sendable {
  private var values: [String: String] = [:]

  package init(_ arguments: some Sequence<String>, taking options: [Option]) throws(UsageError) {
    var rest = Array(arguments)[...]
    while let argument = rest.popFirst() {
      if argument == "--help" || argument == "-h" {
        values["--help"] = ""
        continue
      }
      guard let option = options.first(where: { $0.name == argument }) else {
        throw UsageError("unknown argument: \(argument)")
      }
      if option.placeholder == nil {
        values[option.name] = ""
      } else if let value = rest.popFirst() {
        values[option.name] = value
      } else {
        throw UsageError("\(option.name) needs a value")
      }
    }
  }

  package func has(_ name: String) -> Bool { values[name] != nil }

  package func value(_ name: String) -> String? { values[name] }

  /// What `--help` prints.
  package static func help(_ usage: String, _ summary: String, _ options: [Option]) -> String {
    let all = options + [Option("--help", help: "prints this")]
    let names = all.map { $0.name + ($0.placeholder.map { " \($0)" } ?? "") }
    let width = names.map(\.count).max() ?? 0
    let lines = zip(all, names).map { option, name in
      "  \(name)\(String(repeating: " ", count: width - name.count))  \(option.help)"
    }
    return "usage: \(usage)\n\n\(summary)\n\n" + lines.joined(separator: "\n")
  }
}
