// SPDX-License-Identifier: Apache-2.0

public import HTTPServing
public import ProofJOSE
public import ProofModel

/// The attestation service: bytes in, bytes out. SERVICE.md specifies both.
///
/// It reads only the clock it is given and opens no socket. Several threads call it at once.
/// Between two requests all its state is in the store, except rate limits and counters.
public final class AttestationService: HTTPHandler {
  /// A completed action, free of secrets, for a log.
  public struct Event: Sendable {
    /// The action, such as `report`.
    public var name: String
    /// The action's details, in order.
    public var details: [(name: String, value: String)]
  }

  /// The account that is served.
  public let account: Account
  /// The counters since the start.
  public let metrics = ServiceMetrics()
  let clock: UnixClock
  let log: @Sendable (Event) -> Void
  let logsReports: Bool
  let noteGrant: @Sendable (GateGrant) -> Void
  /// The certificates that may vouch for TPMs. nil means that no key counts as hardware.
  let tpmAuthorities: TPMAuthorities?
  let management: Management
  let addresses = RateLimiter()
  let devices = RateLimiter()
  let firstFetches = FirstFetches()
  let recentDevices = RecentDevices()
  let sweeper = Sweeper()
  let watch = ClockWatch()
  let noise = SaltNoise()
  /// Seconds for which configurations and key sets are answered while the storage is away.
  let grace: Int64
  /// The account as the storage last answered it, and when.
  private let last = CoreLock<(snapshot: Snapshot, time: UnixTime)?>(nil)
  /// Whether the clocks agreed when they were last compared.
  private let clockAgreed = CoreLock(true)
  /// Failures of the storage since it last served.
  private let failures = CoreLock(0)

  /// Makes a service.
  ///
  /// - Parameters:
  ///   - account: The account to serve.
  ///   - clock: Gives the time.
  ///   - tpmAuthorities: The certificates that may vouch for TPMs. nil means that no key counts as
  ///     hardware.
  ///   - grace: Seconds for which configurations and key sets are answered from memory while the storage is away; 0
  ///     refuses them at once. A challenge and a report always need the storage.
  ///   - noteGrant: Takes the content of each gate token that was issued, with its secret, on several threads: a
  ///     redeemer of events in this process learns the installation's keys by it.
  ///   - logsReports: Whether `log` takes each report, too.
  ///   - log: Takes completed actions, on several threads.
  public init(
    account: Account, clock: UnixClock = .system,
    tpmAuthorities: TPMAuthorities? = nil, grace: Int64 = 0,
    noteGrant: @escaping @Sendable (GateGrant) -> Void = { _ in },
    logsReports: Bool = true, log: @escaping @Sendable (Event) -> Void = { _ in }
  ) {
    self.account = account
    self.clock = clock
    self.tpmAuthorities = tpmAuthorities
    self.grace = grace
    self.noteGrant = noteGrant
    self.logsReports = logsReports
    self.log = log
    management = Management(account, clock: clock)
  }

  /// The response to a request. Every request gets one, whatever its content.
  public func respond(to request: HTTPRequest) -> HTTPResponse { answer(to: request).response() }

  /// Answers a request: a report when its outcome is on the disk, any other request at once.
  public func answer(to request: HTTPRequest) -> HTTPAnswer {
    answer { () throws(Refusal) in
      guard request.body.count <= Self.bodyMax else { throw .tooLarge }
      guard request.path == Self.reportPath else { return .now(try route(request)) }
      try require("POST", request)
      return try report(request)
    }
  }

  /// The answer that a body gives, or its refusal.
  func answer(_ body: () throws(Refusal) -> HTTPAnswer) -> HTTPAnswer {
    do throws(Refusal) {
      return try body()
    } catch {
      if let event = error.event { metrics.count(event) }
      if let note = error.note {
        log(Event(name: "request failed", details: [("reason", note)]))
      }
      var response = HTTPResponse(status: error.status, text: error.text)
      if let seconds = error.retryAfter { response.headers["retry-after"] = "\(seconds)" }
      return .now(response)
    }
  }

  private static let reportPath = "/v1/report"

