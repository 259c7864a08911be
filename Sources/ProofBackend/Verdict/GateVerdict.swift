// SPDX-License-Identifier: Apache-2.0

internal import ProofJOSE
public import ProofModel

/// A gate's verdict on one request, as an API reads it from `Proof-Verdict`: docs/SPEC.md, section 16.
public struct GateVerdict: Sendable, Hashable {
  /// The facts about the app that sent the request.
  public struct App: Sendable, Hashable {
    /// The name under which the gate knows the installation.
    public var handle: GateHandle
    /// Whether the app failed its attestation. The app must not be able to tell: decide late, or log.
    public var isFailed = false
    /// Whether an operator decided about this device.
    public var isForced = false
    /// The attestation response code; nil for none.
    public var responseCode: String?
    /// Findings of the SDK about its process.
    public var findings: [GateFinding] = []
    /// Bit n for the property of number n.
    public var properties: UInt32 = 0
    /// The time when the service saw the installation first.
    public var firstSeen: UnixTime = 0
    /// Whether a beacon or a word of the gate stands for the proof's time.
    public var isAnchored = false

    /// Facts about an installation of which the handle alone is known.
    public init(_ handle: GateHandle) { self.handle = handle }

    /// The facts that an opened gate token told.
    public init(_ facts: GateFacts, isAnchored: Bool) {
      handle = facts.handle
      isFailed = facts.isFailed
      isForced = facts.isForced
      responseCode = facts.responseCode
      findings = facts.findings
      properties = facts.properties
      firstSeen = facts.firstSeen
      self.isAnchored = isAnchored
    }
  }

  /// A reference that the gate's log has, too.
  public var reference: String
  /// The time when the gate judged.
  public var moment: UnixTime
  /// The name of the rule that the gate judged by.
  public var rule: String
  /// Whether the gate let the request pass.
  public var passes: Bool
  /// The reason of a refusal, or of one that a rule in mode `watch` did not enforce.
  public var reason: String?
  /// The body digest that the request's proof covers: compare it with the body. Nil if no proof covers the body.
  public var body: Digest?
  /// The names of the kinds of challenges that the client has answered.
  public var solved: [String] = []
  /// The app; nil for a client without a valid proof.
  public var app: App?
  /// The event whose token the request carried, and the gate redeemed; nil for none.
  public var event: Event?
  /// The name of a client without a valid proof, for ``GateDemand``: `s.` and its session, or `a.` and its address
  /// prefix. Nil for an app, and where the gate set no name.
  public var client: String?

  /// Describes a verdict.
  public init(reference: String, moment: UnixTime, rule: String, passes: Bool) {
    self.reference = reference
    self.moment = moment
    self.rule = rule
    self.passes = passes
  }
}

/// The key with which an API checks the verdicts of its gate. Secret: its holder can make verdicts for this host.
public final class GateVerdictKey: Sendable {
  let key: GateKey

  /// Takes a key over.
  ///
  /// - Parameters:
  ///   - bytes: The 32 bytes that the gate's operator handed out for the API's host.
  ///   - number: The number of the gate's own secret that it comes from.
  /// - Throws: ``/ProofModel/ProofError/wrongLength(of:expected:actual:)``.
  public init(_ bytes: consuming SecretBytes, number: UInt8) throws(ProofError) {
    guard bytes.count == 32 else {
      throw .wrongLength(of: "verdict key", expected: 32...32, actual: bytes.count)
    }
    key = GateKey(bytes, number: number)
  }

  init(_ key: GateKey) { self.key = key }

  /// Lends the key's bytes, for as long as the closure runs: the operator hands them to the API.
  public func withBytes<R: ~Copyable, E: Error>(_ body: (RawSpan) throws(E) -> R) throws(E) -> R {
    try key.withBytes(body)
  }
}

extension GateOwnKeys {
  /// The keys that the API of one host gets, the active one first.
  ///
  /// - Parameter host: The authority, in lower case, with its port unless that is the scheme's own.
  /// - Returns: One for each own secret. They are of no use for another host.
  public func verdictKeys(for host: String) -> [GateVerdictKey] {
    verdictKeySet(for: host).keys.map { GateVerdictKey($0) }
  }
}

