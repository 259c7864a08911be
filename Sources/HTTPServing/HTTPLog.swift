// SPDX-License-Identifier: Apache-2.0

internal import ProofJOSE

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
  private let clock: @Sendable () -> Duration
  private let write: @Sendable (String) -> Void

  /// Makes a log.
  ///
  /// - Parameters:
  ///   - form: The form of lines.
  ///   - clock: The time since 1970.
  ///   - write: Takes each line, with its end; from any thread.
  public init(
    _ form: Form, clock: @escaping @Sendable () -> Duration,
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
    self.init(form, clock: { CoreSystem.time }, write: { CoreSystem.print($0) })
  }

  /// Writes a line.
  ///
  /// - Parameters:
  ///   - event: The event, such as `request`.
  ///   - values: The event's details, in order.
  public func note(_ event: String, _ values: [(name: String, value: Value)] = []) {
    let time = Self.text(ofTime: clock())
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
  static func text(ofTime time: Duration) -> String {
    let (seconds, attoseconds) = time.components
    let (day, second) = seconds.quotientAndRemainder(dividingBy: 86_400)
    let (year, month, dayOfMonth) = date(ofDay: day)
    let milliseconds = attoseconds / 1_000_000_000_000_000
    func digits(_ value: Int64, _ count: Int) -> String {
      let text = "\(value)"
      return String(repeating: "0", count: max(0, count - text.count)) + text
    }
    return "\(digits(year, 4))-\(digits(month, 2))-\(digits(dayOfMonth, 2))"
      + "T\(digits(second / 3600, 2)):\(digits(second / 60 % 60, 2)):\(digits(second % 60, 2))"
      + ".\(digits(milliseconds, 3))Z"
  }

  /// The Gregorian date of a day counted from 1970. Years begin in March here, so that a leap day comes
  /// last; 400 years have 146,097 days.
  private static func date(ofDay day: Int64) -> (year: Int64, month: Int64, day: Int64) {
    let shifted = day + 719_468
    let era = shifted / 146_097
    let dayOfEra = shifted % 146_097
    let yearOfEra =
      (dayOfEra - dayOfEra / 1_460 + dayOfEra / 36_524 - dayOfEra / 146_096) / 365
    let dayOfYear = dayOfEra - (365 * yearOfEra + yearOfEra / 4 - yearOfEra / 100)
    let monthFromMarch = (5 * dayOfYear + 2) / 153
    let dayOfMonth = dayOfYear - (153 * monthFromMarch + 2) / 5 + 1
    let month = monthFromMarch < 10 ? monthFromMarch + 3 : monthFromMarch - 9
    return (yearOfEra + era * 400 + (month <= 2 ? 1 : 0), month, dayOfMonth)
  }
}
