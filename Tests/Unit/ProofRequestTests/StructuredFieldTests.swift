// SPDX-License-Identifier: Apache-2.0

import Testing

@testable import ProofRequest

/// RFC 8941: reading and writing are inverse, and bad input is refused.
@Suite struct StructuredFieldTests {
  static func rewritten(_ text: String) -> String? {
    StructuredDictionary(Array(text.utf8)).map { String(decoding: written($0), as: UTF8.self) }
  }

  static func written(_ dictionary: StructuredDictionary) -> [UInt8] {
    var bytes: [UInt8] = []
    for member in dictionary.members {
      if !bytes.isEmpty { bytes += ", ".utf8 }
      bytes += dictionary.text[dictionary.range(member)]
      let value = dictionary.places[member + 1]
      if value.kind == .boolean && value.number == 1 {
        // A key alone stands for true: its parameters follow the key.
        bytes += item(member + 1, of: dictionary).dropFirst(2)
      } else {
        bytes.append(UInt8(ascii: "="))
        bytes += item(member + 1, of: dictionary)
      }
    }
    return bytes
  }

  private static func item(_ place: Int, of dictionary: StructuredDictionary) -> [UInt8] {
    [UInt8](expecting: 64) { dictionary.write(place, to: &$0) }
  }

  @Test(
    "Canonical text is written as it was read",
    arguments: [
      "", "a", "a=1", "a=-999999999999999", "a=1.5", "a=-0.125, b", "a=\"x\\\"y\\\\\"",
      "a=tok/en:*",
      "a=:AAEC:", "a=?0", "a;x;y=2", "a=(1 \"b\";c=d :AA==:);e=?0", "a=()", "*a.b-c_1=1",
    ])
  func canonical(text: String) { #expect(Self.rewritten(text) == text) }

  @Test(
    "Other spellings are read and written in the canonical one",
    arguments: [
      ("  a=1 ,\t b=2  ", "a=1, b=2"), ("a=(  1   2  )", "a=(1 2)"), ("a; x;  y=1", "a;x;y=1"),
      ("a=?1", "a"), ("a=1.500", "a=1.5"), ("a=007", "a=7"), ("a=1.0", "a=1.0"), ("a;x=?1", "a;x"),
    ])
  func spellings(text: String, expected: String) { #expect(Self.rewritten(text) == expected) }

  @Test(
    "Malformed text is no dictionary",
    arguments: [
      "A=1", "a=", "a=1,", "a=1, a=2", "a;x;x", "a=\"", "a=\"\\x\"", "a=\"\u{e9}\"", "a=:A:",
      "a=:AA:",
      "a=:AAEC", "a=1.", "a=1.2345", "a=1234567890123456", "a=1234567890123.5", "a=-", "a=?2",
      "a=?",
      "a=(1", "a=(1\t2)", "a=(1,2)", "a=((1))", "a=(\"b\"\"c\")", "a b", "=1", "a=1 b=2", "a=@1",
      "a=\"\u{7f}\"", "\ta=1",
    ])
  func malformed(text: String) { #expect(Self.rewritten(text) == nil) }
}
