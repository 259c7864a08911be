// SPDX-License-Identifier: Apache-2.0

import ProofJOSE
import ProofModel
import Synchronization
import Testing

@testable import ProofBackend

/// A ledger that refuses, and one that notes what it is told.
final class ToldLedger: IssueLedger {
  struct Issue: Sendable, Hashable {
    let generation, base: UInt32
    let pair: IssuePair
    let suite: TokenSuite
    let time: UnixTime
  }

  struct Revocation: Sendable, Hashable {
    let generation: UInt32
    let pair: IssuePair
    let time: UnixTime
  }

  private let failure: BackendError?
  let issues = Mutex<[Issue]>([])
  let revocations = Mutex<[Revocation]>([])

  init(failing failure: BackendError? = nil) { self.failure = failure }

  func latestTime() throws(BackendError) -> UnixTime? { nil }

  func noteIssue(
    of generation: UInt32, base: UInt32, to pair: IssuePair, by suite: TokenSuite, at time: UnixTime
  ) throws(BackendError) {
    if let failure { throw failure }
    let issue = Issue(generation: generation, base: base, pair: pair, suite: suite, time: time)
    issues.withLock { $0.append(issue) }
  }

  func noteRevocation(
    through generation: UInt32, of pair: IssuePair, at time: UnixTime
  ) throws(BackendError) {
    if let failure { throw failure }
    revocations.withLock {
      $0.append(Revocation(generation: generation, pair: pair, time: time))
    }
  }
}

/// Answers of the API for measurement tokens: header fields, references, and lines of the log.
@Suite("UnlockGrant, answers")
struct UnlockAnswerTests {
  private final class Log: Sendable {
    let lines = Mutex<[String]>([])
    var all: [String] { lines.withLock { $0 } }
  }

  private func ask(
    _ backend: Backend, _ log: Log = Log(), method: String = "POST", ledger: ToldLedger? = nil,
    query: [String: String]? = nil, headers: [String: String], body: [UInt8] = [],
    user: String? = "ada", permits: Bool = true
  ) throws -> UnlockGrant.Answer {
    let issuer = MeasurementTokenIssuer(
      backend.issuerKey, for: backend.registry, ledger: ledger ?? ToldLedger(),
      clock: .fixed(Backend.now))
    let grant = UnlockGrant(
      try backend.verifier(), issuer, log: { line in log.lines.withLock { $0.append(line) } },
      authorization: { _ in user.map { UnlockGrant.User($0) } },
      permit: { _ in permits ? Backend.permissions : nil })
    return grant.answer(
      .init(
        method: method, query: query ?? ["hardware": backend.hardware.description],
        headers: headers, body: body))
  }

