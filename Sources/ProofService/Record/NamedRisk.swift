// SPDX-License-Identifier: Apache-2.0

public import ProofBackend
public import ProofJOSE
internal import ProofModel

/// A rule of the account that tells the risk of events, under a name.
public struct NamedRisk: Sendable, Hashable {
  /// How many an account may have.
  public static let countMax = 64
  static let noun = "risk rule"

  /// Its name: 1 to 32 lower-case letters, digits and hyphens.
  public let name: String
  /// The rule.
  public let rule: RiskRule

  /// Names a rule.
  ///
  /// - Throws: ``ServiceError/invalid(_:value:allowed:)`` for the name.
  public init(_ name: String, _ rule: RiskRule) throws(ServiceError) {
    try NamedChallenge.check(name, of: "risk rule")
    self.name = name
    self.rule = rule
  }

  /// All of it as JSON.
  public var fields: JSONObject {
    [
      "name": .string(name), "numbers": .string(EventRange.text(of: rule.numbers)),
      "when": .string(rule.condition.text), "level": .string(rule.level.word),
      "reason": .string(rule.reason),
    ]
  }

  /// The part that a configuration has.
  var claims: JSONObject {
    var claims: JSONObject = [
      "when": .string(rule.condition.text), "level": .string(rule.level.word),
      "reason": .string(rule.reason),
    ]
    claims.set("first", Int64(rule.numbers.lowerBound))
    claims.set("last", Int64(rule.numbers.upperBound))
    return claims
  }

  init?(_ fields: JSONObject) {
    guard let name = fields.text("name"),
      let numbers = fields.text("numbers").flatMap(EventRange.numbers(parsing:)),
      let condition = fields.text("when").flatMap(RiskCondition.init),
      let level = fields.text("level").flatMap(RiskLevel.init(word:)),
      let rule = fields.text("reason").flatMap({ RiskRule(numbers, condition, level, $0) }),
      let risk = try? NamedRisk(name, rule)
    else { return nil }
    self = risk
  }
}

/// The risk rules of an account, by name: one document, so that no name is given twice.
struct NamedRisks: Sendable, Hashable, DocumentValue {
  var all: [NamedRisk] = []

  init() {}

  /// Reads what ``fields`` wrote.
  init?(_ fields: JSONObject) {
    guard case .array(let values) = fields["risks"] else { return nil }
    for value in values {
      guard case .object(let object) = value, let risk = NamedRisk(object),
        !all.contains(where: { $0.name == risk.name })
      else { return nil }
      all.append(risk)
    }
  }

  var fields: JSONObject { ["risks": .array(all.map { .object($0.fields) })] }

  /// Reads the account's; none if it has no such document.
  init(of store: any Store) throws(ServiceError) {
    self = try AccountDocument.risks.read(Self.self, from: store) ?? Self()
  }
}
