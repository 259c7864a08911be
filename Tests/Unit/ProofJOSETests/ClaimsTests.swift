// SPDX-License-Identifier: Apache-2.0

import Testing

@testable import ProofJOSE

@Suite("Claims")
struct ClaimsTests {
  private func read(_ text: String) throws -> Claims {
    try Claims(parsing: Array(text.utf8).span)
  }

  private func text(_ claims: Claims) throws -> String {
    String(decoding: try claims.clearJSON(), as: UTF8.self)
  }

  @Test("Every claim is written in its encoding, sorted, and read back")
  func everyClaim() throws {
    var claims = try Sample.claims()
    claims.issuedAt = UnixTime(seconds: 1_800_000_000, nanoseconds: 500_000_000)
    claims.notBefore = UnixTime(seconds: 0)
    claims.issuer = "account.example"
    claims.audience = ["a", "b"]
    claims.subject = "app|AQIDBAUGBwgJCgsMDQ4PEA=="
    claims.annotations = []
    claims.messageKeyID = "abcdef"
    claims.installPublicKey = try Sample.key(.es256).subjectPublicKeyInfo
    claims.others = ["jti": "x", "embed": ["a": 1], "\u{1f600}": true]
    let written = try text(claims)
    let binding = try #require(claims.binding).text
    let key = Claims.base64(try #require(claims.installPublicKey))
    #expect(binding.count == 44 && key.count == 124)
    #expect(claims.instance?.count == Claims.instanceByteCount)
    #expect(
      written == #"{"anno":[],"arc":"ABCDEFGH27","aud":["a","b"],"did":"AQIDBAUGBwgJCgsMDQ4PEA==","#
        + #""embed":{"a":1},"exp":1800000300,"iat":1800000000.5,"ip":"2001:db8::1","#
        + #""ipk":"\#(key)","iss":"account.example","jti":"x","mskid":"abcdef","nbf":0,"#
        + #""pay":"\#(binding)","sub":"app|AQIDBAUGBwgJCgsMDQ4PEA==","#
        + "\"\u{1f600}\":true}")
    #expect(try text(read(written)) == written)
  }

  @Test("No claims are an empty object")
  func empty() throws {
    #expect(try text(Claims()) == "{}")
    #expect(try text(read("{}")) == "{}")
  }

  @Test("One audience is a string, several are an array, and both are read")
  func audiences() throws {
    #expect(try read(#"{"aud":"x"}"#).audience == ["x"])
    #expect(try read(#"{"aud":["x"]}"#).audience == ["x"])
    #expect(try text(read(#"{"aud":["x"]}"#)) == #"{"aud":"x"}"#)
    #expect(error { try read(#"{"aud":[]}"#) } == .claimInvalid("aud", .texts))
    for bad in ["1", "null", "{}", #"["x",1]"#, #"[["x"]]"#] {
      #expect(error { try read(#"{"aud":\#(bad)}"#) } == .claimInvalid("aud", .texts))
    }
  }

  @Test(
    "A time that is no number, or none of this world, is refused",
    arguments: [
      "\"1800000000\"", "null", "true", "[]", "-1", "1e30", "1800000000000", "1e400",
      "253402300800", "18446744073709551616", "9223372036854775808",
      "99999999999999999999999999999999999999",
    ])
  func times(value: String) {
    for name in ["exp", "iat", "nbf"] {
      #expect(error { try read(#"{"\#(name)":\#(value)}"#) } == .claimInvalid(name, .time))
    }
  }

