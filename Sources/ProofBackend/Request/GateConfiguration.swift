// SPDX-License-Identifier: Apache-2.0

public import ProofModel

/// Everything that a gate judges by, as the service signed it: docs/SERVICE.md, section 10. Secret for its account
/// keys.
///
/// The operator hands it over: `proofctl gate configuration NAME`. A gate keeps the newest one, and judges by it for
/// ``useSeconds`` while the service is gone.
///
/// The redeemers of one audience get a part of it: `proofctl gate configuration NAME --audience AUDIENCE`. It has an
/// ``audience``, and neither hosts, headers, public keys nor issuers.
public struct GateConfiguration: Sendable {
  /// A range of event numbers that one audience judges, and its rules.
  public struct Events: Sendable, Hashable {
    /// The numbers.
    public let numbers: ClosedRange<UInt16>
    /// The audience's name in the account.
    public let name: String
    /// The audience.
    public let audience: AudienceID
    /// How many seconds a token counts.
    public let life: UInt32
    /// Whether a token must name a user account.
    public let needsAccount: Bool
    /// Whether a token must be bound to business data.
    public let needsData: Bool
    /// Whether a token without a beacon counts.
    public let allowsUnanchored: Bool
    /// How many seconds old the measurement behind a token may be.
    public let measuredMax: UInt8
  }

