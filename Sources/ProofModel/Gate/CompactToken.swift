// SPDX-License-Identifier: Apache-2.0

/// The thing that a compact token proves.
public enum CompactKind: UInt8, Sendable, Hashable, CaseIterable {
  /// A whole request.
  case request = 1
  /// A request's body alone: for migration, and only where a route names it.
  case body = 2
  /// A business event, for one audience.
  case event = 3
}

/// The reason why an app cannot prove anything. The numbers stand in metrics.
public enum CompactCause: UInt8, Sendable, Hashable, CaseIterable {
  /// The SDK was not started.
  case notStarted = 1
  /// The SDK was started, and the service has not answered yet.
  case notReady = 2
  /// The start failed, and waiting does not mend it.
  case failed = 3
  /// The environment could not be measured.
  case measurement = 4
  /// A page asked that is not on the list.
  case page = 5
  /// Another error of the SDK.
  case `internal` = 6
}

/// The values that a compact token is bound to and does not carry. Both sides make them from what they see.
public struct CompactSubject: Sendable, Hashable {
  /// The thing that is proved.
  public let kind: CompactKind
  let digest: Digest
  let body: Digest
  let account: Digest?

  /// A whole request.
  ///
  /// - Parameters:
  ///   - request: The request's digest.
  ///   - account: The digest of the user account; nil for none.
  /// - Returns: The subject.
  public static func request(
    _ request: RequestDigest, account: Digest? = nil
  ) -> CompactSubject {
    CompactSubject(
      kind: .request, digest: request.digest, body: request.body, account: account)
  }

  /// A request's body alone.
  ///
  /// - Parameters:
  ///   - digest: SHA-256 of the body's coded bytes.
  ///   - account: The digest of the user account; nil for none.
  /// - Returns: The subject.
  public static func body(_ digest: Digest, account: Digest? = nil) -> CompactSubject {
    CompactSubject(kind: .body, digest: digest, body: digest, account: account)
  }

  /// A business event.
  ///
  /// - Parameters:
  ///   - data: SHA-256 of the business data; nil for none.
  ///   - account: The digest of the user account; nil for none.
  /// - Returns: The subject.
  public static func event(data: Digest? = nil, account: Digest? = nil) -> CompactSubject {
    CompactSubject(kind: .event, digest: data ?? .zero, body: .zero, account: account)
  }
}

/// A compact token that is to be made: 88 characters that prove one HTTP request or one business event.
/// Making one needs neither network nor storage.
public struct CompactDraft: Sendable, Hashable {
  /// The number of the account key behind the subject's account; 0 without an account.
  public var accountKey: UInt8
  /// The present time. The token carries whole seconds, from 1 to 2^32 - 1.
  public var created: UnixTime
  /// The event's number; 0 for a request.
  public var event: UInt16
  /// A random number of the process, drawn anew after a fork.
  public var start: UInt32
  /// The number of this token since the start, 1 or more: one sequence for all kinds.
  public var count: UInt32
  /// Whether the app is in an error state: such a token is never valid. ``measured`` is then the cause.
  public var isInErrorState: Bool
  /// Whether the process is younger than two seconds.
  public var isYoung: Bool
  /// Seconds since the measurement; 255 for more.
  public var measured: UInt8
  /// The newest beacon known.
  public var beacon: Beacon?

  /// Describes a token.
  ///
  /// - Parameters:
  ///   - created: The present time.
  ///   - start: A random number of the process.
  ///   - count: The number since the start.
  ///   - measured: Seconds since the measurement; 255 for more.
  ///   - event: The event's number; 0 for a request.
  ///   - accountKey: The number of the account key; 0 without an account.
  ///   - isYoung: Whether the process is younger than two seconds.
  ///   - isInErrorState: Whether the app is in an error state.
  ///   - beacon: The newest beacon known.
  public init(
    created: UnixTime, start: UInt32, count: UInt32, measured: UInt8, event: UInt16 = 0,
    accountKey: UInt8 = 0, isYoung: Bool = false, isInErrorState: Bool = false,
    beacon: Beacon? = nil
  ) {
    self.accountKey = accountKey
    self.created = created
    self.event = event
    self.start = start
    self.count = count
    self.isInErrorState = isInErrorState
    self.isYoung = isYoung
    self.measured = measured
    self.beacon = beacon
  }

  /// Makes the token.
  ///
  /// - Parameters:
  ///   - subject: The request or event.
  ///   - keys: The keys of the subject's kind.
  /// - Returns: 88 characters of base64url.
  /// - Throws: ``ProofError/outOfRange(field:value:allowed:)`` for keys of the other use, a count or moment
  ///   of 0, or an event's number in a request.
  public func text(
    for subject: CompactSubject, with keys: CompactKeys
  ) throws(ProofError) -> String {
    guard keys.isForEvents == (subject.kind == .event) else {
      throw .outOfRange(
        field: "keys of a compact token", value: keys.isForEvents ? "events" : "requests",
        allowed: "those of its kind")
    }
    guard created > 0, count > 0 else {
      throw .outOfRange(
        field: "moment or count of a compact token", value: "0", allowed: "1 to 4294967295")
    }
    guard event == 0 || subject.kind == .event else {
      throw .outOfRange(field: "event of a request", value: "\(event)", allowed: "0")
    }
    return CoreCompact.text(of: self, for: subject, with: keys.core)
  }

