// SPDX-License-Identifier: Apache-2.0

import Testing

@testable import ProofJOSE

@Suite("What claims must say")
struct ClaimsPolicyTests {
  private static let now = Sample.now

  private static func after(_ seconds: Int, _ nanoseconds: Int32 = 0) -> UnixTime {
    UnixTime(seconds: now.seconds + Int64(seconds), nanoseconds: nanoseconds)
  }

  private func judge(_ policy: ClaimsPolicy, _ change: (inout Claims) -> Void) -> JOSEError? {
    var claims = Claims(expiry: Self.after(300))
    change(&claims)
    return error { try policy.judge(claims) }
  }

  @Test("A token ends at its end, to the nanosecond, plus the leeway")
  func expiry() throws {
    for leeway in [0, 1, 60, 300] {
      let policy = try ClaimsPolicy(clock: .fixed(Self.now), leeway: leeway)
      #expect(judge(policy) { $0.expiry = Self.after(-leeway, 1) } == nil)
      let end = Self.after(-leeway)
      #expect(judge(policy) { $0.expiry = end } == .expired(at: end, now: Self.now))
      #expect(judge(policy) { $0.expiry = Self.after(-leeway - 1, 999_999_999) } != nil)
      #expect(judge(policy) { $0.expiry = Self.after(-leeway + 1) } == nil)
    }
  }

  @Test("A token must end, unless the policy says otherwise")
  func noExpiry() throws {
    #expect(judge(try Sample.policy()) { $0.expiry = nil } == .claimMissing("exp"))
    let policy = try ClaimsPolicy(clock: .fixed(Self.now), isExpiryRequired: false)
    #expect(judge(policy) { $0.expiry = nil } == nil)
    #expect(judge(policy) { $0.expiry = Self.now } != nil)
  }

  @Test("A token that begins later, or was issued later, is refused, minus the leeway")
  func future() throws {
    for leeway in [0, 5] {
      let policy = try ClaimsPolicy(clock: .fixed(Self.now), leeway: leeway)
      let late = Self.after(leeway, 1)
      #expect(judge(policy) { $0.notBefore = Self.after(leeway) } == nil)
      #expect(judge(policy) { $0.notBefore = late } == .notYetValid(from: late, now: Self.now))
      #expect(judge(policy) { $0.issuedAt = Self.after(leeway) } == nil)
      #expect(judge(policy) { $0.issuedAt = late } == .issuedInFuture(at: late, now: Self.now))
    }
  }

  @Test("A token that would be valid for too long is refused")
  func lifetime() throws {
    let policy = try ClaimsPolicy(clock: .fixed(Self.now), leeway: 10, longestLifetime: 300)
    #expect(judge(policy) { $0.expiry = Self.after(310) } == nil)
    #expect(
      judge(policy) { $0.expiry = Self.after(311) }
        == .validTooLong(until: Self.after(311), limit: 300))
    #expect(judge(policy) { $0.expiry = UnixTime(seconds: JOSELimits.lastSecond) } != nil)
  }

  @Test("An audience is refused if the policy names none; an expected one must be there")
  func audience() throws {
    let none = try Sample.policy()
    #expect(judge(none) { $0.audience = ["x"] } == .audienceRefused(["“x”"]))
    let policy = try ClaimsPolicy(clock: .fixed(Self.now), audience: "api.example")
    #expect(judge(policy) { $0.audience = ["api.example"] } == nil)
    #expect(judge(policy) { $0.audience = ["x", "api.example"] } == nil)
    #expect(judge(policy) { _ in } == .audienceRefused([]))
    for other in ["API.example", "api.example.", "api.example\u{200b}", "api", ""] {
      #expect(judge(policy) { $0.audience = [other] } != nil)
    }
  }

  @Test("Issuer and subject are compared byte by byte, where they matter")
  func issuerAndSubject() throws {
    let policy = try ClaimsPolicy(clock: .fixed(Self.now), issuer: "K.example", subject: "K")
    func set(_ issuer: String?, _ subject: String?) -> JOSEError? {
      judge(policy) {
        $0.issuer = issuer
        $0.subject = subject
      }
    }
    #expect(set("K.example", "K") == nil)
    #expect(set("\u{212a}.example", "K") == .issuerRefused("“·.example”"))
    #expect(set(nil, "K") == .issuerRefused(nil))
    #expect(set("K.example", "\u{212a}") == .subjectRefused("“·”"))
    #expect(set("K.example", nil) == .subjectRefused(nil))
    #expect(judge(try Sample.policy()) { $0.issuer = "anybody" } == nil)
  }

  @Test("A token must be bound to the expected text, and to nothing less")
  func binding() throws {
    let bound = try Claims.Binding(to: "Bearer abc")
    let policy = try ClaimsPolicy(clock: .fixed(Self.now), binding: bound)
    #expect(judge(policy) { $0.binding = bound } == nil)
    #expect(judge(policy) { _ in } == .bindingWrong)
    let other = try Claims.Binding(to: "Bearer abd")
    #expect(judge(policy) { $0.binding = other } == .bindingWrong)
    #expect(judge(try Sample.policy()) { $0.binding = other } == nil)
  }

  @Test("Leeway and lifetime are bounded")
  func bounds() {
    for leeway in [-1, 301, .max] {
      #expect(
        error { try ClaimsPolicy(leeway: leeway) }
          == .outOfRange("leeway in seconds", allowed: 0...300, actual: leeway))
    }
    #expect(error { try ClaimsPolicy(longestLifetime: 0) } != nil)
    #expect(error { try ClaimsPolicy(leeway: 300, longestLifetime: .max) } == nil)
  }

  @Test("The clock is read for each token")
  func clock() throws {
    let verifier = try JWSVerifier(Sample.key(.hs256))
    let token = try Sample.signedToken(.hs256)
    for (seconds, isTaken) in [(0, true), (299, true), (300, false), (-1_000, true)] {
      let policy = try ClaimsPolicy(clock: .fixed(Self.after(seconds)))
      #expect((error { try verifier.claims(of: token, under: policy) } == nil) == isTaken)
    }
  }

  @Test("Sealed claims are judged as signed ones are")
  func sealed() throws {
    let key = try Sample.key(.direct)
    let decrypter = try JWEDecrypter(key)
    for (claims, isTaken) in [
      (#"{"exp":1800000300}"#, true), (#"{"exp":1800000000}"#, false), ("{}", false),
      (#"{"exp":1800000300,"aud":"x"}"#, false), (#"{"exp":"1800000300"}"#, false),
      (#"{"exp":1800000300,"exp":1800000300}"#, false), ("", false),
    ] {
      let token = try Forge.sealed(claims: claims, key: key)
      #expect((error { try decrypter.claims(of: token, under: Sample.policy()) } == nil) == isTaken)
    }
  }
}
