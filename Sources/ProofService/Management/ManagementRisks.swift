// SPDX-License-Identifier: Apache-2.0

internal import ProofBackend
internal import ProofJOSE

// The account's rules that tell the risk of events.

extension Management {
  /// The risk rules, by name.
  public func risks() throws(ServiceError) -> [NamedRisk] { try NamedRisks(of: store).all }

  /// Adds a risk rule. The next configuration of each gate and redeemer has it.
  ///
  /// - Throws: ``ServiceError/alreadyThere(_:name:)``, ``ServiceError/invalid(_:value:allowed:)``.
  public func addRisk(_ risk: NamedRisk) throws(ServiceError) {
    try rewrite(.risks, absent: NamedRisks()) { risks throws(ServiceError) in
      guard !risks.all.contains(where: { $0.name == risk.name }) else {
        throw .alreadyThere(NamedRisk.noun, name: risk.name)
      }
      guard risks.all.count < NamedRisk.countMax else {
        throw .invalid(
          "number of risk rules", value: "\(risks.all.count + 1)",
          allowed: "at most \(NamedRisk.countMax)")
      }
      risks.all.append(risk)
      risks.all.sort { $0.name < $1.name }
    }
  }

  /// Removes a risk rule.
  ///
  /// - Throws: ``ServiceError/unknown(_:name:)``.
  public func removeRisk(_ name: String) throws(ServiceError) {
    try rewrite(.risks, absent: NamedRisks()) { risks throws(ServiceError) in
      guard let index = risks.all.firstIndex(where: { $0.name == name }) else {
        throw .unknown(NamedRisk.noun, name: String(name.prefix(80)))
      }
      risks.all.remove(at: index)
    }
  }

  func performRisk(
    _ verb: String, _ arguments: inout ManagementArguments
  ) throws(ServiceError) -> JSONValue? {
    switch verb {
    case "list":
      try arguments.finish()
      return .array(try risks().map { .object($0.fields) })
    case "add":
      let risk = try Self.risk(&arguments)
      try arguments.finish()
      try addRisk(risk)
      return .object(risk.fields)
    case "remove":
      let name = try arguments.text("name")
      try arguments.finish()
      try removeRisk(name)
      return Self.done
    default: return nil
    }
  }

  private static func risk(
    _ arguments: inout ManagementArguments
  ) throws(ServiceError) -> NamedRisk {
    let name = try arguments.text("name")
    let when = try arguments.text("when")
    guard let condition = RiskCondition(when) else {
      throw .invalid(
        "when", value: String(when.prefix(80)),
        allowed: "a fact, or a number with > or < and a bound, such as accounts-of-device/hour > 3")
    }
    let word = try arguments.text("level")
    guard let level = RiskLevel(word: word), level != .none else {
      throw .invalid("level", value: String(word.prefix(80)), allowed: "low, medium, high")
    }
    let text = try arguments.optionalText("numbers") ?? "0-65535"
    guard let numbers = EventRange.numbers(parsing: text) else {
      throw .invalid(
        "numbers", value: String(text.prefix(80)),
        allowed: "a number or FIRST-LAST, 0 to 65535, such as 3300-3400")
    }
    let reason = try arguments.text("reason")
    guard let rule = RiskRule(numbers, condition, level, reason) else {
      throw .invalid(
        "reason", value: String(reason.prefix(80)),
        allowed: "1 to \(RiskRule.reasonMax) bytes of text without control characters")
    }
    return try NamedRisk(name, rule)
  }
}