  private func route(_ request: HTTPRequest) throws(Refusal) -> HTTPResponse {
    let parts = request.path.split(separator: "/", omittingEmptySubsequences: false)
    guard parts.count >= 2, parts[0].isEmpty else { throw .notFound }
    switch (parts[1], parts.count) {
    case ("health", 2):
      try require("GET", request)
      _ = try snapshot()
      try requireRightClock()
      return HTTPResponse(status: 200, text: "ok")
    case ("metrics", 2):
      try require("GET", request)
      return HTTPResponse(status: 200, text: metrics.text + firstFetches.text + countsText())
    case ("v1", 3) where parts[2] == "challenge":
      try require("POST", request)
      return try challenge(request)
    case ("v1", 4) where parts[2] == "config":
      try require("GET", request)
      return try configuration(of: String(parts[3]), request)
    case ("v1", 4) where parts[2] == "jwks":
      try require("GET", request)
      return try jwks(of: String(parts[3]), request)
    case ("v1", 4) where parts[2] == "gate" && parts[3] == "configuration":
      return try gateConfiguration(request)
    case ("v1", 5) where parts[2] == "manage":
      return try manage("\(parts[3])/\(parts[4])", request)
    default: throw .notFound
    }
  }

  static let bodyMax = 1 << 20

  func require(_ method: String, _ request: HTTPRequest) throws(Refusal) {
    guard request.method == method else { throw .wrongMethod(method) }
  }

  func snapshot() throws(Refusal) -> Snapshot {
    let now = clock.now
    let snapshot = try stored { () throws(ServiceError) in try account.snapshot() }
    if grace > 0 { last.withLock { $0 = (snapshot, now) } }
    return snapshot
  }

  /// The account for answers that the operator may give while the storage is away: see ``grace``.
  private func published() throws(Refusal) -> Snapshot {
    do throws(Refusal) {
      return try snapshot()
    } catch {
      let now = clock.now
      guard grace > 0, let last = last.withLock({ $0 }), 0...grace ~= Int64(now - last.time)
      else { throw error }
      return last.snapshot
    }
  }

  /// Reads the account at its present revision, the row of a device, and the mark of a salt.
  func glance(
    at device: InstanceID, and salt: SaltPlace? = nil
  ) throws(Refusal) -> (snapshot: Snapshot, seen: StoreGlance) {
    let seen = try store { (store) throws(StoreError) in try store.glance(at: device, and: salt) }
    let snapshot = try stored { () throws(ServiceError) in
      try account.snapshot(at: seen.revision)
    }
    return (snapshot, seen)
  }

  func store<R>(_ body: (any Store) throws(StoreError) -> R) throws(Refusal) -> R {
    try stored { () throws(StoreError) in try body(account.store) }
  }

  /// Refuses if this machine's clock and the store's differ by too much.
  func requireRightClock() throws(Refusal) {
    let now = clock.now
    let agrees = try store { (store) throws(StoreError) in
      try watch.agrees(with: store, at: now)
    }
    let changed = clockAgreed.withLock { agreed in
      defer { agreed = agrees }
      return agreed != agrees
    }
    if changed {
      let ahead = ("ahead", "\(watch.clockAhead ?? 0)")
      log(Event(name: agrees ? "clock agrees again" : "clock differs", details: [ahead]))
    }
    guard agrees else { throw .wrongClock }
  }

  /// Calls the storage. Logs its 1st, 10th, 100th … failure in a row, and the first success after
  /// one: the client learns no reason.
  func stored<R, E: Error>(_ body: () throws(E) -> R) throws(Refusal) -> R {
    do {
      let result = try body()
      let failed = failures.withLock { count in
        defer { count = 0 }
        return count
      }
      if failed > 0 {
        log(Event(name: "storage serves again", details: [("failures", "\(failed)")]))
      }
      return result
    } catch {
      let count = failures.withLock { count in
        count += 1
        return count
      }
      let digits = "\(count)"
      if digits.first == "1", digits.dropFirst().allSatisfy({ $0 == "0" }) {
        log(Event(name: "storage failed", details: [("count", digits), ("reason", "\(error)")]))
      }
      throw .failed
    }
  }

