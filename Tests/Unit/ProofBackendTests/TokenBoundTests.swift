// SPDX-License-Identifier: Apache-2.0

import ProofJOSE
import ProofModel
import Testing

@testable import ProofBackend

/// Tokens and keys at a backend: the words about a wrong kind, names of keys, and times.
@Suite struct TokenBoundTests {
  private func error(_ keys: [JSONWebKey], _ token: String) throws -> JOSEError? {
    let verifier = try TokenVerifier(keys, rules: Backend.rules())
    do throws(TokenRefusal) {
      _ = try verifier.claims(of: token)
      return nil
    } catch {
      return error.error
    }
  }

  @Test("A refusal says which kind of token came, and which one was expected")
  func kinds() throws {
    let (mac, sealing) = (try JSONWebKey.random(.hs256), try JSONWebKey.random(.direct))
    let claims = Claims(expiry: Backend.now + 300)
    let (signed, sealed) = (try JWSSigner(mac).sign(claims), try JWEEncrypter(sealing).seal(claims))
    #expect(try error([mac], sealed) == .wrongParts(expected: 3, actual: 5))
    #expect(try error([sealing], signed) == .wrongParts(expected: 5, actual: 3))
    #expect(try error([mac, sealing], "a.b.c.d") == .wrongParts(expected: 3, actual: 4))
    #expect(try error([mac, sealing], "a.b.c.d.e.f") == .wrongParts(expected: 3, actual: 6))
  }

  @Test(
    "One key without a name is for tokens of any name; a key with a name takes its own, or none")
  func names() throws {
    for algorithm in [KeyAlgorithm.hs256, .a256kw] {
      let key = try JSONWebKey.random(algorithm, id: "a")
      func token(_ name: String?) throws -> String {
        let claims = Claims(expiry: Backend.now + 300)
        let named = try key.named(name)
        return algorithm.isSignature
          ? try JWSSigner(named).sign(claims) : try JWEEncrypter(named).seal(claims)
      }
      let unknown = JOSEError.keyUnknown("“b”")
      let other = try JSONWebKey.random(algorithm, id: "c")
      for (keys, name, expected) in [
        ([try key.named(nil)], "b", nil), ([try key.named(nil)], nil, nil), ([key], "a", nil),
        ([key], nil, nil), ([key], "b", unknown), ([key, other], "a", nil),
        ([key, other], nil, .keyUnknown(nil)), ([key, other], "b", unknown),
      ] as [([JSONWebKey], String?, JOSEError?)] {
        #expect(try error(keys, token(name)) == expected, "\(keys) \(name ?? "none")")
      }
      // Among several each has a name.
      #expect(throws: JOSEError.keyIDMissing) { try TokenVerifier([key.named(nil), other]) }
    }
  }

  @Test("The rules of tokens have no leeway unless it is set, to the second")
  func leeway() throws {
    let key = try JSONWebKey.random(.hs256)
    let token = try JWSSigner(key).sign(Claims(expiry: Backend.now))
    #expect(TokenVerifier.Rules().leeway == 0 && TokenVerifier.Rules().longestLifetime == nil)
    for (leeway, late, isGood) in [(0, -1, true), (0, 0, false), (9, 8, true), (9, 9, false)]
      as [(Int, Int64, Bool)]
    {
      var rules = Backend.rules(at: Backend.now + late)
      rules.leeway = leeway
      let claims = try? TokenVerifier([key], rules: rules).claims(of: token)
      #expect((claims != nil) == isGood, "\(leeway) \(late)")
    }
  }

  // MARK: The issuer

  @Test("Classes that may not be delegated are told as hexadecimal digits")
  func classes() throws {
    let backend = try Backend()
    let permissions = GrantPermissions(
      CommandClasses(rawValue: 3), delegableClasses: CommandClasses(rawValue: 0xABCF))
    #expect(
      throws: BackendError.refused(
        .outOfRange(
          field: "set of classes to delegate", value: "0xabcf",
          allowed: "none for this hardware: its registered features do not name grants"))
    ) { try backend.issuer.issue(to: backend.app(), for: backend.hardware, permissions) }
  }

  @Test("With a clock before 1970 an issuer's time is 0, at which nothing is signed")
  func clock() throws {
    let backend = try Backend()
    for seconds in [-5, -1, 0] as [Int64] {
      let issuer = MeasurementTokenIssuer(
        backend.issuerKey, for: backend.registry, ledger: backend.ledger,
        clock: .fixed(UnixTime(seconds: seconds)))
      #expect(
        throws: BackendError.refused(
          .outOfRange(field: "time of issue", value: "0", allowed: "Unix seconds from 1"))
      ) { try issuer.orderFloor(for: backend.hardware) }
    }
    let first = MeasurementTokenIssuer(
      backend.issuerKey, for: backend.registry, ledger: backend.ledger, clock: .fixed(1))
    #expect(try backend.keys.open(first.orderFloor(for: backend.hardware)).issued == 1)
  }
}