  @Test("A token has its type, is kept by no cache, and its line has the app's reference")
  func granted() throws {
    let (backend, log) = (try Backend(), Log())
    let answer = try ask(backend, log, headers: ["proof-token": backend.sealed(backend.claims())])
    #expect(answer.status == 200)
    #expect(
      answer.headers == [
        "content-type": "application/octet-stream", "cache-control": "no-store",
      ])
    let reference = HardwareReference.of(try MeasurementToken(answer.body))
    let instance = try InstanceID(Backend.instanceBytes)
    #expect(log.all == ["unlock-grant: ref=\(reference) issued to instance \(instance)"])
  }

  @Test("A refusal has one word, a reference of its own, and the log's line begins with it")
  func refused() throws {
    let (backend, log) = (try Backend(), Log())
    let good = ["proof-token": try backend.sealed(backend.claims())]
    let instance = try InstanceID(Backend.instanceBytes)
    var literal = ["hardware": backend.hardware.description]
    literal["form"] = "literal"
    var references: Set<String> = []
    for (status, word, cause, answer) in [
      (
        405, "method", "the method is not POST", try ask(backend, log, method: "GET", headers: good)
      ),
      (
        401, "user", "instance \(instance) came without a user who is known",
        try ask(backend, log, headers: good, user: nil)
      ),
      (
        400, "hardware", "the request names no hardware",
        try ask(backend, log, query: [:], headers: good)
      ),
      (
        400, "hardware", "the request names no hardware",
        try ask(
          backend, log, query: ["hardware": String(repeating: "0", count: 32)], headers: good)
      ),
      (
        400, "form", "the request names no form that is known, or upcoming literals",
        try ask(backend, log, query: literal, headers: good, body: Array("x".utf8))
      ),
      (
        403, "rights", "instance \(instance) has no rights at \(backend.hardware) for its user",
        try ask(backend, log, headers: good, permits: false)
      ),
      (
        400, "body", "the body has no upcoming tokens of this form",
        try ask(backend, log, headers: good, body: [0xFF])
      ),
      (
        400, "body", "the body has no upcoming tokens of this form",
        try ask(backend, log, headers: good, body: Array("a\nb\nc\nd".utf8))
      ),
      (
        401, "missing", "\(TokenRefusal(.missing).code): \(TokenRefusal(.missing))",
        try ask(backend, log, headers: [:])
      ),
    ] as [(Int, String, String, UnlockGrant.Answer)] {
      #expect(answer.status == status && answer.body == Array("\(word)\n".utf8))
      let reference = try #require(answer.headers["proof-reference"])
      #expect(Hexadecimal.decode(reference)?.count == 8)
      #expect(references.insert(reference).inserted)
      #expect(log.all.contains("unlock-grant: ref=\(reference) \(cause)"), "\(cause)")
      #expect(answer.headers["content-type"] == "text/plain; charset=utf-8")
      #expect(answer.headers["cache-control"] == "no-store")
      #expect(
        answer.headers["www-authenticate"]
          == (status == 401 ? "Bearer error=\"invalid_token\"" : nil))
      #expect(answer.headers["allow"] == (status == 405 ? "POST" : nil))
      #expect(answer.headers.count == (status == 401 || status == 405 ? 4 : 3))
    }
  }

  @Test("Each error of the issuer has the status and the word of the page")
  func errors() throws {
    let backend = try Backend()
    let headers = ["proof-token": try backend.sealed(backend.claims())]
    let (id, instance) = (HardwareID.random(), InstanceID.random())
    for (error, status, word) in [
      (.unknownHardware(id), 403, "hardware"), (.revokedHardware(id), 403, "hardware"),
      (.otherMode(app: .production, hardware: .development), 403, "hardware"),
      (.literalRefused(id), 403, "hardware"), (.upcomingRefused(id), 403, "hardware"),
      (.revokedInstance(instance, through: 3), 403, "hardware"),
      (.otherFetch(instance), 409, "fetch"),
      (.superseded(issued: 5, offered: 4), 409, "superseded"),
      (.factorySecretMissing(id), 503, "unavailable"), (.downgraded(id), 503, "unavailable"),
      (.clockAhead(of: 1, by: 2), 503, "unavailable"),
      (.refused(.notForThisHardware("factory secret")), 503, "unavailable"),
      (.storage(path: "p", reason: "r"), 503, "unavailable"),
      (.damaged(path: "p", reason: "r"), 503, "unavailable"),
      (.inUse(path: "p", processID: 4), 503, "unavailable"),
    ] as [(BackendError, Int, String)] {
      let log = Log()
      let answer = try ask(backend, log, ledger: ToldLedger(failing: error), headers: headers)
      #expect(answer.status == status && answer.body == Array("\(word)\n".utf8), "\(error)")
      let reference = answer.headers["proof-reference"] ?? ""
      #expect(log.all == ["unlock-grant: ref=\(reference) \(error.code): \(error)"])
    }
  }

  @Test("The token's own header comes before Authorization, whose scheme is Bearer")
  func headers() throws {
    let backend = try Backend()
    let token = try backend.sealed(backend.claims())
    for (headers, status) in [
      (["proof-token": token, "authorization": "Bearer x"], 200),
      (["proof-token": "x", "authorization": "Bearer \(token)"], 401),
      (["authorization": "Bearer \(token)"], 200), (["authorization": "bearer \(token)"], 401),
      (["authorization": "Bearer\(token)"], 401), (["authorization": token], 401),
      (["Proof-Token": token], 401),
    ] { #expect(try ask(backend, headers: headers).status == status, "\(headers)") }
  }

  @Test("The form is diversified unless the query names the literal one")
  func forms() throws {
    let backend = try Backend(literal: true)
    let headers = ["proof-token": try backend.sealed(backend.claims())]
    for (form, expected) in [
      (nil, .diversified), ("diversified", .diversified), ("literal", .literal),
    ]
      as [(String?, TokenForm)]
    {
      var query = ["hardware": backend.hardware.description]
      query["form"] = form
      let answer = try ask(backend, query: query, headers: headers)
      #expect(try backend.keys.open(MeasurementToken(answer.body)).secrets.form == expected)
    }
  }

  @Test("Lines that open nothing are zeros, are told to the log, and empty lines are none")
  func upcoming() throws {
    let (backend, log) = (try Backend(features: [.tokenVersionTwo, .upcoming]), Log())
    var claims = try backend.claims(generation: 4)
    claims.others["mgb"] = .number(JSONNumber(3))
    claims.others["mup"] = .bool(true)
    let lines = "\nx\n\n" + (try backend.sealed(claims)) + "\n"
    let answer = try ask(
      backend, log, headers: ["proof-token": backend.sealed(backend.claims())],
      body: Array(lines.utf8))
    #expect(answer.status == 200 && answer.body.count == 3 * 288)
    #expect(answer.body[288..<576].allSatisfy { $0 == 0 })
    let tokens = try [0, 576].map { try MeasurementToken(Array(answer.body[$0..<$0 + 288])) }
    #expect(try tokens.map { try backend.keys.open($0).generation } == [3, 4])
    let instance = try InstanceID(Backend.instanceBytes)
    #expect(log.all.count == 3 && log.all[0].hasPrefix("unlock-grant: upcoming: "))
    #expect(
      log.all.dropFirst()
        == tokens.map {
          "unlock-grant: ref=\(HardwareReference.of($0)) issued to instance \(instance)"
        }[...])
  }

  // MARK: The issuer

  @Test("The ledger is told the generation, the base, the pair, the suite and the time")
  func told() throws {
    let backend = try Backend(features: [.tokenVersionTwo, .upcoming])
    let ledger = ToldLedger()
    let issuer = MeasurementTokenIssuer(
      backend.issuerKey, for: backend.registry, ledger: ledger, clock: .fixed(Backend.now))
    #expect(issuer.publicKey == backend.issuerKey.publicKey)
    var claims = try backend.claims(generation: 9)
    claims.others["mgb"] = .number(JSONNumber(7))
    claims.others["mup"] = .bool(true)
    let upcoming = try backend.verifier().measurement(of: backend.sealed(claims))
    let present = try backend.app(generation: 7)
    _ = try issuer.issue(
      to: present, upcoming: [upcoming], for: backend.hardware, Backend.permissions)
    let pair = IssuePair(present.instance, at: backend.hardware)
    #expect(
      ledger.issues.withLock { $0 } == [
        .init(generation: 7, base: 7, pair: pair, suite: .one, time: Backend.now),
        .init(generation: 9, base: 7, pair: pair, suite: .one, time: Backend.now),
      ])
    _ = try issuer.orderRevocation(of: present.instance, through: 8, at: backend.hardware)
    let order = try issuer.orderRevocation(of: present.instance, at: backend.hardware)
    #expect(
      ledger.revocations.withLock { $0 } == [
        .init(generation: 8, pair: pair, time: Backend.now),
        .init(generation: .max, pair: pair, time: Backend.now),
      ])
    #expect(try backend.keys.open(order).issued == Backend.now)
    #expect(throws: BackendError.upcomingRefused(backend.hardware)) {
      try issuer.issue(to: upcoming, for: backend.hardware, Backend.permissions, form: .literal)
    }
  }

  @Test("Rights that the features do not name are refused by their field")
  func unnamed() throws {
    let backend = try Backend()
    let classes = CommandClasses(rawValue: 3)
    for (permissions, field, value, feature) in [
      (GrantPermissions(classes, ratchet: .refuse), "ratchet", "refuse", "ratchets"),
      (GrantPermissions(classes, ratchet: .report), "ratchet", "report", "ratchets"),
      (
        GrantPermissions(classes, demandsSealing: true), "sealed commands only", "yes",
        "sealed commands"
      ),
      (GrantPermissions(classes, permitsChannel: true), "channel", "yes", "channels"),
      (
        GrantPermissions(classes, delegableClasses: classes), "set of classes to delegate", "0x3",
        "grants"
      ),
    ] {
      let allowed = "none for this hardware: its registered features do not name \(feature)"
      #expect(
        throws: BackendError.refused(.outOfRange(field: field, value: value, allowed: allowed))
      ) { try backend.issuer.issue(to: backend.app(), for: backend.hardware, permissions) }
      #expect(permissions.needVersionTwo)
    }
    #expect(!GrantPermissions(classes).needVersionTwo)
    #expect(GrantPermissions.upcomingLifetime == 7_776_000)
    #expect(MeasurementTokenIssuer.defaultClockStep == 7_776_000)
  }

  @Test("A token without an end has none, and is of version two only where the features say so")
  func versions() throws {
    for features in [[], [.tokenVersionTwo]] as [HardwareFeatures] {
      let backend = try Backend(features: features)
      var permissions = Backend.permissions
      permissions.lifetime = nil
      let token = try backend.issuer.issue(to: backend.app(), for: backend.hardware, permissions)
      let grant = try backend.keys.open(token)
      #expect(grant.notAfter == nil && grant.version == (features.isEmpty ? .one : .two))
    }
  }

  @Test("Orders of a time are 400 days apart, end now, and are 256 at most")
  func steps() throws {
    let backend = try Backend()
    let (id, step) = (backend.hardware, Int64(400 * 86_400))
    func times(from epoch: UnixTime, at now: UnixTime) throws -> [UnixTime] {
      let issuer = MeasurementTokenIssuer(
        backend.issuerKey, for: backend.registry, ledger: ToldLedger(), clock: .fixed(now))
      return try issuer.orderEpochs(for: id, from: epoch).map { try backend.keys.open($0).issued }
    }
    let now = Backend.now
    #expect(try times(from: now, at: now) == [] && times(from: now + 1, at: now) == [])
    #expect(try times(from: now - 1, at: now) == [now])
    #expect(try times(from: now - step, at: now) == [now])
    #expect(try times(from: now - step - 1, at: now) == [now - 1, now])
    let start: UnixTime = 1
    #expect(try times(from: start, at: start + 256 * step).count == 256)
    let most = try times(from: start, at: start + 257 * step)
    #expect(most.count == 256 && most.last == start + 256 * step)
  }
}
