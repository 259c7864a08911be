// SPDX-License-Identifier: Apache-2.0

import FolderModel
@testable import ProofBackend
import ProofJOSE
import ProofModel
import Testing

@Suite("Tokens for measurements to come")
struct UpcomingTokenTests {
  private static let features: HardwareFeatures = [.tokenVersionTwo, .upcoming]

  /// The claims of a pair to come: of a fetch whose present pair has generation 3.
  private func coming(
    _ backend: Backend, _ generation: Int64 = 4, base: Int64 = 3, byte: UInt8 = 32
  ) throws -> Claims {
    var claims = try backend.claims(generation: generation)
    claims.measurement = try MeasurementClaims(
      integrityMeasurement: [UInt8](byte...byte + 31).span,
      deviceMeasurement: [UInt8](101...132).span, proofKey: [UInt8](1...16).span,
      deviceKey: [UInt8](201...216).span)
    claims.others["mgb"] = .number(JSONNumber(base))
    claims.others["mup"] = .bool(true)
    return claims
  }

  private func app(_ backend: Backend, _ claims: Claims) throws -> MeasuredApp {
    try backend.verifier().measurement(of: backend.sealed(claims))
  }

  @Test("one call gives the tokens of all pairs, and the upcoming one says so")
  func pairs() throws {
    let backend = try Backend(features: Self.features)
    let tokens = try backend.issuer.issue(
      to: backend.app(), upcoming: [app(backend, coming(backend))], for: backend.hardware,
      Backend.permissions)
    let present = try backend.keys.open(tokens.present)
    #expect(present.generation == 3 && !present.isUpcoming && present.base == 3)
    let later = try backend.keys.open(#require(tokens.upcoming[0]))
    #expect(later.generation == 4 && later.isUpcoming && later.base == 3 && later.version == .two)
  }

  @Test("an upcoming token ends after 90 days at most")
  func lifetime() throws {
    let backend = try Backend(features: Self.features)
    var permissions = Backend.permissions
    for (lifetime, expected) in [(nil, 90 * 86_400), (60, 60), (1 << 40, 90 * 86_400)]
      as [(UInt64?, UInt64)]
    {
      permissions.lifetime = lifetime
      let token = try backend.issuer.issue(
        to: app(backend, coming(backend)), for: backend.hardware, permissions)
      #expect(try backend.keys.open(token).notAfter == Backend.now + expected)
    }
  }

  @Test("hardware that takes no upcoming token gets the present one alone")
  func older() throws {
    for features in [[], [.tokenVersionTwo], [.upcoming]] as [HardwareFeatures] {
      let backend = try Backend(features: features)
      let upcoming = try app(backend, coming(backend))
      let tokens = try backend.issuer.issue(
        to: backend.app(), upcoming: [upcoming], for: backend.hardware, Backend.permissions)
      #expect(tokens.upcoming == [nil])
      #expect(throws: BackendError.upcomingRefused(backend.hardware)) {
        try backend.issuer.issue(to: upcoming, for: backend.hardware, Backend.permissions)
      }
    }
  }

  @Test("the present token may be issued again after the upcoming one, and an older fetch may not")
  func ledger() throws {
    let backend = try Backend(features: Self.features)
    let issuer = backend.issuer
    let id = backend.hardware
    func issue(_ app: MeasuredApp) throws {
      _ = try issuer.issue(to: app, for: id, Backend.permissions)
    }
    try issue(app(backend, coming(backend, 6)))
    try issue(backend.app())
    try issue(app(backend, coming(backend, 4)))
    // The next fetch: every generation of the one before is older.
    try issue(backend.app(generation: 7))
    for generation: Int64 in [3, 4, 6] {
      #expect(throws: BackendError.superseded(issued: 7, offered: UInt32(generation))) {
        try issue(
          generation == 3 ? backend.app() : app(backend, coming(backend, generation)))
      }
    }
  }

  @Test("the base of a fetch outlives the process")
  func stored() throws {
    let folder = ModelFolder()
    let pair = IssuePair(
      try InstanceID([UInt8](repeating: 7, count: 16)), at: HardwareID.random())
    try IssueLedgerFile(folder).noteIssue(of: 6, base: 3, to: pair, by: .one, at: 1)
    let again = try IssueLedgerFile(folder)
    try again.noteIssue(of: 3, base: 3, to: pair, by: .one, at: 2)
    #expect(throws: BackendError.superseded(issued: 3, offered: 2)) {
      try again.noteIssue(of: 2, base: 2, to: pair, by: .one, at: 3)
    }
    #expect(throws: BackendError.self) {
      try again.noteIssue(of: 70_000, base: 1, to: pair, by: .one, at: 3)
    }
  }

  @Test("statements of different fetches, instances and modes are not issued together")
  func mixed() throws {
    let backend = try Backend(features: Self.features)
    var other = try coming(backend)
    other.instance = [UInt8](repeating: 8, count: 16)
    for claims in [try coming(backend, 5, base: 4), other, try backend.claims(generation: 4)] {
      let app = try app(backend, claims)
      #expect(throws: BackendError.self) {
        try backend.issuer.issue(
          to: backend.app(), upcoming: [app], for: backend.hardware, Backend.permissions)
      }
    }
  }

  @Test("the two claims of a pair to come stand together, and the base is below the generation")
  func claims() throws {
    let backend = try Backend(features: Self.features)
    for (base, upcoming) in [
      (nil, .bool(true)), (.number(JSONNumber(3)), nil), (.number(JSONNumber(3)), .bool(false)),
      (.number(JSONNumber(4)), .bool(true)), (.number(JSONNumber(0)), .bool(true)),
      (.string("3"), .bool(true)),
    ] as [(JSONValue?, JSONValue?)] {
      var claims = try backend.claims(generation: 4)
      claims.others["mgb"] = base
      claims.others["mup"] = upcoming
      #expect(throws: TokenRefusal.self) { try app(backend, claims) }
    }
  }

  @Test("the API answers with one token for each pair, and zeros for what does not open")
  func request() throws {
    let backend = try Backend(features: Self.features)
    let grant = UnlockGrant(
      try backend.verifier(), backend.issuer, authorization: { _ in UnlockGrant.User("ada") },
      permit: { _ in Backend.permissions })
    let decoy = try JWEEncrypter(JSONWebKey.random(.direct, id: "m1")).seal(coming(backend))
    let good = try backend.sealed(coming(backend))
    func ask(_ lines: [String], _ query: [String: String] = [:]) throws -> UnlockGrant.Answer {
      grant.answer(
        .init(
          method: "POST",
          query: ["hardware": backend.hardware.description].merging(query) { $1 },
          headers: ["proof-token": try backend.sealed(backend.claims())],
          body: Array(lines.joined(separator: "\n").utf8)))
    }
    let size = MeasurementToken.byteCount
    #expect(try ask([]).body.count == size)
    let answer = try ask([decoy, good])
    #expect(answer.status == 200 && answer.body.count == 3 * size)
    #expect(answer.body[size..<2 * size].allSatisfy { $0 == 0 })
    let token = try MeasurementToken(Array(answer.body[(2 * size)...]))
    #expect(try backend.keys.open(token).isUpcoming)
    let most = try (4...6).map { try backend.sealed(coming(backend, $0)) }
    #expect(try ask(most).body.count == 4 * size)
    #expect(try ask(most + [good]).status == 400)
    #expect(try ask([good], ["form": "literal"]).status == 400)
    let other = try backend.sealed(coming(backend, 9, base: 8))
    #expect(try ask([other]).status == 409)
  }
}
