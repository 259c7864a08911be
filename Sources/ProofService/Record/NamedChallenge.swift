// SPDX-License-Identifier: Apache-2.0

public import ProofJOSE
internal import ProofModel

/// A challenge that a gate sets under a name: an app or a page asks for it, and gets a clearance for the answer.
public struct NamedChallenge: Sendable, Hashable {
  /// The way in which it is answered.
  public enum Kind: String, Sendable, CaseIterable {
    /// An attested app sends its gate token.
    case token
    /// An attested app proves that it has its gate keys.
    case proof
    /// Any client solves puzzles of SHA-256.
    case work
    /// Any client solves puzzles that need memory.
    case memory
    /// A person answers on a page.
    case person

    /// The levels that a challenge of this kind may have.
    public var levels: ClosedRange<Int> {
      switch self {
      case .token, .proof, .person: 0...0
      case .work: Int(CorePuzzle.puzzleLevels.lowerBound)...Int(CorePuzzle.puzzleLevels.upperBound)
      case .memory:
        Int(CorePuzzle.pairingLevels.lowerBound)...Int(CorePuzzle.pairingLevels.upperBound)
      }
    }

    /// The seconds for an answer, unless the operator says otherwise.
    public var life: Int {
      switch self {
      case .token, .proof: 60
      case .work, .memory: 120
      case .person: 600
      }
    }
  }

  /// How many an account may have.
  public static let countMax = 64
  /// The seconds that an answer may take.
  public static let lives = 10...3_600
  static let noun = "challenge"
  private static let nameMax = 32

  /// Its name: the last part of the path under which a gate sets it.
  public let name: String
  /// The gate, by name; nil for each gate of the account.
  public let gate: String?
  /// The way in which it is answered.
  public let kind: Kind
  /// How much work it asks for; 0 for kinds without work.
  public let level: Int
  /// The seconds that an answer may take.
  public let life: Int

  /// Describes a challenge.
  ///
  /// - Parameters:
  ///   - name: 1 to 32 lower-case letters, digits and hyphens.
  ///   - kind: The kind.
  ///   - level: One of the kind's levels; nil for the kinds that have one alone.
  ///   - life: Seconds; nil for those of the kind.
  ///   - gate: The gate, by name; nil for each gate of the account.
  /// - Throws: ``ServiceError/invalid(_:value:allowed:)``.
  public init(
    _ name: String, _ kind: Kind, level: Int? = nil, life: Int? = nil, gate: String? = nil
  ) throws(ServiceError) {
    try Self.check(name, of: Self.noun)
    let levels = kind.levels
    let chosen = level ?? (levels.count == 1 ? levels.lowerBound : nil)
    guard let chosen, levels.contains(chosen) else {
      throw .invalid(
        "level", value: level.map { "\($0)" } ?? "missing",
        allowed: levels.count == 1
          ? "none; kind “\(kind.rawValue)” has no work"
          : "\(levels.lowerBound) to \(levels.upperBound) for kind “\(kind.rawValue)”")
    }
    let seconds = life ?? kind.life
    guard Self.lives.contains(seconds) else {
      throw .invalid(
        "life", value: "\(seconds)",
        allowed: "\(Self.lives.lowerBound) to \(Self.lives.upperBound) seconds")
    }
    self.name = name
    self.gate = gate
    self.kind = kind
    self.level = chosen
    self.life = seconds
  }

  /// Checks the name of a challenge or of a risk rule.
  static func check(_ name: String, of noun: String) throws(ServiceError) {
    let isPlain = name.utf8.allSatisfy { byte in
      switch byte {
      case 0x30...0x39, 0x61...0x7A, 0x2D: true
      default: false
      }
    }
    guard isPlain, (1...nameMax).contains(name.utf8.count) else {
      throw .invalid(
        "name of the \(noun)", value: String(name.prefix(80)),
        allowed: "1 to \(nameMax) lower-case letters, digits and “-”")
    }
  }

  /// All of it as JSON.
  public var fields: JSONObject {
    var fields = claims
    fields.set("gate", gate)
    return fields
  }

  /// The part that a gate's configuration has.
  var claims: JSONObject {
    var claims: JSONObject = ["name": .string(name), "kind": .string(kind.rawValue)]
    claims.set("level", Int64(level))
    claims.set("life", Int64(life))
    return claims
  }

  init?(_ fields: JSONObject) {
    guard let name = fields.text("name"),
      let kind = fields.text("kind").flatMap(Kind.init(rawValue:)),
      let level = fields.integer("level").flatMap(Int.init(exactly:)),
      let life = fields.integer("life").flatMap(Int.init(exactly:)),
      fields["gate"] == nil || fields.text("gate") != nil,
      let challenge = try? NamedChallenge(
        name, kind, level: level, life: life, gate: fields.text("gate"))
    else { return nil }
    self = challenge
  }
}

/// The named challenges of an account, by name: one document, so that no name is given twice.
struct NamedChallenges: Sendable, Hashable, DocumentValue {
  var all: [NamedChallenge] = []

  init() {}

  /// Reads what ``fields`` wrote.
  init?(_ fields: JSONObject) {
    guard case .array(let values) = fields["challenges"] else { return nil }
    for value in values {
      guard case .object(let object) = value, let challenge = NamedChallenge(object),
        !all.contains(where: { $0.name == challenge.name })
      else { return nil }
      all.append(challenge)
    }
  }

  var fields: JSONObject { ["challenges": .array(all.map { .object($0.fields) })] }

  /// Reads the account's; none if it has no such document.
  init(of store: any Store) throws(ServiceError) {
    self = try AccountDocument.challenges.read(Self.self, from: store) ?? Self()
  }
}
