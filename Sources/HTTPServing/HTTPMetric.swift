// SPDX-License-Identifier: Apache-2.0

/// One measure with its samples, as Prometheus reads it (text format 0.0.4).
public struct HTTPMetric: Sendable, Hashable {
  /// The way a value changes.
  public enum Kind: String, Sendable {
    /// It only grows.
    case counter
    /// It goes up and down.
    case gauge
    /// Counts of values below bounds.
    case histogram
  }

  /// One value.
  public struct Sample: Sendable, Hashable {
    /// The suffix of the measure's name, such as `_sum`; usually empty.
    public let suffix: String
    /// The labels that distinguish this value from the others of the measure, in order.
    public let labels: [Label]
    /// The value.
    public let value: Double

    /// A value.
    public init(_ value: Double, labels: [Label] = [], suffix: String = "") {
      self.value = value
      self.labels = labels
      self.suffix = suffix
    }
  }

  /// A label that distinguishes one sample from another.
  public struct Label: Sendable, Hashable {
    /// The label's name, such as `route`.
    public let name: String
    /// The label's value, such as `/v1/report`.
    public let value: String

    /// A label.
    public init(_ name: String, _ value: String) {
      self.name = name
      self.value = value
    }
  }

  /// The measure's name, such as `proof_requests_total`.
  public let name: String
  /// The way its values change.
  public let kind: Kind
  /// The measure's meaning, in a line.
  public let help: String
  /// The values.
  public let samples: [Sample]

  /// A measure.
  public init(_ name: String, _ kind: Kind, help: String, samples: [Sample]) {
    self.name = name
    self.kind = kind
    self.help = help
    self.samples = samples
  }

  /// A measure of one value.
  public init(_ name: String, _ kind: Kind, help: String, _ value: Double) {
    self.init(name, kind, help: help, samples: [Sample(value)])
  }

  /// The measure's lines, each with its end.
  public var text: String {
    var text = "# HELP \(name) \(help)\n# TYPE \(name) \(kind.rawValue)\n"
    for sample in samples {
      text += name + sample.suffix
      if !sample.labels.isEmpty {
        let labels = sample.labels.map { "\($0.name)=\"\(Self.escaped($0.value))\"" }
        text += "{" + labels.joined(separator: ",") + "}"
      }
      text += " \(Self.number(sample.value))\n"
    }
    return text
  }

  /// Writes a number, with no point if it is whole and exact.
  static func number(_ value: Double) -> String {
    Int(exactly: value).map(String.init) ?? "\(value)"
  }

  private static func escaped(_ value: String) -> String {
    var escaped = ""
    for scalar in value.unicodeScalars {
      switch scalar {
      case "\\": escaped += "\\\\"
      case "\"": escaped += "\\\""
      case "\n": escaped += "\\n"
      default: escaped.unicodeScalars.append(scalar)
      }
    }
    return escaped
  }
}