  @Test("Bytes are padded standard base64 of exactly their length")
  func bytes() throws {
    for (name, count) in [("did", 16), ("pay", 32)] {
      let right = Claims.base64([UInt8](repeating: 0xfb, count: count))
      _ = try read(#"{"\#(name)":"\#(right)"}"#)
      _ = try read(#"{"\#(name)":"\#(right.replacing("/", with: "\\/"))"}"#)
      let url = right.replacing("+", with: "-").replacing("/", with: "_")
      let unpadded = right.filter { $0 != "=" }
      let short = Claims.base64([UInt8](repeating: 0xfb, count: count - 1))
      let long = Claims.base64([UInt8](repeating: 0xfb, count: count + 1))
      let padding = String(right.suffix(right.count - unpadded.count))
      let inside = "\(unpadded.prefix(4))\(padding)\(unpadded.dropFirst(4))"
      let ahead = padding + unpadded
      for bad in [
        url, unpadded, short, long, inside, ahead, "", right + "=", right + "\\n", " " + right,
      ] {
        #expect(
          error { try read(#"{"\#(name)":"\#(bad)"}"#) } == .claimInvalid(name, .bytes(count)),
          "\(bad)")
      }
      for bad in ["1", "null", "[]"] {
        #expect(error { try read(#"{"\#(name)":\#(bad)}"#) } == .claimInvalid(name, .bytes(count)))
      }
    }
    var claims = Claims()
    claims.instance = [1]
    #expect(error { try claims.checkForms() } == .claimInvalid("did", .bytes(16)))
    #expect(error { try Claims.Binding(digest: [1]) } == .claimInvalid("pay", .bytes(32)))
  }

  @Test("Texts are strings of their form, when read and when written")
  func texts() throws {
    let long = String(repeating: "x", count: 1_025)
    for (name, form, bad) in [
      ("iss", ClaimForm.text, ["a\\nb", "\\u0000", long]), ("sub", .text, ["\\u007f", long]),
      ("mskid", .text, ["\\u0085"]),
      ("ip", .address, ["", "x", "1.2.3.4\\n", "host.example", "::%eth0"]),
      ("arc", .base32, ["", "abcd", "ABC1", "ABCD=", String(repeating: "A", count: 33)]),
    ] {
      for value in bad {
        #expect(
          error { try read(#"{"\#(name)":"\#(value)"}"#) } == .claimInvalid(name, form), "\(value)")
      }
      for value in ["1", "null", "[]", "{}"] {
        guard case .claimInvalid(name, _)? = error(of: { try read(#"{"\#(name)":\#(value)}"#) })
        else {
          Issue.record("\(name): \(value)")
          continue
        }
      }
    }
    _ = try read(#"{"iss":"\#(long.dropLast())"}"#)
    var claims = Claims()
    claims.annotations = [String](repeating: "x", count: 64)
    #expect(error { try claims.clearJSON() } == nil)
    claims = Claims()
    claims.issuer = "a\nb"
    #expect(error { try claims.clearJSON() } == .claimInvalid("iss", .text))
    claims = Claims()
    claims.address = "evil\u{1b}[31m"
    #expect(error { try claims.clearJSON() } == .claimInvalid("ip", .address))
    claims = Claims()
    claims.annotations = [String](repeating: "x", count: 65)
    #expect(error { try claims.clearJSON() } == .claimInvalid("anno", .texts))
    claims = Claims(expiry: UnixTime(seconds: -1))
    #expect(error { try claims.clearJSON() } == .claimInvalid("exp", .time))
  }

  @Test("An installation's key is the DER of a point of P-256")
  func installKey() throws {
    let right = try #require(Sample.key(.es256).subjectPublicKeyInfo)
    _ = try read(#"{"ipk":"\#(Claims.base64(right))"}"#)
    for place in [0, 10, 26, 27, 60, 90] {
      var altered = right
      altered[place] ^= 1
      #expect(
        error { try read(#"{"ipk":"\#(Claims.base64(altered))"}"#) }
          == .claimInvalid("ipk", .publicKey), "\(place)")
    }
    let edwards = Claims.base64(try #require(Sample.key(.edDSA).subjectPublicKeyInfo))
    #expect(error { try read(#"{"ipk":"\#(edwards)"}"#) } == .claimInvalid("ipk", .publicKey))
  }

  @Test("Unknown claims are kept as they came, and cannot replace typed ones")
  func others() throws {
    let text = #"{"":null,"Exp":1.50,"a":[1e400,{"b":"\u00e9"}],"exp ":1,"\u212a":2}"#
    let claims = try read(text)
    #expect(claims.expiry == nil)
    #expect(claims.others.members.count == 5)
    #expect(
      try self.text(claims)
        == "{\"\":null,\"Exp\":1.50,\"a\":[1e400,{\"b\":\"\u{e9}\"}],\"exp \":1,\"\u{212a}\":2}")
    for name in Claims.typedNames {
      var claims = Claims()
      claims.others[name] = 1
      #expect(error { try claims.clearJSON() } == .claimInvalid(name, .otherName))
    }
  }

  @Test("A payload is one object, and no claim comes twice")
  func payloads() {
    for bad in ["", "[]", "1", "null", "{", "{}{}", #"{"a":1,"a":2}"#, #"{"exp":1,"\u0065xp":2}"#] {
      #expect(error { try read(bad) } != nil)
    }
  }

  @Test("A measurement has three parts of their lengths, and never shows itself")
  func measurement() throws {
    let m32 = Claims.base64([UInt8](repeating: 1, count: 32))
    let m16 = Claims.base64([UInt8](repeating: 1, count: 16))
    let claims = try read(#"{"dmh":"\#(m32)","imh":"\#(m32)","mpk":"\#(m16)"}"#)
    let measurement = try #require(claims.measurement)
    var dumped = ""
    dump(claims, to: &dumped)
    for shown in ["\(measurement)", String(reflecting: measurement), dumped, "\(claims)"] {
      #expect(!shown.contains("AQEB") && !shown.contains("[1, 1"))
    }
    for (text, name) in [
      (#"{"imh":"\#(m32)"}"#, "dmh"), (#"{"imh":"\#(m32)","dmh":"\#(m32)"}"#, "mpk"),
      (#"{"mpk":"\#(m16)"}"#, "imh"),
    ] {
      #expect(error { try read(text) } == .claimInvalid(name, .together))
    }
    #expect(
      error { try read(#"{"dmh":"\#(m32)","imh":"\#(m32)","mpk":"\#(m32)"}"#) }
        == .claimInvalid("mpk", .bytes(16)))
    let bytes = [UInt8](repeating: 0, count: 80)
    #expect(
      error {
        try MeasurementClaims(
          integrityMeasurement: bytes.span.extracting(0..<31),
          deviceMeasurement: bytes.span.extracting(0..<32),
          proofKey: bytes.span.extracting(0..<16))
      } == .claimInvalid("imh", .bytes(32)))
  }

  @Test("A measurement goes into sealed tokens only, and is refused in a signed one")
  func measurementIsSealed() throws {
    var claims = try Sample.claims()
    claims.measurement = try Sample.measurement()
    let key = try Sample.key(.hs256)
    #expect(error { try JWSSigner(key).sign(claims) } == .measurementInClear)
    let clear = try claims.secretJSON()
    let token = try clear.withBytes { bytes throws(JOSEError) in
      try JWSSigner(key).sign(payload: bytes, type: "JWT")
    }
    #expect(
      error { try JWSVerifier(key).claims(of: token, under: Sample.policy()) }
        == .measurementInClear)
  }

  @Test("A binding is the hash of the whole text, and compares as a whole")
  func bindings() throws {
    let one = try Claims.Binding(to: "Bearer abc")
    #expect(one.text == "w1Xc6WwWEogNEZQP/dkBTThsJT4MNlKmzQanIm970rY=")
    #expect(try one.matches(Claims.Binding(digest: one.digest)))
    for other in ["Bearer abd", "bearer abc", "Bearer abc ", "abc", ""] {
      #expect(try !one.matches(Claims.Binding(to: other)))
    }
  }
}
