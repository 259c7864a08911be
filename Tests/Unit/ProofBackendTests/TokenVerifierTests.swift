// SPDX-License-Identifier: Apache-2.0

@testable import ProofBackend
import ProofJOSE
import Testing

@Suite("TokenVerifier")
struct TokenVerifierTests {
  private let now = Backend.now

  private func claims() throws -> Claims {
    var claims = Claims(expiry: now + 300)
    claims.binding = try Claims.Binding(to: "Bearer session")
    return claims
  }

  private func reason(
    _ verifier: TokenVerifier, _ token: String, boundTo text: String? = nil
  ) -> TokenRefusal.Reason? {
    do throws(TokenRefusal) {
      _ = try verifier.claims(of: token, boundTo: text)
      return nil
    } catch {
      #expect(!error.description.isEmpty)
      return error.reason
    }
  }

  @Test(
    "each algorithm's token is good under its own key alone",
    arguments: KeyAlgorithm.allCases.filter { !$0.isPublicKeyEncryption })
  func algorithms(algorithm: KeyAlgorithm) throws {
    let bits = algorithm == .rs256 ? 2_048 : nil
    let key = try JSONWebKey.random(algorithm, bits: bits, id: "k")
    let other = try JSONWebKey.random(algorithm, bits: bits, id: "k")
    let token =
      algorithm.isSignature
      ? try JWSSigner(key).sign(claims()) : try JWEEncrypter(key).seal(claims())
    let verifier = try TokenVerifier([key.publicKey ?? key], rules: Backend.rules())
    #expect(try verifier.claims(of: token).binding != nil)
    let stranger = try TokenVerifier([other.publicKey ?? other], rules: Backend.rules())
    #expect(reason(stranger, token) == .signature)
  }

  @Test("the header cannot choose the algorithm: a public key's text is no secret")
  func confusion() throws {
    let key = try JSONWebKey.random(.es256, id: "k")
    let bytes = try #require(key.publicBytes)
    let confused = try JSONWebKey(
      secret: JOSESecret(copying: bytes.span), algorithm: .hs256, id: "k")
    let token = try JWSSigner(confused).sign(claims())
    let verifier = try TokenVerifier([try #require(key.publicKey)], rules: Backend.rules())
    #expect(reason(verifier, token) == .algorithm)
  }

  @Test("expiry, binding, issuer, audience and lifetime are judged, each with its word")
  func rules() throws {
    let key = try JSONWebKey.random(.hs256)
    let token = try JWSSigner(key).sign(claims())
    func verifier(_ change: (inout TokenVerifier.Rules) -> Void) throws -> TokenVerifier {
      var rules = Backend.rules()
      change(&rules)
      return try TokenVerifier([key], rules: rules)
    }
    let plain = try verifier { _ in }
    #expect(reason(plain, token, boundTo: "Bearer session") == nil)
    #expect(reason(plain, token, boundTo: "Bearer other") == .binding)
    #expect(reason(plain, token, boundTo: "") == .binding)
    let later = try verifier { $0.clock = .fixed(now + 300) }
    #expect(reason(later, token) == .expired)
    #expect(try reason(verifier { $0.issuer = "us" }, token) == .issuer)
    #expect(try reason(verifier { $0.audience = "api" }, token) == .audience)
    #expect(try reason(verifier { $0.longestLifetime = 60 }, token) == .lifetime)
    var early = try claims()
    early.issuedAt = now + 10
    #expect(try reason(plain, JWSSigner(key).sign(early)) == .early)
    var addressed = try claims()
    addressed.audience = ["api"]
    #expect(try reason(plain, JWSSigner(key).sign(addressed)) == .audience)
    #expect(try reason(verifier { $0.audience = "api" }, JWSSigner(key).sign(addressed)) == nil)
  }

  @Test("any text that is not a token is refused with a reason")
  func garbage() throws {
    let verifier = try TokenVerifier([.random(.hs256)], rules: Backend.rules())
    #expect(reason(verifier, "") == .missing)
    for text in ["x", "..", "....", "a.b.c", "a.b.c.d.e", String(repeating: ".", count: 70_000)] {
      #expect(reason(verifier, text) == .malformed, "\(text.prefix(20))")
    }
  }

  @Test("a sealed token where only signed ones are expected, and the other way round, is refused")
  func kinds() throws {
    let mac = try JSONWebKey.random(.hs256)
    let sealing = try JSONWebKey.random(.direct)
    let signed = try JWSSigner(mac).sign(claims())
    let sealed = try JWEEncrypter(sealing).seal(claims())
    #expect(reason(try TokenVerifier([mac], rules: Backend.rules()), sealed) == .malformed)
    #expect(reason(try TokenVerifier([sealing], rules: Backend.rules()), signed) == .malformed)
    let both = try TokenVerifier([mac, sealing], rules: Backend.rules())
    #expect(reason(both, signed) == nil)
    #expect(reason(both, sealed) == nil)
  }

  @Test("a measured app needs all its claims, in range")
  func measured() throws {
    let backend = try Backend()
    let verifier = try backend.verifier()
    func reason(_ change: (inout Claims) throws -> Void) throws -> TokenRefusal.Reason? {
      var claims = try backend.claims()
      try change(&claims)
      let token = try backend.sealed(claims)
      do throws(TokenRefusal) {
        _ = try verifier.measurement(of: token)
        return nil
      } catch {
        return error.reason
      }
    }
    #expect(try reason { _ in } == nil)
    #expect(try reason { $0.measurement = nil } == .claims)
    #expect(try reason { $0.instance = nil } == .claims)
    #expect(try reason { $0.instance = [UInt8](repeating: 0, count: 16) } == .claims)
    for value: JSONValue in [0, -1, 4_294_967_295, "3", true] {
      #expect(try reason { $0.others["mgn"] = value } == .claims)
    }
    for value: JSONValue in ["Production", "", 1] {
      #expect(try reason { $0.others["mmd"] = value } == .claims)
    }
    #expect(try reason { $0.others["mgn"] = nil } == .claims)
    #expect(try reason { $0.others["mmd"] = nil } == .claims)
    #expect(
      try reason {
        $0.measurement = try MeasurementClaims(
          integrityMeasurement: [UInt8](1...32).span, deviceMeasurement: [UInt8](1...32).span,
          proofKey: [UInt8](1...16).span)
      } == .claims, "no device proof key")
  }
}