  static func binary(_ bytes: [UInt8]) -> HTTPResponse {
    HTTPResponse(
      status: 200, headers: ["content-type": "application/octet-stream"], body: bytes)
  }

  private func countsText() -> String {
    let ahead =
      watch.clockAhead.map {
        "# TYPE proof_service_clock_ahead_seconds gauge\nproof_service_clock_ahead_seconds \($0)\n"
      } ?? ""
    guard let counts = try? account.store.surveyedCounts() else { return ahead }
    var text =
      ahead + """
        # TYPE proof_service_devices gauge
        proof_service_devices \(counts.content.devices)

        """
    if case .atMost(let seconds) = counts.age {
      text += """
        # TYPE proof_service_devices_age_seconds gauge
        proof_service_devices_age_seconds \(seconds)

        """
    }
    return text
  }

  // MARK: Configuration and keys

  private func configuration(
    of name: String, _ request: HTTPRequest
  ) throws(Refusal) -> HTTPResponse {
    let snapshot = try published()
    guard name == account.name else { throw .unknownAccount }
    try limitAddress(request, snapshot)
    metrics.count(.configurations)
    if let text = request.query["serial"] {
      guard let serial = UInt32(text) else { throw .malformed("The serial is no number.") }
      if serial == snapshot.configuration.serial { return HTTPResponse(status: 204) }
    }
    return HTTPResponse(
      status: 200, headers: ["content-type": "application/jose"],
      body: Array(snapshot.signedConfiguration.utf8))
  }

  private func jwks(
    of name: String, _ request: HTTPRequest
  ) throws(Refusal) -> HTTPResponse {
    let snapshot = try published()
    guard name == account.name else { throw .unknownAccount }
    try limitAddress(request, snapshot)
    guard let text = try? snapshot.jwks() else {
      throw .unanswered("The account's public keys cannot be read.")
    }
    return HTTPResponse(
      status: 200,
      headers: [
        "content-type": "application/jwk-set+json",
        "cache-control": "max-age=\(KeySetKey.publishedSeconds)",
      ],
      body: Array(text.utf8))
  }

  func limitAddress(_ request: HTTPRequest, _ snapshot: Snapshot) throws(Refusal) {
    let wait = addresses.wait(
      of: Array(IPAddress.network(of: request.peer).utf8), rate: snapshot.policy.addressRate,
      at: clock.now)
    if let wait { throw .tooMany(retryAfter: wait) }
  }
}

/// The error answer to a request.
struct Refusal: Error {
  var status: Int
  var text: String
  var event: ServiceMetrics.Event?
  var retryAfter: Int?
  /// A reason that the log tells, and the client does not learn.
  var note: String?

  /// The service itself is why there is no answer.
  static func unanswered(_ reason: String) -> Refusal {
    Refusal(
      status: 503, text: "The service cannot answer this request. Its log has the reason.",
      event: .storeFailures, note: reason)
  }
  static func malformed(_ text: String) -> Refusal {
    Refusal(status: 400, text: text, event: .malformed)
  }
  static let unknownAccount = Refusal(
    status: 404, text: "There is no such account here.", event: .unknown)
  static let unknownKey = Refusal(
    status: 404, text: "There is no such SDK build in this account.", event: .unknown)
  static let notFound = Refusal(status: 404, text: "There is nothing at this path.")
  static func wrongMethod(_ allowed: String) -> Refusal {
    Refusal(status: 405, text: "Use \(allowed) here.")
  }
  static let tooLarge = Refusal(status: 413, text: "At most 1 MiB.", event: .malformed)
  static func tooMany(retryAfter: Int) -> Refusal {
    Refusal(
      status: 429, text: "Too many requests. Wait.", event: .limited, retryAfter: retryAfter)
  }
  static let wrongClock = Refusal(
    status: 503, text: "The clocks of this service and of its storage differ. Try again.",
    event: .storeFailures)
  static let failed = Refusal(
    status: 503, text: "The service cannot reach its storage. Try again.", event: .storeFailures)
}
