// SPDX-License-Identifier: Apache-2.0

internal import ProofBytes
public import ProofJOSE

/// Writes events, one line each: as text for people, or as JSON for programs.
///
/// A line never holds a body, a query, a header or a path, because those hold secrets and names. A
/// request is identified by its route's template.
public struct HTTPLog: Sendable {
  /// The form of lines.
  public enum Form: String, Sendable, CaseIterable {
    /// A JSON object, members sorted by name.
    case json
    /// The time, the event, then `name=value`.
    case text
  }

  /// A value beside a name.
  public enum Value: Sendable, Hashable {
    /// A text.
    case text(String)
    /// A whole number.
    case number(Int)
  }

  private let form: Form
  private let clock: UnixClock
  private let write: @Sendable (String) -> Void

  /// Makes a log.
  ///
  /// - Parameters:
  ///   - form: The form of lines.
  ///   - clock: The time of day.
  ///   - write: Takes each line, with its end; from any thread.
  public init(
    _ form: Form, clock: UnixClock,
    write: @escaping @Sendable (String) -> Void
  ) {
    self.form = form
    self.clock = clock
    self.write = write
  }

  /// A log with the system's clock, to standard output.
  ///
  /// - Parameter form: The form of lines.
  public init(_ form: Form) {
    self.init(form, clock: .system, write: { CoreSystem.print($0) })
  }

  /// Writes a line.
  ///
  /// - Parameters:
  ///   - event: The event, such as `request`.
  ///   - values: The event's details, in order.
  public func note(_ event: String, _ values: [(name: String, value: Value)] = []) {
    let time = Self.text(ofTime: clock.now)
    switch form {
    case .json:
      var object = JSONObject()
      object["time"] = .string(time)
      object["event"] = .string(event)
      for (name, value) in values {
        switch value {
        case .text(let text): object[name] = .string(text)
        case .number(let number): object[name] = .number(JSONNumber(Int64(number)))
        }
      }
      write(JSONValue.object(object).text + "\n")
    case .text:
      let words = values.map { name, value in
        switch value {
        case .text(let text): "\(name)=\(Self.quoted(text))"
        case .number(let number): "\(name)=\(number)"
        }
      }
      write(([time, event] + words).joined(separator: " ") + "\n")
    }
  }

  /// Quotes a value if it is not one plain word, so that a line break in it cannot forge a second
  /// line.
  private static func quoted(_ text: String) -> String {
    let isPlain = text.utf8.allSatisfy { $0 > 0x20 && $0 < 0x7F && $0 != UInt8(ascii: "\"") }
    return isPlain && !text.isEmpty ? text : JSONValue.string(text).text
  }

  /// The time as RFC 3339 writes it, in UTC with milliseconds.
  static func text(ofTime time: UnixTime) -> String {
    let (day, second) = time.seconds.quotientAndRemainder(dividingBy: 86_400)
    let milliseconds = Int64(time.nanoseconds / 1_000_000)
    let digits = CalendarDate.digits
    return CalendarDate(daysSince1970: day).text
      + "T\(digits(second / 3600, 2)):\(digits(second / 60 % 60, 2)):\(digits(second % 60, 2))"
      + ".\(digits(milliseconds, 3))Z"
  }
}