  /// A challenge that the gate sets under a name.
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
      var levels: ClosedRange<Int64> {
        switch self {
        case .token, .proof, .person: 0...0
        case .work:
          Int64(CorePuzzle.puzzleLevels.lowerBound)...Int64(CorePuzzle.puzzleLevels.upperBound)
        case .memory:
          Int64(CorePuzzle.pairingLevels.lowerBound)...Int64(CorePuzzle.pairingLevels.upperBound)
        }
      }
    }

    /// Its name: the last part of the path under which the gate sets it.
    public let name: String
    /// The way in which it is answered.
    public let kind: Kind
    /// How much work it asks for; 0 for kinds without work.
    public let level: UInt8
    /// The seconds that an answer may take.
    public let life: UInt32
  }

  /// The one audience whose redeemers it is for; nil for the configuration of the gate itself.
  public let audience: String?
  /// The name of the account.
  public let account: String
  /// The gate's name in the account.
  public let name: String
  /// The gate.
  public let gate: GateID
  /// Grows with each change of the account. A gate takes no configuration with a lower one.
  public let serial: Int64
  /// The time when it was made.
  public let made: UnixTime
  /// How many seconds after ``made`` a gate may judge by it without a newer one.
  public let useSeconds: Int64
  /// Production or development.
  public let mode: Mode
  /// Gate tokens issued before are superseded; 0 for none.
  public let floor: UnixTime
  /// The form of request proofs.
  public let form: GateAdmission.Form
  /// The header fields that apps send.
  public let headers: GateAdmission.Headers
  /// The hosts of the gate's APIs.
  public let hosts: [String]
  /// The gate's public keys, the active one first.
  public let publicKeys: [GatePublicKey]
  /// The account keys, the active one first.
  public let accountKeys: [GateAccountKey]
  /// The issuers of gate tokens.
  public let issuers: [IssuerPublicKey]
  /// The instances whose tokens are revoked, each with the last generation that is.
  public let revocations: [InstanceID: UInt32]
  /// The events of the gate.
  public let events: [Events]
  /// The rules by which redeemers tell the risk of an event.
  public let risks: [RiskRule]
  /// How many rules of risk a later service wrote that this version does not know. They are left out.
  public let unknownRisks: Int
  /// The challenges that the gate sets under a name. Those of a kind that this version does not know are left out.
  public let challenges: [NamedChallenge]
  /// Whether the gate logs what it would refuse, and lets it pass: `proofctl gate watch`.
  public let isWatched: Bool

  /// Checks and reads a configuration.
  ///
  /// - Parameters:
  ///   - text: A JWS in compact form.
  ///   - fingerprint: The fingerprint of the account's configuration key, the last part of what `proofctl config
  ///     show` gives as `initial`; or an earlier key's, from which handovers in the configuration lead to it.
  ///   - held: The configuration that the gate holds; nil for none. Another gate's, or an older one, is refused.
  /// - Throws: ``GateConfigurationError``.
  public init(
    _ text: String, signedBy fingerprint: Digest, after held: GateConfiguration? = nil
  ) throws(GateConfigurationError) {
    let claims = try GateClaims(text, types: ["gate+jwt", "redeemer+jwt"], trusting: fingerprint)
    audience = try claims.type == "redeemer+jwt" ? claims.text("aud") : nil
    account = try claims.text("acc")
    name = try claims.text("nam")
    gate = try claims.value("gat", GateID.init)
    serial = try claims.integer("ser", 0...Int64.max)
    made = UnixTime(seconds: try claims.integer("iat", 1...Int64.max))
    useSeconds = try claims.integer("use", 0...Int64.max)
    switch try claims.text("mod") {
    case "production": mode = .production
    case "development": mode = .development
    default: throw .malformed(claim: "mod")
    }
    let own = audience == nil ? try GateOwnPart(claims) : GateOwnPart()
    floor = own.floor
    form = own.form
    headers = own.headers
    hosts = own.hosts
    publicKeys = own.publicKeys
    issuers = own.issuers
    revocations = own.revocations
    challenges = own.challenges
    isWatched = own.isWatched
    accountKeys = try claims.objects("aks") { key throws(GateConfigurationError) in
      let number = UInt8(try key.integer("num", 1...255))
      return try key.value("key") { bytes throws(ProofError) in
        try GateAccountKey(SecretBytes(copying: bytes.span), number: number)
      }
    }
    events = try claims.objects("evt") { row throws(GateConfigurationError) in
      let first = UInt16(try row.integer("first", 0...0xFFFF))
      let last = UInt16(try row.integer("last", Int64(first)...0xFFFF))
      return Events(
        numbers: first...last, name: try row.text("audience"),
        audience: try row.value("aud", AudienceID.init),
        life: UInt32(try row.integer("life", 1...86_400)), needsAccount: try row.flag("account"),
        needsData: try row.flag("data"), allowsUnanchored: try row.flag("unanchored"),
        measuredMax: UInt8(try row.integer("measured", 0...255)))
    }
    let rows = try claims.has("risk") ? Self.risks(claims) : []
    risks = rows.compactMap(\.self)
    unknownRisks = rows.count - risks.count
    if let audience, !events.allSatisfy({ $0.name == audience }) { throw .malformed(claim: "evt") }
    if let held {
      guard held.gate == gate, held.account == account else { throw .otherGate(held.gate, gate) }
      guard held.audience == audience else { throw .otherAudience(held.audience, audience) }
      guard serial >= held.serial else { throw .older(held: held.serial, offered: serial) }
    }
  }

  /// The gate itself: its id, and the secret keys that the gate holds for the public keys of the configuration.
  ///
  /// - Parameter secretKeys: The keys of the gate's key files, 32 bytes each. Those that the configuration does not
  ///   name are left out.
  /// - Returns: The identity that opens gate tokens.
  /// - Throws: ``GateConfigurationError/noKey`` if none of the keys is the configuration's;
  ///   ``GateConfigurationError/audienceOnly(_:)`` for the configuration of redeemers.
  public func identity(_ secretKeys: [GateSecretKey]) throws(GateConfigurationError) -> GateIdentity
  {
    if let audience { throw .audienceOnly(audience) }
    var keys: [GateIdentity.Key] = []
    for publicKey in publicKeys {
      for secret in secretKeys {
        if let key = secret.key(for: publicKey) { keys.append(key) }
      }
    }
    guard !keys.isEmpty else { throw .noKey }
    do throws(ProofError) {
      return try GateIdentity(
        id: gate, keys: Array(keys.prefix(GateIdentity.keyCountMax)), issuers: issuers, mode: mode,
        floor: floor)
    } catch {
      throw .refused(error)
    }
  }

  /// The events of one audience.
  ///
  /// - Parameter name: The audience's name; nil for the one that the configuration is for.
  /// - Returns: Their rules, in ascending order of the numbers.
  /// - Throws: ``GateConfigurationError/noEvents(_:)`` if there are none.
  public func events(for name: String?) throws(GateConfigurationError) -> [Events] {
    let audience = name ?? audience ?? ""
    let own = events.filter { $0.name == audience }
    guard !own.isEmpty else { throw .noEvents(audience) }
    return own
  }

  /// The rules of a route of one of the gate's APIs, before the route adds its own.
  ///
  /// - Parameter host: One of ``hosts``, with its port if it has one.
  /// - Returns: The rules; nil for a host that the configuration does not list.
  public func route(for host: String) -> RequestRoute? {
    guard hosts.contains(host) else { return nil }
    var route = RequestRoute(host)
    route.fields.compact = headers.proof
    route.fields.token = headers.token
    if form == .compact { route.fields.digest = headers.digest }
    switch form {
    case .standard: route.forms = .standard
    case .compact: route.forms = .compact
    case .body: route.forms = .bodyOnly
    }
    return route
  }

  /// The account key that new digests of account names are made with.
  ///
  /// - Parameter number: The number that a token names; nil for the active key.
  /// - Returns: The key; nil if the gate has none of this number.
  public func accountKey(_ number: UInt8? = nil) -> GateAccountKey? {
    guard let number else { return accountKeys.first }
    return accountKeys.first { $0.number == number }
  }
}

