// SPDX-License-Identifier: Apache-2.0

import ProofJOSE
import ProofModel
import Testing

@testable import ProofBackend
@testable import ProofGate

/// The members of a question about an event, one character beside each bound, and what the error
/// says.
@Suite struct EventBoundsTests {
  private static func error(_ members: String) -> String? {
    do throws(EventTextError) {
      _ = try EventText.question(Array(#"{"event":1,\#(members)}"#.utf8), from: "shop")
      return nil
    } catch {
      return error.description
    }
  }

  @Test("An address has hexadecimal digits, dots and colons alone")
  func addresses() {
    let allowed = Set("0123456789ABCDEFabcdef.:".utf8)
    for byte in 0x21...0x7E as ClosedRange<UInt8> {
      let character = String(Unicode.Scalar(byte))
      let text = ["\"", "\\"].contains(character) ? "\\" + character : character
      #expect(
        (Self.error(#""token":"A","address":"1\#(text)""#) == nil) == allowed.contains(byte),
        "\(character)")
    }
    #expect(Self.error(#""token":"A","address":"1é""#) != nil)
    #expect(
      Self.error(#""token":"A","address":"1g""#)
        == "The member \"address\" is an IPv4 or IPv6 address.")
  }

  @Test("Each error names the member and its bounds")
  func errors() {
    func text(_ count: Int) -> String { String(repeating: "A", count: count) }
    let data = "The member \"data\" is SHA-256 of the business data in base64url, 43 characters."
    let bounds = "The member \"data\" is a text of 1 to 64 bytes."
    for (members, error) in [
      ("\"token\":\"\(text(257))\"", "The member \"token\" is a text of 1 to 256 bytes."),
      ("\"account\":\"a\"", "The member \"token\" is missing."),
      (
        "\"token\":\"A\",\"account\":\"\(text(129))\"",
        "The member \"account\" is a text of 1 to 128 bytes."
      ),
      (
        "\"token\":\"A\",\"key\":\"\(text(129))\"",
        "The member \"key\" is a text of 1 to 128 bytes."
      ),
      (
        "\"token\":\"A\",\"address\":\"1\"", "The member \"address\" is a text of 2 to 45 bytes."
      ),
      ("\"token\":\"A\",\"data\":\"\"", bounds), ("\"token\":\"A\",\"data\":\"A\"", data),
      ("\"token\":\"A\",\"data\":\"\(text(42))\"", data),
      ("\"token\":\"A\",\"data\":\"\(text(43))\"", nil),
      ("\"token\":\"A\",\"data\":\"\(text(44))\"", data),
      ("\"token\":\"A\",\"data\":\"\(text(64))\"", data),
      ("\"token\":\"A\",\"data\":\"\(text(65))\"", bounds),
    ] as [(String, String?)] {
      #expect(Self.error(members) == error, "\(members)")
    }
    let long = Array((#"{"event":1,"token":"A"}"# + String(repeating: " ", count: 4_096)).utf8)
    let tooLong = #expect(throws: EventTextError.self) {
      try EventText.question(long, from: "shop")
    }
    #expect(tooLong?.description == "The body is no JSON object of at most 4096 bytes.")
  }

  @Test("An answer tells the seconds of the attestation and each count under its own name")
  func numbers() throws {
    let secret = try GateSecret.random(generation: 1)
    var grant = GateGrant(
      for: .random(), instance: .random(), mode: .production, issued: 11, notAfter: 99,
      firstSeen: 7, secret: secret)
    grant.isForced = true
    grant.properties = 5
    let judgement = EventJudgement(
      reason: nil, facts: GateFacts(grant, handle: secret.keys.handle), created: 50, age: 3,
      measured: 4, isYoung: false, isAnchored: true, isRepeated: false)
    let body = EventText.answer(judgement)
    guard case .object(let object) = try JSONValue(parsing: body.span),
      case .object(let told)? = object["attestation"]
    else { throw EventTextError("", "lacks a part") }
    #expect(told["issued"] == 11 && told["firstSeen"] == 7 && told["properties"] == 5)
    #expect(told["failed"] == false && told["forced"] == true && told["measured"] == 4)
    #expect(told["young"] == false && told["anchored"] == true && told["arc"] == nil)
    #expect(object["repeated"] == false && object["age"] == 3)
    let stale = EventJudgement.Reason.refused(.stale)
    guard case .object(let refused) = try JSONValue(parsing: EventText.answer(.refused(stale)).span)
    else { throw EventTextError("", "is no object") }
    #expect(refused["detail"] == .string(stale.description) && refused["reason"] == "stale")
    #expect(refused["valid"] == false && refused["age"] == nil)
    guard case .object(let forgotten) = try JSONValue(parsing: EventText.answer(forgotten: 17).span)
    else { throw EventTextError("", "is no object") }
    #expect(forgotten == ["devices": 17])
    guard case .object(let problem) = try JSONValue(parsing: EventText.problem(413, "Long.").span)
    else { throw EventTextError("", "is no object") }
    #expect(problem == ["title": "Long.", "status": 413])
  }
}
