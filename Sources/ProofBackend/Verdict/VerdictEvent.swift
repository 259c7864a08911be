// SPDX-License-Identifier: Apache-2.0

internal import ProofJOSE
internal import ProofModel

extension GateVerdict {
  /// The event that the request's token counted for. The gate has redeemed the token: do not redeem it again.
  public struct Event: Sendable, Hashable {
    /// The event's number.
    public var number: UInt16
    /// Seconds from the token's moment to the judgement; negative if the app's clock is ahead.
    public var age: Int64
    /// Seconds since the measurement, 255 for more.
    public var measured: UInt8
    /// Whether the app's process was younger than two seconds.
    public var isYoung = false
    /// Whether the token carries a beacon of the last 15 minutes.
    public var isAnchored = false
    /// The user account that the token names; nil for none. Compare it with the user of the request.
    public var account: EventAccount?
    /// Counts with this event in them.
    public var counts = EventCounts()
    /// The risk by the account's rules.
    public var risk = EventRisk()

    /// An event of which number, age and measurement are known.
    public init(_ number: UInt16, age: Int64, measured: UInt8) {
      self.number = number
      self.age = age
      self.measured = measured
    }

    /// The event of a judgement on a token that counts; nil for another judgement.
    package init?(_ number: UInt16, _ judgement: EventJudgement, _ account: EventAccount?) {
      guard judgement.isValid, let age = judgement.age, let measured = judgement.measured,
        let counts = judgement.counts
      else { return nil }
      self.init(number, age: age, measured: measured)
      isYoung = judgement.isYoung
      isAnchored = judgement.isAnchored
      self.account = account
      self.counts = counts
      risk = judgement.risk
    }
  }
}

extension GateVerdict.Event {
  var object: JSONObject {
    var object: JSONObject = [
      "number": .number(JSONNumber(Int64(number))), "age": .number(JSONNumber(age)),
      "measured": .number(JSONNumber(Int64(measured))), "young": .bool(isYoung),
      "anchored": .bool(isAnchored), "counts": .object(counts.object),
      "risk": .object(risk.object),
    ]
    if let account { object["account"] = .string(account.text) }
    return object
  }

  init?(_ object: JSONObject) {
    guard let number = object["number"].integer.flatMap({ UInt16(exactly: $0) }),
      let age = object["age"].integer,
      let measured = object["measured"].integer.flatMap({ UInt8(exactly: $0) }),
      case .bool(let isYoung)? = object["young"], case .bool(let isAnchored)? = object["anchored"],
      case .object(let told)? = object["counts"], let counts = EventCounts(told),
      let risk = EventRisk(object["risk"])
    else { return nil }
    self.init(number, age: age, measured: measured)
    self.isYoung = isYoung
    self.isAnchored = isAnchored
    self.counts = counts
    self.risk = risk
    account = object["account"].text.flatMap { EventAccount($0) }
    guard (object["account"] == nil) == (account == nil) else { return nil }
  }
}