  /// Makes the token of an app without keys. No gate takes it, and each can count it.
  ///
  /// - Parameters:
  ///   - kind: The thing that was to be proved.
  ///   - cause: Why it cannot be.
  /// - Returns: 88 characters of base64url.
  public static func errorText(_ kind: CompactKind, _ cause: CompactCause) -> String {
    CoreCompact.errorText(kind, cause)
  }
}

/// A compact token that was checked. The gate or redeemer judges its fields with ``judge(by:)``, and then
/// inserts its ``replayKey`` into a store.
public struct CompactToken: Sendable, Hashable {
  /// How many characters a token has.
  public static var characterCount: Int { CoreWire.compactText }
  /// The window before and after ``created`` in seconds, unless a rule says otherwise.
  public static var window: UInt32 { CoreWire.compactWindow }

  /// The thing that is proved.
  public let kind: CompactKind
  /// The name under which the gate knows the app instance.
  public let handle: GateHandle
  /// The number of the account key; 0 without an account.
  public let accountKey: UInt8
  /// The time when it was made.
  public let created: UnixTime
  /// The event's number; 0 for a request.
  public let event: UInt16
  /// A random number of the app's process.
  public let start: UInt32
  /// The number of this token since the start.
  public let count: UInt32
  /// Whether the process was younger than two seconds.
  public let isYoung: Bool
  /// Seconds since the measurement; 255 for more.
  public let measured: UInt8
  /// The name under which it is used once.
  public let replayKey: ReplayKey
  let core: CoreCompact.Checked

  /// The head of a token: by it the caller finds the keys. Nothing authenticates it yet.
  public struct Head: Sendable, Hashable {
    /// The name of the app instance.
    public let handle: GateHandle
    /// The number of the account key; 0 without an account.
    public let accountKey: UInt8
  }

  /// Reads the head of a token.
  ///
  /// - Parameters:
  ///   - text: 88 characters of base64url.
  ///   - kind: The kind asked for.
  /// - Returns: The head.
  /// - Throws: ``GateRefusal``; ``GateRefusal/errorState`` for the token of an app without keys.
  public static func head(of text: String, as kind: CompactKind) throws(GateRefusal) -> Head {
    try CoreCompact.head(of: text, as: kind)
  }

  /// The cause in the token of an app without keys; nil for another token. Nothing authenticates it.
  ///
  /// - Parameters:
  ///   - text: 88 characters of base64url.
  ///   - kind: The kind asked for.
  /// - Returns: The cause's number.
  public static func cause(in text: String, as kind: CompactKind) -> UInt8? {
    CoreCompact.cause(in: text, as: kind)
  }

  /// Checks a token: handle and tag, the latter in constant time, and the fields that no app writes.
  ///
  /// - Parameters:
  ///   - text: 88 characters of base64url.
  ///   - subject: The request or event as the checker sees it.
  ///   - keys: Those of the handle.
  /// - Throws: ``GateRefusal``.
  public init(
    checking text: String, for subject: CompactSubject, with keys: CompactKeys
  ) throws(GateRefusal) {
    self = try CoreCompact.check(text, for: subject, with: keys.core)
  }

  init(core: CoreCompact.Checked, kind: CompactKind) {
    self.core = core
    self.kind = kind
    handle = core.handle
    accountKey = core.compact.account_key
    created = UnixTime(clamping: core.compact.created)
    event = core.compact.event
    start = core.compact.start
    count = core.compact.count
    isYoung = core.isYoung
    measured = core.compact.measured
    replayKey = core.replayKey
  }

  /// The rules of a route or of an event.
  public struct Rules: Sendable {
    /// The highest time that the node has seen.
    public var now: UnixTime
    /// Seconds before and after the token's moment.
    public var window: UInt32
    /// The highest count seen for this handle and start; 0 if none is known.
    public var newest: UInt32
    /// The event asked for; 0 for requests.
    public var event: UInt16
    /// The oldest measurement in seconds; 255 for any.
    public var measuredMax: UInt8
    /// The beacons that anchor a token; nil if none is asked for.
    public var beacons: ValidBeacons?

    /// Describes the rules.
    public init(
      now: UnixTime, window: UInt32 = CompactToken.window, newest: UInt32 = 0, event: UInt16 = 0,
      measuredMax: UInt8 = 255, beacons: ValidBeacons? = nil
    ) {
      self.now = now
      self.window = window
      self.newest = newest
      self.event = event
      self.measuredMax = measuredMax
      self.beacons = beacons
    }
  }

  /// Judges the fields in the order of docs/SPEC.md, section 15. The last step is the caller's: a token
  /// whose ``replayKey`` is in the store is ``GateRefusal/replayed``.
  ///
  /// - Parameter rules: The rules of the route or event.
  /// - Throws: ``GateRefusal``.
  public func judge(by rules: Rules) throws(GateRefusal) {
    try CoreCompact.judge(core, by: rules)
  }

  /// Whether the token carries one of these beacons.
  ///
  /// - Parameter beacons: Those of this moment.
  /// - Returns: False for a token without a beacon, too.
  public func isAnchored(by beacons: ValidBeacons) -> Bool {
    core.isAnchored(by: beacons.core)
  }

  /// Whether two tokens are the same.
  public static func == (left: CompactToken, right: CompactToken) -> Bool {
    left.replayKey == right.replayKey && left.created == right.created && left.kind == right.kind
  }

  /// Hashes the replay key.
  public func hash(into hasher: inout Hasher) { hasher.combine(replayKey) }
}
