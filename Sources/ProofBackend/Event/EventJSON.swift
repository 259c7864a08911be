// SPDX-License-Identifier: Apache-2.0

package import ProofJOSE
package import ProofModel

// Counts, risk and findings in JSON: in the answers of a listener for events, and in verdicts.

extension EventCounts {
  /// The three counts, each by its name.
  package var object: JSONObject {
    [
      "accountsOfDevice": .object(accountsOfDevice.object),
      "devicesOfAccount": .object(devicesOfAccount.object),
      "eventsOfDevice": .object(eventsOfDevice.object),
    ]
  }

  /// Reads ``object``; nil if a count is missing or none.
  package init?(_ object: JSONObject) {
    guard let accounts = Span(object["accountsOfDevice"]),
      let devices = Span(object["devicesOfAccount"]), let events = Span(object["eventsOfDevice"])
    else { return nil }
    self.init()
    accountsOfDevice = accounts
    devicesOfAccount = devices
    eventsOfDevice = events
  }
}

extension EventCounts.Span {
  /// The three numbers, each by its name.
  package var object: JSONObject {
    [
      "minute": .number(JSONNumber(Int64(minute))), "hour": .number(JSONNumber(Int64(hour))),
      "day": .number(JSONNumber(Int64(day))),
    ]
  }

  /// Reads ``object``; nil if a number is missing or out of range.
  package init?(_ value: JSONValue?) {
    guard case .object(let object)? = value else { return nil }
    func number(_ name: String) -> UInt32? {
      guard case .number(let number)? = object[name] else { return nil }
      return number.integer.flatMap { UInt32(exactly: $0) }
    }
    guard let minute = number("minute"), let hour = number("hour"), let day = number("day") else {
      return nil
    }
    self.init(minute: minute, hour: hour, day: day)
  }
}

extension EventRisk {
  /// The level's word and the reasons.
  package var object: JSONObject {
    ["level": .string(level.word), "reasons": .array(reasons.map { .string($0) })]
  }

  /// Reads ``object``; nil for a level that this version does not know.
  package init?(_ value: JSONValue?) {
    guard case .object(let object)? = value, case .string(let word)? = object["level"],
      let level = RiskLevel(word: word), case .array(let values)? = object["reasons"]
    else { return nil }
    var reasons: [String] = []
    for value in values {
      guard case .string(let reason) = value else { return nil }
      reasons.append(reason)
    }
    self.init(level: level, reasons: reasons)
  }
}

extension GateFinding {
  /// The text in JSON: category, a dot, number.
  package var text: String { "\(category).\(number)" }

  /// Reads ``text``; nil for another one.
  init?(text: String?) {
    let parts = (text ?? "").split(separator: ".", omittingEmptySubsequences: false)
    guard parts.count == 2, let category = UInt8(parts[0]), let number = UInt8(parts[1]) else {
      return nil
    }
    self.init(category: category, number: number)
  }
}