extension GateVerdict {
  static let head: UInt8 = 0x1C
  static let label: StaticString = "pfc1.verdict...."
  static let textMax = 4096

  /// The value of `Proof-Verdict`: head and JSON in base64url, a dot, the tag of 32 bytes in base64url.
  package func text(for request: RequestDigest, with key: GateKey) -> String {
    var said = VerdictText([Self.head, key.number])
    // In the order of the names.
    if let app { said.member("app") { app.write(to: &$0) } }
    said.member("at", moment.seconds)
    if let body { body.withBytes { said.member("body", base64: $0) } }
    if let client { said.member("client", client) }
    if let event { said.member("event", .object(event.object)) }
    said.member("id", reference)
    said.member("pass", passes)
    said.member("request", base64: request.bytes.span)
    said.member("rule", rule)
    if !solved.isEmpty { said.member("solved", .array(solved.map { .string($0) })) }
    if let reason { said.member("why", reason) }
    let bytes = said.ended
    var text: [UInt8] = []
    text.reserveCapacity(bytes.count * 4 / 3 + 48)
    Base64.append(bytes.span, .url, to: &text)
    text.append(UInt8(ascii: "."))
    key.mac(Self.label, bytes).withBytes { Base64.append($0, .url, to: &text) }
    return String(decoding: text, as: UTF8.self)
  }

  /// Reads what a gate said. The tag was checked.
  init?(_ object: JSONObject) {
    guard let moment = object["at"].integer, moment >= 0, let reference = object["id"].text,
      let rule = object["rule"].text, case .bool(let passes)? = object["pass"]
    else { return nil }
    self.init(reference: reference, moment: UnixTime(seconds: moment), rule: rule, passes: passes)
    reason = object["why"].text
    body = object["body"].digest
    guard (object["body"] == nil) == (body == nil) else { return nil }
    if case .array(let names)? = object["solved"] {
      solved = names.compactMap { Optional($0).text }
    }
    client = object["client"].text
    if case .object(let found)? = object["event"] {
      guard let event = Event(found) else { return nil }
      self.event = event
    }
    if case .object(let facts)? = object["app"] {
      guard let app = App(facts) else { return nil }
      self.app = app
    }
  }
}

extension GateVerdict.App {
  fileprivate func write(to text: inout VerdictText) {
    // In the order of the names.
    text.member("anchored", isAnchored)
    if let responseCode { text.member("arc", responseCode) }
    text.member("failed", isFailed)
    text.member("findings", .array(findings.map { .string($0.text) }))
    text.member("forced", isForced)
    handle.withBytes { text.member("handle", base64: $0) }
    text.member("properties", Int64(properties))
    text.member("seen", firstSeen.seconds)
  }

  fileprivate init?(_ object: JSONObject) {
    guard let name = object["handle"].text.flatMap({ Base64.decode($0, .url) }),
      let handle = try? GateHandle(name), case .bool(let isFailed)? = object["failed"],
      case .bool(let isForced)? = object["forced"],
      case .bool(let isAnchored)? = object["anchored"],
      let properties = object["properties"].integer.flatMap({ UInt32(exactly: $0) }),
      let firstSeen = object["seen"].integer, firstSeen >= 0,
      case .array(let findings)? = object["findings"]
    else { return nil }
    self.init(handle)
    self.isFailed = isFailed
    self.isForced = isForced
    self.isAnchored = isAnchored
    self.properties = properties
    self.firstSeen = UnixTime(seconds: firstSeen)
    responseCode = object["arc"].text
    for finding in findings {
      guard let finding = GateFinding(text: Optional(finding).text) else { return nil }
      self.findings.append(finding)
    }
  }
}

extension Optional<JSONValue> {
  var text: String? { if case .string(let text)? = self { text } else { nil } }

  var integer: Int64? {
    if case .number(let number)? = self { number.integer } else { nil }
  }

  fileprivate var digest: Digest? {
    text.flatMap { Base64.decode($0, .url) }.flatMap { try? Digest($0) }
  }
}