extension GateConfiguration: CustomStringConvertible, CustomReflectable {
  /// The gate's name and the serial; never a key.
  public var description: String { "GateConfiguration(\(name), serial \(serial))" }

  /// Shows the public part.
  public var customMirror: Mirror { Mirror(self, children: ["name": name, "serial": serial]) }
}

/// The part of a configuration that the gate itself has, and redeemers do not.
private struct GateOwnPart {
  var floor: UnixTime = 0
  var form = GateAdmission.Form.standard
  var headers = GateAdmission.Headers()
  var hosts: [String] = []
  var publicKeys: [GatePublicKey] = []
  var issuers: [IssuerPublicKey] = []
  var revocations: [InstanceID: UInt32] = [:]
  var challenges: [GateConfiguration.NamedChallenge] = []
  var isWatched = false

  /// The part that a redeemer has: nothing.
  init() {}

  init(_ claims: GateClaims) throws(GateConfigurationError) {
    floor = UnixTime(seconds: try claims.integer("flr", 0...Int64.max))
    switch try claims.text("frm") {
    case "standard": form = .standard
    case "compact": form = .compact
    case "body": form = .body
    default: throw .malformed(claim: "frm")
    }
    let fields = try claims.object("hdr")
    headers = GateAdmission.Headers(
      proof: try fields.text("proof"), token: try fields.text("token"),
      digest: try fields.has("digest") ? fields.text("digest") : nil)
    hosts = try claims.texts("hst")
    publicKeys = try claims.objects("xks") { key throws(GateConfigurationError) in
      let number = UInt8(try key.integer("num", 0...255))
      return try key.value("key") { bytes throws(ProofError) in
        try GatePublicKey(bytes, number: number)
      }
    }
    issuers = try claims.objects("iss") { key throws(GateConfigurationError) in
      try key.value("key", IssuerPublicKey.init)
    }
    let revoked = try claims.objects("rev") { row throws(GateConfigurationError) in
      (try row.value("ins", InstanceID.init), UInt32(try row.integer("gen", 1...Int64(UInt32.max))))
    }
    revocations = Dictionary(revoked) { max($0, $1) }
    // Services of earlier versions have neither member.
    isWatched = try claims.has("watch") ? claims.flag("watch") : false
    challenges = try claims.has("challenges") ? Self.challenges(claims) : []
  }
}

extension GateConfiguration {
  /// The rules of risk; nil for one that this version does not know.
  private static func risks(_ claims: GateClaims) throws(GateConfigurationError) -> [RiskRule?] {
    try claims.objects("risk") { row throws(GateConfigurationError) -> RiskRule? in
      let first = UInt16(try row.integer("first", 0...0xFFFF))
      let last = UInt16(try row.integer("last", Int64(first)...0xFFFF))
      let reason = try row.text("reason")
      guard let condition = RiskCondition(try row.text("when")),
        let level = RiskLevel(word: try row.text("level"))
      else { return nil }
      return RiskRule(first...last, condition, level, reason)
    }
  }
}

