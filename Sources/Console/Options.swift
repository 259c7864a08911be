// SPDX-License-Identifier: Apache-2.0

/// One option of a command line, such as `--json` or `--filter NAME`.
package struct Option: Sendable {
  package let name: String
  package let placeholder: String?
  package let help: String
  package let isRepeatable: Bool

  /// - Parameters:
  ///   - name: The option's name, with its dashes.
  ///   - placeholder: The word that stands for the value in help texts; nil for an option that
  ///     takes none.
  ///   - help: The option's effect, in a line.
  ///   - isRepeatable: Whether it may be given several times, each with a value.
  package init(
    _ name: String, _ placeholder: String? = nil, help: String, isRepeatable: Bool = false
  ) {
    self.name = name
    self.placeholder = placeholder
    self.help = help
    self.isRepeatable = isRepeatable
  }

  /// The option as it is typed: `--filter WORD`.
  package var words: String { name + (placeholder.map { " \($0)" } ?? "") }
}

/// A command line that is invalid.
package struct UsageError: Error, CustomStringConvertible {
  package let description: String

  package init(_ description: String) { self.description = description }
}

/// A command line, parsed by the options that a program takes. `--help` is always among them.
package struct Options: Sendable {
  /// The words that are not an option or an option's value, in order.
  package private(set) var operands: [String] = []
  private var values: [String: String] = [:]
  private var allValues: [String: [String]] = [:]

  /// - Parameters:
  ///   - arguments: The arguments; not the program's own name.
  ///   - options: The options that the program takes, all but `--help`.
  ///   - takesOperands: Whether words without dashes may stand between the options.
  /// - Throws: ``UsageError`` for an option that is unknown, is given twice, or lacks its value.
  package init(
    _ arguments: some Sequence<String>, taking options: [Option], takesOperands: Bool = false
  ) throws(UsageError) {
    var rest = Array(arguments)[...]
    while let argument = rest.popFirst() {
      if argument == "--help" || argument == "-h" {
        values["--help"] = ""
        continue
      }
      guard let option = options.first(where: { $0.name == argument }) else {
        guard takesOperands, !argument.hasPrefix("--") else {
          throw UsageError("unknown argument: \(argument)")
        }
        operands.append(argument)
        continue
      }
      guard values[option.name] == nil || option.isRepeatable else {
        throw UsageError("\(option.name) is given twice")
      }
      if option.placeholder == nil {
        values[option.name] = ""
      } else if let value = rest.first, !value.hasPrefix("--") {
        values[option.name] = value
        allValues[option.name, default: []].append(value)
        rest = rest.dropFirst()
      } else {
        throw UsageError("\(option.name) needs a value")
      }
    }
  }

  package func has(_ name: String) -> Bool { values[name] != nil }

  package func value(_ name: String) -> String? { values[name] }

  /// All values of a repeatable option, in the order they were given.
  package func values(_ name: String) -> [String] { allValues[name] ?? [] }

  /// The value of a required option.
  package func needed(_ name: String) throws(UsageError) -> String {
    guard let value = values[name] else { throw UsageError("\(name) is missing") }
    return value
  }

  /// The parts of a value between its commas; none if it is missing.
  package func list(_ name: String) -> [String] {
    (values[name] ?? "").split(separator: ",").map(String.init)
  }

  /// A whole number within a range; nil if it is missing.
  package func number<Number: FixedWidthInteger>(
    _ name: String, within range: ClosedRange<Number>
  ) throws(UsageError) -> Number? {
    guard let text = values[name] else { return nil }
    guard let number = Number(text), range.contains(number) else {
      // A bound of the number's type has no meaning for people.
      let allowed =
        range.upperBound == .max
        ? "a whole number from \(range.lowerBound)"
        : "\(range.lowerBound) to \(range.upperBound)"
      throw UsageError("\(name) is \(text); it takes \(allowed)")
    }
    return number
  }

  /// One of a few words; nil if it is missing.
  package func choice<Choice: RawRepresentable<String> & CaseIterable>(
    _ name: String, of _: Choice.Type = Choice.self
  ) throws(UsageError) -> Choice? {
    guard let text = values[name] else { return nil }
    guard let choice = Choice(rawValue: text) else {
      let words = Choice.allCases.map(\.rawValue).joined(separator: " or ")
      throw UsageError("\(name) is \(text); it takes \(words)")
    }
    return choice
  }

  /// An address and a port, as in `127.0.0.1:8443` or `[::1]:8443`; nil if it is missing.
  package func endpoint(
    _ name: String
  ) throws(UsageError) -> (address: String, port: UInt16)? {
    guard let text = values[name] else { return nil }
    guard let colon = text.lastIndex(of: ":"), let port = UInt16(text[text.index(after: colon)...])
    else { throw UsageError("\(name) is \(text); it must be like 127.0.0.1:8443 or [::1]:8443") }
    var address = text[..<colon]
    if address.hasPrefix("["), address.hasSuffix("]") { address = address.dropFirst().dropLast() }
    return (String(address), port)
  }
}
