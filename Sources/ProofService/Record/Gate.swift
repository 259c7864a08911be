// SPDX-License-Identifier: Apache-2.0

public import ProofJOSE
public import ProofModel

/// A gate of the account: a verifier that speaks HTTP, and the keys by which apps prove themselves to it.
///
/// Its X25519 keys are made at the gate, and the account holds their public parts. The other keys are the
/// account's: account keys hide the names of users, and issuers sign gate tokens. All of them stand sealed, the
/// public ones too: an attacker who changes the store cannot have tokens sealed to another key.
public struct Gate: Record, Hashable {
  /// The kinds of a gate's keys. Each is rotated by itself.
  public enum KeyKind: String, Sendable, CaseIterable {
    /// Gate tokens are sealed to it (X25519). The gate has the secret part.
    case key
    /// Hides the names of users (HMAC-SHA-256). Apps and the gate have it.
    case account
    /// Signs gate tokens (Ed25519). No lock knows it, and the secret part never leaves the store.
    case issuer
  }

  /// How many gates an account may have.
  public static let countMax = 16
  /// How many revocations a gate may have at one time.
  public static let revocationsMax = 256
  /// The seconds that gate tokens may live.
  public static let lives = 60...86_400

  /// A revocation of one installation's tokens.
  public struct Revocation: Sendable, Hashable {
    /// The installation.
    public var device: InstanceID
    /// The last generation that is revoked.
    public var generation: UInt32
    /// When the last of these tokens has ended.
    public var end: UnixTime
  }

  /// Its name.
  public var name: String
  /// The id that its tokens name.
  public var id: GateID
  /// Whether it is for the field.
  public var mode: Mode
  /// When it was added.
  public var added: UnixTime
  /// How many seconds gate tokens live.
  public var life = 3_600
  /// Gate tokens issued before this second are superseded; 0 for none.
  public var floor: UnixTime = 0
  /// The form of request proofs.
  public var form = GateAdmission.Form.standard
  /// The header fields that apps send.
  public var headers = GateAdmission.Headers()
  /// How many seconds old a measurement may be that a proof rests on.
  public var freshness = 0
  /// Whether it logs what it would refuse, and lets it pass.
  public var isWatched = false
  /// The installations whose tokens are revoked.
  public var revocations: [Revocation] = []
  var keys: [KeyKind: KeyStages]

  init(_ name: String, _ id: GateID, _ mode: Mode, added: UnixTime, keys: [KeyKind: KeyStages]) {
    self.name = name
    self.id = id
    self.mode = mode
    self.added = added
    self.keys = keys
  }

  /// Its table in the store.
  public static var table: StoreTable { .gate }
  /// The noun in messages.
  public static var noun: String { "gate" }
  /// Its name among those of its kind.
  public var key: String { name }

  /// Where its keys of a kind are sealed for.
  func place(of kind: KeyKind) -> String { "gate/\(id)/\(kind.rawValue)" }

  /// All of it but the key.
  public var fields: JSONObject {
    var fields = settings
    for kind in KeyKind.allCases {
      fields[kind.rawValue] = keys[kind].map { .object($0.fields) }
    }
    return fields
  }

  private var settings: JSONObject {
    var fields: JSONObject = [
      "id": .string(id.description), "mode": .string(mode.word), "form": .string(form.word),
      "proofHeader": .string(headers.proof), "tokenHeader": .string(headers.token),
    ]
    fields.set("digestHeader", headers.digest)
    fields.set("added", added)
    fields.set("life", Int64(life))
    fields.set("freshness", Int64(freshness))
    fields.set("floor", floor)
    fields.set("watch", isWatched)
    if !revocations.isEmpty { fields["revoked"] = .array(revocations.map { .object($0.fields) }) }
    return fields
  }

  /// Reads what ``fields`` wrote.
  public init?(key: String, fields: JSONObject) {
    guard let id = fields.text("id").flatMap({ try? GateID($0) }),
      let mode = fields.text("mode").flatMap(Mode.init(word:)), let added = fields.time("added"),
      let life = fields.integer("life").flatMap(Int.init(exactly:)), Self.lives.contains(life),
      let floor = fields.time("floor"), floor >= 0,
      let form = fields.text("form").flatMap(GateAdmission.Form.init(word:)),
      let proof = fields.text("proofHeader"), let token = fields.text("tokenHeader"),
      let freshness = fields.integer("freshness").flatMap(UInt8.init(exactly:)),
      GateAdmission.freshnesses.contains(freshness),
      // Gates of earlier versions have no such member.
      let isWatched = fields["watch"] == nil ? false : fields.flag("watch")
    else { return nil }
    var keys: [KeyKind: KeyStages] = [:]
    for kind in KeyKind.allCases {
      guard case .object(let object) = fields[kind.rawValue], let stages = KeyStages(object),
        stages.active != nil
      else { return nil }
      keys[kind] = stages
    }
    self.init(key, id, mode, added: added, keys: keys)
    self.life = life
    self.floor = floor
    self.form = form
    self.freshness = Int(freshness)
    self.isWatched = isWatched
    headers = GateAdmission.Headers(
      proof: proof, token: token, digest: fields.text("digestHeader"))
    switch fields["revoked"] {
    case nil: break
    case .array(let values):
      for value in values {
        guard case .object(let object) = value, let revocation = Revocation(object) else {
          return nil
        }
        revocations.append(revocation)
      }
    default: return nil
    }
  }

  /// The fields without secrets.
  public var shown: JSONObject {
    var shown = settings
    shown.set("name", name)
    for kind in KeyKind.allCases {
      let states = (keys[kind]?.states ?? []).map { JSONValue.object($0.shown) }
      shown[kind == .key ? "keys" : "\(kind.rawValue)s"] = .array(states)
    }
    return shown
  }
}

extension Gate.Revocation {
  var fields: JSONObject {
    var fields: JSONObject = ["device": .string(device.description)]
    fields.set("generation", Int64(generation))
    fields.set("until", end)
    return fields
  }

  init?(_ fields: JSONObject) {
    guard
      let device = fields.text("device").flatMap({ try? InstanceID($0) }),
      let generation = fields.integer("generation").flatMap(UInt32.init(exactly:)),
      let end = fields.time("until")
    else { return nil }
    self.init(device: device, generation: generation, end: end)
  }
}

extension GateAdmission.Form {
  /// The name of the form, as operators write it.
  public var word: String {
    switch self {
    case .standard: "standard"
    case .compact: "compact"
    case .body: "body"
    }
  }

  init?(word: String) {
    guard let form = Self.allCases.first(where: { $0.word == word }) else { return nil }
    self = form
  }
}
