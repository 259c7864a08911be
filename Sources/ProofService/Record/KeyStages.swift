// SPDX-License-Identifier: Apache-2.0

public import ProofJOSE
internal import ProofModel

/// The stage of one of the account's own keys in its rotation.
public enum KeyStage: String, Sendable, CaseIterable {
  /// Drawn, and being handed out to verifiers. It makes no token yet.
  case next
  /// Makes the tokens.
  case active
  /// The earlier active key. Its tokens stay valid until they end.
  case old
}

/// One of the account's own keys without its secret.
public struct KeyState: Sendable, Hashable {
  /// Its name, the `kid` of tokens; for the message key, their `mskid`.
  public var id: String
  /// The key's stage.
  public var stage: KeyStage
  /// The time when it was drawn; nil if an earlier version made the account.
  public var added: UnixTime?
  /// Whether the next key was handed out.
  public var isGiven: Bool
  /// The end of the last token by the old key.
  public var end: UnixTime?

  /// The fields as JSON.
  public var shown: JSONObject {
    var shown: JSONObject = ["kid": .string(id), "state": .string(stage.rawValue)]
    shown.set("added", added)
    if stage == .next { shown.set("given", isGiven) }
    shown.set("until", end)
    return shown
  }
}

/// One of the account's own keys as it is stored, sealed.
struct SealedKey: Hashable {
  var id: String
  var sealed: [UInt8]
  var added: UnixTime?
  var isGiven = false
  var end: UnixTime?

  static let label: StaticString = "pfs1.key-name..."

  /// Names a key by its sealed form, which is different for every key.
  init(sealed: [UInt8], added: UnixTime?) {
    id = Hexadecimal.encode(CoreSodium.hash(Self.label, sealed).prefix(8))
    self.sealed = sealed
    self.added = added
  }

  /// A key under a name that says what it is.
  init(named id: String, sealed: [UInt8], added: UnixTime?) {
    self.id = id
    self.sealed = sealed
    self.added = added
  }

  /// Reads the output of ``fields``. Keys of earlier versions have no stored name.
  init?(_ fields: JSONObject) {
    guard let sealed = fields.bytes("key") else { return nil }
    self.init(sealed: sealed, added: fields.time("added") ?? fields.time("changed"))
    if let id = fields.text("id") { self.id = id }
    isGiven = fields.flag("given") ?? false
    end = fields.time("until")
  }

  var fields: JSONObject {
    var fields = JSONObject()
    fields.set("key", sealed)
    fields.set("id", id)
    fields.set("added", added)
    if isGiven { fields.set("given", true) }
    fields.set("until", end)
    return fields
  }

  func state(_ stage: KeyStage) -> KeyState {
    KeyState(id: id, stage: stage, added: added, isGiven: isGiven, end: end)
  }
}

/// The document of one kind of the account's own keys: at most one of each stage.
struct KeyStages: Hashable, DocumentValue {
  /// The active key. Nil only for the message key, which is optional.
  var active: SealedKey?
  var next: SealedKey?
  var old: SealedKey?

  init(active: SealedKey? = nil) { self.active = active }

  /// Reads the output of ``fields``, and documents of earlier versions, which hold one key.
  init?(_ fields: JSONObject) {
    func key(_ name: String) -> SealedKey?? {
      switch fields[name] {
      case nil: .some(nil)
      case .object(let object): SealedKey(object).map(Optional.some)
      default: .none
      }
    }
    if fields["key"] != nil {
      guard let key = SealedKey(fields) else { return nil }
      active = key
    }
    guard let next = key("next"), let old = key("old") else { return nil }
    self.next = next
    self.old = old
  }

  var fields: JSONObject {
    var fields = active?.fields ?? JSONObject()
    fields["next"] = next.map { .object($0.fields) }
    fields["old"] = old.map { .object($0.fields) }
    return fields
  }

  /// The keys that verify tokens, the active one first.
  var all: [(stage: KeyStage, key: SealedKey)] {
    [(KeyStage.active, active), (.next, next), (.old, old)].compactMap { stage, key in
      key.map { (stage, $0) }
    }
  }

  var states: [KeyState] { all.map { $0.key.state($0.stage) } }
}

/// The commands of one kind of keys, for advice in refusals.
struct RotationWords {
  /// Draws the next key.
  var draw: String
  /// Hands the keys out.
  var handOut: String
  /// Retires the old key.
  var retire: String
  /// Shows the keys.
  var list: String

  init(_ kind: OwnKey) {
    let noun = kind.rawValue
    (draw, handOut) = ("\(noun) next", "\(noun) keys")
    (retire, list) = ("\(noun) retire", "\(noun) list")
  }

  init(_ kind: Gate.KeyKind, of gate: String) {
    let verb = "gate rotate \(gate) \(kind.rawValue)"
    (draw, handOut) = ("\(verb) next", "gate configuration \(gate)")
    (retire, list) = ("\(verb) retire", "gate show \(gate)")
  }

  func notRetired(_ old: SealedKey) -> ServiceError {
    .outOfTurn(
      "the key “\(old.id)” is not retired yet", instead: "Retire it: “\(retire)”.")
  }
}

/// The steps of a rotation. Each is refused where it would make good tokens fail.
extension KeyStages {
  mutating func prepare(_ fresh: SealedKey, _ words: RotationWords) throws(ServiceError) {
    if let next {
      throw .outOfTurn(
        "the key “\(next.id)” is the next one already",
        instead: "Hand it out (“\(words.handOut)”) and promote it, or drop it.")
    }
    next = fresh
  }

  mutating func promote(
    endingAt end: UnixTime, atOnce: Bool, _ words: RotationWords
  ) throws(ServiceError) -> KeyState {
    guard var next else {
      throw .outOfTurn("there is no next key", instead: "Draw one: “\(words.draw)”.")
    }
    if let old { throw words.notRetired(old) }
    guard next.isGiven || atOnce else {
      throw .outOfTurn(
        "the next key was never handed out, so those who check tokens would refuse them",
        instead: "Hand it out: “\(words.handOut)”.")
    }
    old = active
    old?.end = end
    next.isGiven = false
    active = next
    self.next = nil
    return next.state(.active)
  }

  mutating func retire(
    at now: UnixTime, atOnce: Bool, _ words: RotationWords
  ) throws(ServiceError) {
    guard let old else {
      throw .outOfTurn("there is no old key", instead: "“\(words.list)” shows the keys.")
    }
    try Management.checkEnd(old.end, of: old.id, at: now, atOnce: atOnce)
    self.old = nil
  }

  mutating func dropNext(_ words: RotationWords) throws(ServiceError) {
    guard next != nil else {
      throw .outOfTurn("there is no next key", instead: "“\(words.list)” shows the keys.")
    }
    next = nil
  }
}
