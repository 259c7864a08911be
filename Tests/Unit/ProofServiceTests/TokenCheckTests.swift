// SPDX-License-Identifier: Apache-2.0

import ProofJOSE
import ProofModel
import Testing

@testable import ProofService

/// The result of a token's check as operators see it.
@Suite struct TokenCheckTests {
  private func names(_ object: JSONObject) -> [String] { object.members.map(\.name).sorted() }

  @Test func `a check shows its form, the claims and the content of the response code`() throws {
    let bench = try Bench()
    let token = try bench.attest(bench.app).token
    let check = try bench.management.check(token: token)
    let shown = check.shown
    #expect(names(shown) == ["arc", "authentic", "claims", "expired", "form", "valid"])
    #expect(shown.text("form") == "signed" && shown.flag("valid") == true)
    #expect(shown.flag("authentic") == true && shown.flag("expired") == false)
    #expect(shown["claims"] == .object(check.claims) && check.claims.text("arc") != nil)
    #expect(shown["arc"] == ["passed": true, "properties": ["first-fetch"]])
    #expect(check.problem == "" && !check.isCustom)
    try bench.management.set(.fail, for: bench.app.device)
    let failed = try bench.management.check(token: bench.attest(bench.app).token)
    #expect(failed.shown.flag("valid") == false && failed.shown.flag("authentic") == false)
    #expect(failed.shown["arc"] == ["passed": false, "properties": ["forced-fail"]])
    #expect(failed.shown.text("problem")?.isEmpty == false)
  }

  @Test func `each form is told, and a token is valid until the second of its end`() throws {
    let bench = try Bench(policy: [.customTokens: "on"])
    let api = try bench.attest(bench.app).token
    let sealed = try bench.attest(bench.app, .measurement, name: Bench.lockAPI).token
    let custom = try bench.attest(
      bench.app, AttestationReport.Subject(.customJWT, payload: Array("{}".utf8))
    ).token
    func shown(_ token: String) throws -> JSONObject {
      try bench.management.check(token: token).shown
    }
    #expect(try shown(sealed).text("form") == "sealed" && shown(sealed).flag("valid") == true)
    #expect(try shown(custom).flag("custom") == true && shown(api)["custom"] == nil)
    bench.clock.advance(by: 299)
    for token in [api, sealed, custom] { #expect(try shown(token).flag("expired") == false) }
    bench.clock.advance(by: 1)
    for token in [api, sealed, custom] {
      let late = try shown(token)
      #expect(late.flag("expired") == true && late.flag("authentic") == true)
      #expect(late.flag("valid") == false)
      #expect(late.text("problem") == "The token has expired.")
    }
  }

  @Test func `an own token without an end counts as expired, and says so`() throws {
    let bench = try Bench()
    let key = try bench.account.snapshot().secrets.active
    for payload in ["{}", #"{"exp":"soon"}"#] {
      let bytes = Array(payload.utf8)
      let token = try JWSSigner(key.key).sign(payload: bytes.span, type: "JWT")
      let check = try bench.management.check(token: token)
      #expect(check.isAuthentic && check.isExpired && !check.isValid)
      #expect(check.problem == "The token does not say when it ends.")
    }
  }

  @Test func `a text that is no token is told by its first 40 characters`() throws {
    let bench = try Bench()
    for text in ["{}", "{" + String(repeating: "x", count: 50), #"{"sip":1}"#] {
      #expect(
        throws: ServiceError.invalid(
          "token", value: String(text.prefix(40)),
          allowed: "a token in compact form, or its loggable form with “sip”")
      ) { try bench.management.check(token: text) }
    }
    for signature in ["AAAAA", "AAAAAAA", "AAAAAA", ""] {
      let check = try bench.management.check(token: #"{"exp":1,"sip":"\#(signature)"}"#)
      #expect(check.form == .loggable && !check.isAuthentic)
      #expect(check.problem == "The signature's first characters are not this account's.")
      #expect(check.claims["sip"] == nil)
    }
  }

  @Test func `a loggable form has six characters of the signature, and no fewer or more`() throws {
    let bench = try Bench()
    let parts = try bench.attest(bench.app).token.split(separator: ".").map(String.init)
    let payload = try #require(Base64.decode(parts[1], .url))
    guard case .object(var claims) = try JSONValue(parsing: payload.span) else { return }
    for count in [0, 1, 5, 6, 7, parts[2].count] {
      claims["sip"] = .string(String(parts[2].prefix(count)))
      let check = try bench.management.check(token: JSONValue.object(claims).text)
      #expect(check.isAuthentic == (count == 6), "\(count)")
    }
  }

  @Test func `a response code is read in either case, by its account alone`() throws {
    let bench = try Bench()
    let code = try bench.attest(bench.app).responseCode
    #expect(code.utf8.count == 10)
    for text in [code, code.lowercased()] {
      let read = try bench.management.read(responseCode: text)
      #expect(read.isPassed && read.properties.names == ["first-fetch"])
    }
    for text in ["", String(code.dropLast()), code + "A", "0" + code.dropFirst()] {
      #expect(
        throws: ServiceError.invalid(
          "response code", value: text,
          allowed: "ten letters and digits 2 to 7 that this account's service made")
      ) { try bench.management.read(responseCode: text) }
    }
  }

  @Test func `a response code carries all 26 properties, and one changed character is noticed`()
    throws
  {
    let key = secret([UInt8](repeating: 3, count: 32))
    for bit in 0..<26 as Range<UInt32> {
      for isPassed in [true, false] {
        let content = ResponseCode(isPassed: isPassed, properties: Properties(rawValue: 1 << bit))
        for noise in [0, 0xFFF, 0x1FFF] as [UInt64] {
          let text = content.text(key: key, noise: noise)
          #expect(ResponseCode(text, key: key) == content)
        }
      }
    }
    let content = ResponseCode(isPassed: true, properties: Properties([.debug]))
    let one = content.text(key: key, noise: 1)
    #expect(one != content.text(key: key, noise: 2))
    #expect(content.text(key: key, noise: 0x1001) == one, "noise has 12 bits")
    let other = secret([UInt8](repeating: 4, count: 32))
    #expect(ResponseCode(one, key: other) == nil)
    // 11 bits are zeros, so that some of 310 mistyped codes may be read, and hardly two.
    var read = 0
    for place in 0..<10 {
      for letter in "ABCDEFGHIJKLMNOPQRSTUVWXYZ234567" {
        var letters = Array(one)
        guard letters[place] != letter else { continue }
        letters[place] = letter
        if ResponseCode(String(letters), key: key) != nil { read += 1 }
      }
    }
    #expect(read <= 2)
  }
}