extension GateOwnPart {
  private static func challenges(
    _ claims: GateClaims
  ) throws(GateConfigurationError) -> [GateConfiguration.NamedChallenge] {
    let rows = try claims.objects("challenges") {
      row throws(GateConfigurationError) -> GateConfiguration.NamedChallenge? in
      let word = try row.text("kind")
      guard let kind = GateConfiguration.NamedChallenge.Kind(rawValue: word) else { return nil }
      return GateConfiguration.NamedChallenge(
        name: try row.text("name"), kind: kind, level: UInt8(try row.integer("level", kind.levels)),
        life: UInt32(try row.integer("life", 1...86_400)))
    }
    let challenges = rows.compactMap(\.self)
    guard Set(challenges.map(\.name)).count == challenges.count else {
      throw .malformed(claim: "challenges")
    }
    return challenges
  }
}

/// A secret key of a gate, from the file that `proofctl gate keys new` wrote. Secret.
public final class GateSecretKey: Sendable {
  private let bytes: SecretBytes

  /// Takes a key's bytes over.
  ///
  /// - Parameter bytes: 32 bytes.
  /// - Throws: ``/ProofModel/ProofError/wrongLength(of:expected:actual:)``.
  public init(_ bytes: consuming SecretBytes) throws(ProofError) {
    guard bytes.count == 32 else {
      throw .wrongLength(of: "gate secret key", expected: 32...32, actual: bytes.count)
    }
    self.bytes = bytes
  }

  func key(for publicKey: GatePublicKey) -> GateIdentity.Key? {
    let copy = bytes.withBytes { SecretBytes(copying: $0) }
    guard let key = try? GateIdentity.Key(copy, number: publicKey.number),
      key.publicKey == publicKey
    else { return nil }
    return key
  }
}

/// Why a gate does not take a configuration. It goes on with the one that it holds.
public enum GateConfigurationError: Error, Sendable, Hashable {
  /// The text is no signed token of type `gate+jwt`, or the signature is not its key's.
  case unsigned(reason: String)
  /// The key that signed it is not the one of the fingerprint, and no handover leads to it.
  case untrusted
  /// A claim is missing, or has another form than the page says.
  case malformed(claim: String)
  /// It is another gate's.
  case otherGate(GateID, GateID)
  /// The gate holds a newer one.
  case older(held: Int64, offered: Int64)
  /// It is for the redeemers of another audience, or for the gate itself. Nil stands for the gate.
  case otherAudience(String?, String?)
  /// It is for the redeemers of this audience alone, and nothing in it opens gate tokens.
  case audienceOnly(String)
  /// It lists no event of the audience.
  case noEvents(String)
  /// None of the gate's secret keys is one of its public keys.
  case noKey
  /// Its keys make no gate.
  case refused(ProofError)
}

extension GateConfigurationError: CustomStringConvertible {
  /// The cause, and the next step.
  public var description: String {
    switch self {
    case .unsigned(let reason):
      "The gate's configuration cannot be believed: \(reason). Fetch it again: proofctl gate configuration."
    case .untrusted:
      "The gate's configuration is signed with a key that the fingerprint does not lead to. Compare the "
        + "fingerprint with the account's."
    case .malformed(let claim):
      "Claim \(claim) of the gate's configuration is missing or malformed. Are service and gate of one version?"
    case .otherGate(let held, let offered):
      "The configuration is of gate \(offered), not of \(held)."
    case .older(let held, let offered):
      "The gate holds a configuration of serial \(held), and \(offered) is older."
    case .otherAudience(let held, let offered):
      "The configuration is for \(Self.reader(offered)), not for \(Self.reader(held))."
    case .audienceOnly(let audience):
      "The configuration is for the redeemers of audience \(audience) alone: it judges events, and no requests. Fetch "
        + "the gate's own: proofctl gate configuration, without --audience."
    case .noEvents(let audience):
      "The configuration lists no event of audience \(audience). Check the name, or list events: proofctl event add."
    case .noKey:
      "None of the gate's key files belongs to a public key of the configuration. Register the key: proofctl gate "
        + "rotate, or take the right file."
    case .refused(let error): error.description
    }
  }

  private static func reader(_ audience: String?) -> String {
    audience.map { "the redeemers of audience \($0)" } ?? "the gate"
  }
}
