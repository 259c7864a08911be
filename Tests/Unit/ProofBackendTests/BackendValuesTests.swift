// SPDX-License-Identifier: Apache-2.0

import ProofJOSE
import ProofModel
import ProofRequest
import Testing

@testable import ProofBackend

/// Values of the backend: permissions of a command line, claims of a measured app, words of errors.
@Suite struct BackendValuesTests {
  // MARK: Permissions

  private static func read(
    classes: String = "0", device: String? = nil, attempts: String? = nil, uses: String? = nil,
    lifetime: String? = nil, ratchet: String? = nil, delegable: String? = nil
  ) throws -> GrantPermissions {
    try GrantPermissions(
      classes: classes, deviceClasses: device, attempts: attempts, uses: uses, lifetime: lifetime,
      ratchet: ratchet, delegable: delegable)
  }

  private static func classes(_ numbers: UInt8...) throws -> CommandClasses {
    var classes: CommandClasses = []
    for number in numbers { classes.formUnion(CommandClasses(try CommandClass(number))) }
    return classes
  }

  @Test("Permissions without more have the defaults, and each option sets its own part")
  func permissions() throws {
    let least = try Self.read()
    #expect(try least == GrantPermissions(Self.classes(0)))
    #expect(least.attempts == 5 && least.uses == .unlimited && least.lifetime == 30 * 86_400)
    let whole = try GrantPermissions(
      classes: "0,15", deviceClasses: "1", attempts: "7", uses: "9", lifetime: "11",
      ratchet: "refuse", delegable: "2,3", demandsSealing: true, permitsChannel: true)
    var expected = GrantPermissions(try Self.classes(0, 15), deviceClasses: try Self.classes(1))
    expected.attempts = 7
    expected.uses = .limited(9)
    expected.lifetime = 11
    expected.ratchet = .refuse
    expected.delegableClasses = try Self.classes(2, 3)
    expected.demandsSealing = true
    expected.permitsChannel = true
    #expect(whole == expected)
    #expect(try Self.read(uses: "unlimited").uses == .unlimited)
    #expect(try Self.read(lifetime: "endless").lifetime == nil)
    #expect(
      try Self.read(ratchet: "report").ratchet == .report
        && Self.read(classes: "") == Self.read(classes: ","))
    let plain = try GrantPermissions(
      classes: "0", deviceClasses: nil, attempts: nil, uses: nil, lifetime: nil)
    #expect(!plain.demandsSealing && !plain.permitsChannel)
  }

  @Test("Each number of a permission is in its range, and its error names it")
  func ranges() throws {
    func refused(
      _ field: String, _ value: String, _ allowed: String, _ body: () throws -> GrantPermissions
    ) {
      #expect(throws: ProofError.outOfRange(field: field, value: value, allowed: allowed)) {
        try body()
      }
    }
    for value in ["1", "65535"] { _ = try Self.read(attempts: value) }
    for value in ["0", "65536", "-1", "x", ""] {
      refused("number of attempts", value, "1 to 65535") { try Self.read(attempts: value) }
    }
    for value in ["1", "4294967294"] { _ = try Self.read(uses: value) }
    for value in ["0", "4294967295", "x"] {
      refused("number of uses", value, "1 to 4294967294") { try Self.read(uses: value) }
    }
    for value in ["1", "4294967295"] { _ = try Self.read(lifetime: value) }
    for value in ["0", "4294967296", "x"] {
      refused("lifetime", value, "1 to 4294967295") { try Self.read(lifetime: value) }
    }
    for value in ["16", "-1", "x"] {
      refused("set of classes for an integrity match", value, "0 to 15") {
        try Self.read(classes: value)
      }
      refused("set of classes for a device match", value, "0 to 15") {
        try Self.read(device: value)
      }
      refused("set of classes to delegate", value, "0 to 15") { try Self.read(delegable: value) }
    }
    let long = String(repeating: "x", count: 41)
    refused("ratchet", String(long.dropLast()), "report or refuse") { try Self.read(ratchet: long) }
    refused("lifetime", String(long.dropLast()), "1 to 4294967295") {
      try Self.read(lifetime: long)
    }
  }

  // MARK: Measured apps

  private static func claims(
    _ others: [String: JSONValue?] = [:], instance: [UInt8]? = [UInt8](1...16)
  ) throws -> Claims {
    var claims = Claims(expiry: 2_000_000_000)
    claims.instance = instance
    let (long, short) = ([UInt8](repeating: 3, count: 32), [UInt8](repeating: 4, count: 16))
    claims.measurement = try MeasurementClaims(
      integrityMeasurement: long.span, deviceMeasurement: long.span, proofKey: short.span,
      deviceKey: short.span)
    claims.others["mgn"] = 7
    claims.others["mmd"] = "production"
    for (name, value) in others { claims.others[name] = value }
    return claims
  }

  private static func refusal(_ claims: Claims) -> TokenRefusal? {
    do throws(TokenRefusal) {
      _ = try MeasuredApp(claims)
      return nil
    } catch {
      return error
    }
  }

  @Test("A measured app has the mode, the generation and the base that its claims say")
  func measuredApp() throws {
    let app = try MeasuredApp(Self.claims())
    #expect(try app.instance == InstanceID([UInt8](1...16)) && app.mode == .production)
    #expect(app.generation == 7 && app.base == 7 && !app.isUpcoming)
    #expect("\(app)" == "measured app: instance \(app.instance), production, generation 7")
    let next = try MeasuredApp(Self.claims(["mgb": 6, "mup": true, "mmd": "development"]))
    #expect(next.base == 6 && next.isUpcoming && next.mode == .development)
    #expect("\(next)".hasSuffix("development, generation 7, upcoming"))
    for (number, isOne) in [
      (1, true), (4_294_967_294, true), (0, false), (4_294_967_295, false), (-1, false),
    ]
      as [(Int64, Bool)]
    {
      let refusal = Self.refusal(try Self.claims(["mgn": .number(JSONNumber(number))]))
      #expect((refusal == nil) == isOne, "\(number)")
      if !isOne { #expect(refusal == TokenRefusal(.claims)) }
    }
    for (base, isOne) in [(1, true), (6, true), (7, false), (0, false), (-1, false)]
      as [(Int64, Bool)]
    {
      let refusal = Self.refusal(try Self.claims(["mgb": .number(JSONNumber(base)), "mup": true]))
      #expect((refusal == nil) == isOne, "\(base)")
    }
  }

  @Test("A claim that is missing is told apart from one that is wrong")
  func measuredClaims() throws {
    for name in ["mgn", "mmd"] {
      #expect(
        Self.refusal(try Self.claims([name: JSONValue?.none])) == TokenRefusal(.claimMissing(name)))
    }
    #expect(Self.refusal(try Self.claims(instance: nil)) == TokenRefusal(.claimMissing("did")))
    #expect(
      Self.refusal(try Self.claims(instance: [1])) == TokenRefusal(.claimInvalid("did", .bytes(16)))
    )
    for wrong in try [
      ["mgn": JSONValue(parsing: "1.5")], ["mmd": "test"], ["mmd": 1], ["mgb": 6], ["mup": true],
      ["mgb": 6, "mup": false],
      ["mgb": "6", "mup": true], ["mgb": 6, "mup": 1],
    ] as [[String: JSONValue?]] {
      #expect(Self.refusal(try Self.claims(wrong)) == TokenRefusal(.claims), "\(wrong)")
    }
    #expect(Self.refusal(try Self.claims(["mgn": "7"])) == TokenRefusal(.claimMissing("mgn")))
    var bare = try Self.claims()
    bare.measurement = nil
    #expect(Self.refusal(bare) == TokenRefusal(.claims))
  }

  // MARK: Routes

  @Test("A route has the page's defaults, and forms that are bits of their own")
  func routes() {
    #expect(RequestForms.standard.rawValue == 1 && RequestForms.compact.rawValue == 2)
    #expect(RequestForms.bodyOnly.rawValue == 4)
    let route = RequestRoute("a.example.com")
    #expect(route.scheme == .https && route.authority == "a.example.com")
    #expect(route.forms == [.standard, .compact] && !route.forms.contains(.bodyOnly))
    #expect(route.window == CompactToken.window && route.unanchored == .passesForSafeMethods)
    #expect(route.measuredMax == 255 && !route.needsInstallationKey)
    #expect(route.fields.compact == "proof" && route.fields.token == "proof-token")
    #expect(route.fields.digest == nil)
    #expect(RequestRoute("a", scheme: .http).scheme == .http)
  }

  // MARK: Events

  @Test("An account is forgotten with each of its devices, under each account key that is here")
  func forgets() throws {
    let shop = try EventVerifierTests.Shop()
    #expect(try shop.redeemer.forget(account: "user-4711") == 0)
    let other = try GateApp(at: shop.gate)
    shop.redeemer.admit(other.grant)
    #expect(shop.judge(try shop.app.event(for: shop.audience)).isValid)
    #expect(shop.judge(try other.event(for: shop.audience)).isValid)
    #expect(try shop.redeemer.forget(account: "") == 0)
    #expect(try shop.redeemer.forget(account: "user-4711") == 2)
    #expect(try shop.redeemer.forget(account: "user-4711") == 0)
  }

  @Test("A check uses nothing up, counts nothing and keeps nothing")
  func check() throws {
    let shop = try EventVerifierTests.Shop()
    let token = try shop.app.event(for: shop.audience)
    let question = EventVerifier.Question(
      token, event: 3300, account: "user-4711", data: EventVerifierTests.data, idempotencyKey: "k")
    for _ in 0..<2 {
      let checked = shop.redeemer.check(question)
      #expect(checked.isValid && checked.counts == nil && !checked.isRepeated)
    }
    #expect(shop.judge(token, key: "k").counts?.eventsOfDevice.day == 1)
    #expect(shop.redeemer.check(question).isValid, "an earlier use is not looked up")
  }

  @Test("Tokens that do not count are counted for their address once, unless the store is away")
  func addresses() throws {
    let shop = try EventVerifierTests.Shop()
    func judge(_ token: String, key: String? = nil) -> EventJudgement {
      shop.redeemer.judge(
        EventVerifier.Question(
          token, event: 3300, account: "user-4711", data: EventVerifierTests.data,
          idempotencyKey: key, address: "192.0.2.1"))
    }
    #expect(judge("x").invalidOfAddress.day == 1)
    let early = try shop.app.event(for: shop.audience, created: shop.gate.clock.now + 70)
    #expect(judge(early, key: "k").invalidOfAddress.day == 2)
    let again = judge(early, key: "k")
    #expect(again.isRepeated && !again.isValid)
    shop.store.isFailing = true
    #expect(judge(try shop.app.event(for: shop.audience, count: 2)).invalidOfAddress.day == 0)
    shop.store.isFailing = false
    #expect(judge("x").invalidOfAddress.day == 3)
  }

  // MARK: Words

  @Test("Each error of the backend names its cause and the next step")
  func backendErrors() throws {
    let (id, app) = (HardwareID.random(), InstanceID.random())
    for (error, words) in [
      (.unknownHardware(id), ["No hardware \(id)", "proofctl hardware new"]),
      (.revokedHardware(id), ["Hardware \(id) is revoked"]),
      (
        .otherMode(app: .production, hardware: .development),
        ["in production mode", "for development"]
      ),
      (.literalRefused(id), ["Hardware \(id) is not registered for literal"]),
      (.factorySecretMissing(id), ["Hardware \(id) takes only", "proofctl hardware factory-key"]),
      (.downgraded(id), ["Hardware \(id) got tokens", "Restore the registration"]),
      (.superseded(issued: 8, offered: 7), ["generation 8 was issued", "generation 7 is older"]),
      (
        .revokedInstance(app, through: 7),
        ["Instance \(app) is revoked", "up to generation 7. It must"]
      ),
      (.revokedInstance(app, through: .max), ["at this hardware for good."]),
      (.clockAhead(of: 5, by: 3 * 86_400 - 1), ["is 2 days beyond", "--trust-clock"]),
      (.clockAhead(of: 5, by: 3 * 86_400), ["is 3 days beyond"]),
      (.storage(path: "p", reason: "r"), ["p could not be read or written: r."]),
      (.damaged(path: "p", reason: "r"), ["p is damaged: r."]),
      (.inUse(path: "p", processID: 7), ["p is in use by process 7, which"]),
      (.inUse(path: "p", processID: nil), ["p is in use by another process, which"]),
      (.upcomingRefused(id), ["Hardware \(id) takes no tokens"]),
      (.otherFetch(app), ["of instance \(app) is not of the fetch"]),
    ] as [(BackendError, [String])] {
      for words in words { #expect(error.description.contains(words), "\(error)") }
    }
  }

  @Test("A refusal of a token has the word of its error, and words for people")
  func tokenRefusals() {
    for (error, reason) in [
      (.keyUnknown("a"), .key), (.signatureWrong, .signature), (.signatureMissing, .signature),
      (.decryptionFailed, .signature), (.bindingWrong, .binding), (.claimMissing("a"), .claims),
      (.randomFailed, .unavailable),
    ] as [(JOSEError, TokenRefusal.Reason)] {
      #expect(TokenRefusal(error).reason == reason, "\(error)")
      #expect(TokenRefusal(error).description == error.description)
      #expect(TokenRefusal(of: error) == TokenRefusal(error))
    }
    for (reason, words) in [
      (.missing, "The request has no token. Send it as Proof-Token."),
      (.binding, "The request lacks the header that its token must be bound to."),
      (.claims, "The token carries no measurement. Fetch one with \"?measurement\"."),
      (.expired, "The token was refused: expired."),
    ] as [(TokenRefusal.Reason, String)] { #expect(TokenRefusal(reason).description == words) }
  }

  @Test(
    "Hardware has the defaults of a registration without more, and revoked hardware gets nothing")
  func hardware() throws {
    struct Registry: HardwareRegistry {
      let known: RegisteredHardware?

      func hardware(_ id: HardwareID) -> RegisteredHardware? { known }
    }
    let identity = HardwareIdentity(
      id: try HardwareID([UInt8](1...16)), publicKey: try HardwarePublicKey([UInt8](1...32)))
    var hardware = RegisteredHardware(identity, mode: .production)
    #expect(!hardware.allowsLiteral && hardware.features == [] && hardware.name == "")
    #expect(hardware.added == 0 && !hardware.isRevoked && hardware.sealedFactorySecret == nil)
    #expect(try Registry(known: hardware).usable(identity.id) == hardware)
    #expect(try Registry(known: hardware).factorySecret(of: hardware) == nil)
    hardware.isRevoked = true
    #expect(throws: BackendError.revokedHardware(identity.id)) {
      try Registry(known: hardware).usable(identity.id)
    }
    #expect(throws: BackendError.unknownHardware(identity.id)) {
      try Registry(known: nil).usable(identity.id)
    }
  }
}
