// SPDX-License-Identifier: Apache-2.0

import ProofBackend
import ProofJOSE
import ProofModel
import Testing

@testable import ProofService

/// The steps of docs/ROTATION.md, with a clock in the hand.
@Suite struct KeyRotationTests {
  /// A backend with the keys that were handed out last.
  private func verifier(_ bench: Bench, _ kind: OwnKey) throws -> TokenVerifier {
    var rules = TokenVerifier.Rules()
    rules.clock = bench.clock.clock
    rules.audience = kind == .secret ? Bench.api : Bench.lockAPI
    return try TokenVerifier(bench.management.handOutKeys(of: kind), rules: rules)
  }

  private func token(_ bench: Bench, _ kind: OwnKey) throws -> String {
    kind == .secret
      ? try bench.attest(bench.app).token
      : try bench.attest(bench.app, .measurement, name: Bench.lockAPI).token
  }

  @Test(arguments: [OwnKey.secret, .sealing])
  func `no step of a rotation lets a good token be refused, and the last refuses old ones`(
    _ kind: OwnKey
  ) throws {
    let bench = try Bench(policy: [.deviceRate: "0"])
    let management = bench.management
    let lifetime = Int64(try management.policy().tokenLifetime)
    let before = try token(bench, kind)
    let first = try verifier(bench, kind)
    _ = try first.claims(of: before)

    try management.prepareKey(of: kind)
    _ = try first.claims(of: token(bench, kind))
    #expect(throws: ServiceError.self) { try management.promoteKey(of: kind) }
    let both = try verifier(bench, kind)
    try management.promoteKey(of: kind)
    let after = try token(bench, kind)
    for token in [before, after] { _ = try both.claims(of: token) }
    #expect(throws: TokenRefusal.self) { try first.claims(of: after) }
    for token in [before, after] {
      let check = try management.check(token: token)
      #expect(check.isValid && check.problem == "", "one of two keys opens it")
    }

    // The last token by the old key was made now: the key goes when it has ended, not before.
    bench.clock.advance(by: lifetime + Management.endMargin - 1)
    #expect(throws: ServiceError.self) { try management.retireKey(of: kind) }
    bench.clock.advance(by: 1)
    try management.retireKey(of: kind)
    let last = try verifier(bench, kind)
    _ = try last.claims(of: token(bench, kind))
    #expect(throws: TokenRefusal.self) { try last.claims(of: before) }
    #expect(try management.keyStates(of: kind).map(\.stage) == [.active])
  }

  @Test func `a step out of turn is refused, says what to do, and changes nothing`() throws {
    let bench = try Bench()
    let management = bench.management
    for kind in OwnKey.allCases where kind != .message {
      func expectRefused(_ words: String, _ body: () throws -> Void) {
        let before = try? bench.store.rows(of: .account)
        let error = #expect(throws: ServiceError.self) { try body() }
        #expect("\(error, default: "none")".contains(words))
        #expect(try! bench.store.rows(of: .account) == before)
      }
      expectRefused("no next key") { try management.promoteKey(of: kind) }
      expectRefused("no old key") { try management.retireKey(of: kind) }
      expectRefused("no next key") { try management.dropKey(of: kind) }
      try management.prepareKey(of: kind)
      expectRefused("promote it, or drop it") { try management.prepareKey(of: kind) }
      expectRefused("“\(kind.rawValue) keys”") { try management.promoteKey(of: kind) }
      try management.dropKey(of: kind)
      try management.prepareKey(of: kind)
      try management.promoteKey(of: kind, atOnce: true)
      try management.prepareKey(of: kind)
      _ = try management.handOutKeys(of: kind)
      expectRefused("not retired yet") { try management.promoteKey(of: kind) }
      try management.retireKey(of: kind, atOnce: true)
      try management.promoteKey(of: kind)
    }
  }

