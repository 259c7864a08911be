// SPDX-License-Identifier: Apache-2.0

import ProofModel

/// A sink for log lines.
///
/// No line holds a key, a token or a secure string; an instance is named by its handle. Lines come one at a time,
/// on the thread that has something to say, so a sink must be quick and must not call the SDK.
public struct Log: Sendable {
  /// The weight of a line. A log takes the lines up to its level.
  public enum Level: Int, Sendable, Hashable, Comparable, CaseIterable {
    /// Nothing.
    case none
    /// An error that needs a change of the app or the account.
    case error
    /// An error after which the SDK tries again, such as a bad network.
    case warning
    /// Rare events of a session, such as its stop or a refusal by a gate.
    case info
    /// Each request and each measurement.
    case debug

    /// In the order of weight.
    public static func < (left: Level, right: Level) -> Bool { left.rawValue < right.rawValue }
  }

  /// The level up to which lines are taken.
  public let level: Level
  private let sink: CoreLock<@Sendable (Level, String) -> Void>

  /// A log that takes no line.
  public static let none = Log(upTo: .none) { _, _ in }

  /// Takes lines.
  ///
  /// - Parameters:
  ///   - level: The least important level that is taken.
  ///   - sink: Writes a line somewhere.
  public init(upTo level: Level, sink: @escaping @Sendable (Level, String) -> Void) {
    self.level = level
    self.sink = CoreLock(sink)
  }

  /// Writes a line. Its text is not made if the level is not taken.
  func write(_ level: Level, _ text: @autoclosure () -> String) {
    guard level <= self.level else { return }
    let line = Observation.line(text())
    sink.withLock { $0(level, line) }
  }
}
