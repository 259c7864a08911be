// SPDX-License-Identifier: Apache-2.0

/// A class of commands, 0 to 15: a token permits commands by class.
///
/// The backend and the hardware agree on each class's meaning.
public struct CommandClass: RawRepresentable, Sendable, Hashable {
  /// The class's number.
  public let rawValue: UInt8

  /// A class, or nil for a number above 15.
  public init?(rawValue: UInt8) {
    guard rawValue < CoreWire.classes else { return nil }
    self.rawValue = rawValue
  }

  /// Checks a class's number.
  ///
  /// - Parameter number: 0 to 15.
  /// - Throws: ``ProofError/outOfRange(field:value:allowed:)``.
  public init(_ number: UInt8) throws(ProofError) {
    guard let value = Self(rawValue: number) else {
      throw .outOfRange(field: "command class", value: "\(number)", allowed: "0 to 15")
    }
    self = value
  }
}

extension CommandClass: ExpressibleByIntegerLiteral {
  /// A class whose number stands in the source. Traps above 15.
  public init(integerLiteral number: UInt8) {
    guard let value = Self(rawValue: number) else {
      preconditionFailure("A command class is 0 to 15, not \(number).")
    }
    self = value
  }
}

/// The classes of commands that a token permits.
public struct CommandClasses: OptionSet, Sendable, Hashable {
  /// One bit for each class, bit 0 for class 0.
  public let rawValue: UInt16

  /// Classes by their bits.
  public init(rawValue: UInt16) { self.rawValue = rawValue }

  /// One class.
  public init(_ commandClass: CommandClass) { rawValue = 1 << commandClass.rawValue }

  /// Several classes.
  public init(_ classes: some Sequence<CommandClass>) {
    rawValue = classes.reduce(0) { $0 | 1 << $1.rawValue }
  }

  /// All sixteen.
  public static let all = CommandClasses(rawValue: .max)

  /// Whether a class is among these.
  public func contains(_ commandClass: CommandClass) -> Bool {
    contains(CommandClasses(commandClass))
  }
}