  @Test func `every token names its key, and a key of an account of before has a name, too`() throws
  {
    let bench = try Bench(policy: [.customTokens: "on", .deviceRate: "0"])
    // The documents of earlier versions: a key alone.
    for document in [AccountDocument.secret, .sealingKey, .customKey] {
      let row = try #require(try bench.store.row(document.rawValue, of: .account))
      guard case .object(let fields) = try JSONValue(parsing: row.span) else { continue }
      let old: JSONObject = ["key": fields["key"] ?? .null]
      try bench.store.apply([document.put(old)])
    }
    let custom = AttestationReport.Subject(.customJWT, payload: Array("{}".utf8))
    let tokens: [(OwnKey, String)] = [
      (.secret, try token(bench, .secret)), (.sealing, try token(bench, .sealing)),
      (.custom, try bench.attest(bench.app, custom).token),
      (.secret, try bench.management.exampleToken(for: Bench.api)),
      // A failing app cannot tell, from the name neither.
      (.secret, try bench.management.exampleToken(for: Bench.api, isValid: false)),
    ]
    for (kind, token) in tokens {
      let text = try #require(Base64.decode(String(token.split(separator: ".")[0]), .url))
      guard case .object(let header) = try JSONValue(parsing: text.span) else { continue }
      let states = try bench.management.keyStates(of: kind)
      #expect(header.text("kid") == states.first?.id && states.count == 1, "\(kind)")
    }
    // The name stays when the rotation writes the document anew.
    let before = try bench.management.keyStates(of: .secret)
    try bench.management.prepareKey(of: .secret)
    let after = try bench.management.keyStates(of: .secret)
    #expect(after[0].id == before[0].id && after[1].id != before[0].id)
  }

  @Test func `an API gets another key by one verb, when backends can have it`() throws {
    let bench = try Bench()
    let management = bench.management
    try management.addKey(.es256, id: "a")
    try management.addKey(.hs256, id: "b")
    try management.addKey(.direct, id: "d")
    var change = Management.APIChange()
    func refused(_ words: String, _ id: String) {
      change.key = .named(id)
      let error = #expect(throws: ServiceError.self) { try management.changeAPI(Bench.api, change) }
      #expect("\(error, default: "none")".contains(words))
    }
    refused("300 more seconds", "a")
    refused("keyset get b", "b")
    refused("a signing key", "d")
    refused("has no key", "none")
    bench.clock.advance(by: 300)
    change.key = .named("a")
    try management.changeAPI(Bench.api, change)
    _ = try management.key("b")
    #expect(try management.changeKey("a", to: "b") == [Bench.api])
    #expect(try management.apis().first { $0.host == Bench.api }?.keyID == "b")
    // The key of tokens under way stays until they have ended.
    let lifetime = Int64(try management.policy().tokenLifetime)
    bench.clock.advance(by: lifetime + Management.endMargin - 1)
    #expect(throws: ServiceError.self) { try management.removeKey("a") }
    bench.clock.advance(by: 1)
    try management.removeKey("a")
    // One that came back into use has no end.
    change.key = .own
    try management.changeAPI(Bench.api, change)
    change.key = .named("b")
    try management.changeAPI(Bench.api, change)
    #expect(try management.keys().first { $0.id == "b" }?.end == nil)
    // An operator who removes the API gives up its tokens.
    try management.removeAPI(Bench.api)
    try management.removeKey("b")
  }

  @Test func `two operators who rotate at the same time do one step each`() throws {
    let store = InterruptedStore()
    let bench = try Bench(store)
    store.interrupt { try! bench.management.prepareKey(of: .secret) }
    #expect(throws: ServiceError.self) { try bench.management.prepareKey(of: .secret) }
    _ = try bench.management.handOutKeys(of: .secret)
    store.interrupt { try! bench.management.promoteKey(of: .secret) }
    #expect(throws: ServiceError.self) { try bench.management.promoteKey(of: .secret) }
    #expect(try bench.management.keyStates(of: .secret).map(\.stage) == [.active, .old])
  }

  @Test func `a message key is there from the first promotion on`() throws {
    let bench = try Bench()
    let management = bench.management
    #expect(try management.keyStates(of: .message).isEmpty)
    try management.prepareKey(of: .message)
    #expect(try bench.attest(bench.app).messageKey == nil)
    #expect(try management.handOutKeys(of: .message).count == 1)
    let promoted = try management.promoteKey(of: .message)
    #expect(try management.messageKey()?.id == promoted.id)
    #expect(try bench.attest(bench.app).messageKey == management.messageKey()?.key)
    #expect(throws: ServiceError.self) { try management.retireKey(of: .message) }
  }

  @Test func `the configuration names each key that had its key, and at most eight`() throws {
    let bench = try Bench()
    let management = bench.management
    let first = try management.initialConfiguration()
    for _ in 0..<Management.handoversMax { try management.changeConfigurationKey() }
    #expect(throws: ServiceError.self) { try management.changeConfigurationKey() }
    #expect(try management.configuration().handovers.count == 8)
    #expect(try management.initialConfiguration() != first)
    #expect(throws: ServiceError.notConfirmed) {
      try management.retireConfigurationKeys(confirmation: "yes")
    }
    try management.retireConfigurationKeys(confirmation: "YES")
    #expect(try management.configuration().handovers.isEmpty)
    try management.changeConfigurationKey()
    // Other changes keep the handovers.
    try management.setURL("https://other.example.com")
    #expect(try management.configuration().handovers.count == 1)
  }
}
