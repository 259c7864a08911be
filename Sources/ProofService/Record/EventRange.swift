// SPDX-License-Identifier: Apache-2.0

public import ProofJOSE
internal import ProofModel

/// A range of event numbers: which gate's apps make tokens of them, which audience judges them, and by which
/// rules.
public struct EventRange: Sendable, Hashable {
  /// The range that stands for all events of one policy, unless others are named.
  public static let standard: ClosedRange<UInt16> = 3_300...3_400
  /// The longest name of an audience.
  static let audienceMax = 64

  /// The numbers. None of them stands in another range of the account.
  public var numbers: ClosedRange<UInt16>
  /// The gate, by name.
  public var gate: String
  /// The audience: a name that all its redeemers share.
  public var audience: String
  /// How many seconds a token counts, 1 to 86,400.
  public var life = 60
  /// Whether a token must name a user account.
  public var needsAccount = false
  /// Whether a token must be bound to business data.
  public var needsData = false
  /// Whether a token without a beacon of the gate counts.
  public var allowsUnanchored = false
  /// How many seconds old the measurement behind a token may be, 0 to 255.
  public var measured = 10

  /// A range without rules of its own.
  public init(_ numbers: ClosedRange<UInt16>, at gate: String, for audience: String) {
    self.numbers = numbers
    self.gate = gate
    self.audience = audience
  }

  /// The audience's id at a gate. The same name at another gate is another audience.
  static func id(of audience: String, at gate: GateID) -> AudienceID {
    let digest = CoreSodium.hash("pfs1.audience...", gate.bytes + audience.utf8)
    guard let id = try? AudienceID(Array(digest.prefix(AudienceID.byteCount))) else {
      preconditionFailure("A hash of zeros is out of reach.")
    }
    return id
  }

  /// All of it as JSON.
  public var fields: JSONObject {
    var fields: JSONObject = [
      "numbers": .string(Self.text(of: numbers)), "gate": .string(gate),
      "audience": .string(audience),
    ]
    fields.set("life", Int64(life))
    fields.set("account", needsAccount)
    fields.set("data", needsData)
    fields.set("unanchored", allowsUnanchored)
    fields.set("measured", Int64(measured))
    return fields
  }

  init?(_ fields: JSONObject) {
    guard let numbers = fields.text("numbers").flatMap(Self.numbers(parsing:)),
      let gate = fields.text("gate"), let audience = fields.text("audience"),
      let life = fields.integer("life").flatMap(UInt32.init(exactly:)),
      GateAdmission.lives.contains(life), let needsAccount = fields.flag("account"),
      let needsData = fields.flag("data"), let allowsUnanchored = fields.flag("unanchored"),
      let measured = fields.integer("measured").flatMap(UInt8.init(exactly:))
    else { return nil }
    self.init(numbers, at: gate, for: audience)
    self.life = Int(life)
    self.needsAccount = needsAccount
    self.needsData = needsData
    self.allowsUnanchored = allowsUnanchored
    self.measured = Int(measured)
  }

  /// Reads `NUMBER` or `FIRST-LAST`.
  static func numbers(parsing text: String) -> ClosedRange<UInt16>? {
    let parts = text.split(separator: "-", omittingEmptySubsequences: false)
    let numbers = parts.compactMap { part in
      part.utf8.allSatisfy { (0x30...0x39).contains($0) } ? UInt16(part) : nil
    }
    guard numbers.count == parts.count, let first = numbers.first, let last = numbers.last,
      numbers.count <= 2, first <= last
    else { return nil }
    return first...last
  }

  /// The text that ``numbers(parsing:)`` reads.
  static func text(of numbers: ClosedRange<UInt16>) -> String {
    numbers.count == 1
      ? "\(numbers.lowerBound)" : "\(numbers.lowerBound)-\(numbers.upperBound)"
  }
}

/// The events of an account, in ascending order: one document, so that no number is ever in two ranges.
struct EventRanges: Sendable, Hashable, DocumentValue {
  var all: [EventRange] = []

  init() {}

  /// Reads what ``fields`` wrote.
  init?(_ fields: JSONObject) {
    guard case .array(let values) = fields["events"] else { return nil }
    for value in values {
      guard case .object(let object) = value, let range = EventRange(object),
        !overlaps(range.numbers)
      else { return nil }
      all.append(range)
    }
  }

  var fields: JSONObject { ["events": .array(all.map { .object($0.fields) })] }

  func overlaps(_ numbers: ClosedRange<UInt16>) -> Bool {
    all.contains { $0.numbers.overlaps(numbers) }
  }

  /// Reads the account's; none if it has no such document.
  init(of store: any RowReader) throws(ServiceError) {
    self = try AccountDocument.events.read(Self.self, from: store) ?? Self()
  }
}
