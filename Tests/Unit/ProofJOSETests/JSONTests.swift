// SPDX-License-Identifier: Apache-2.0

import Testing

@testable import ProofJOSE

@Suite("JSON")
struct JSONTests {
  @Test(
    "Texts of RFC 8259 are taken",
    arguments: [
      "0", "-0", "1e5", "1E-5", "1.5e+3", "0.0", "\"\"", "[]", "{}", " \t\r\n[ 1 , 2 ] \n", "true",
      "false", "null", "\"\\u0000\"", "\"\\ud83d\\ude00\"", "\"\u{7f}\"", "{\"\":0}",
      "[[[[[[[[[[[[[[[[]]]]]]]]]]]]]]]]", "{\"a\":{\"a\":1},\"b\":{\"a\":2}}", "\"\\/\"",
    ])
  func taken(text: String) throws {
    _ = try JSONValue(parsing: text)
  }

  @Test(
    "All else is refused, for its reason",
    arguments: [
      ("", .ended), (" ", .ended), ("[", .ended), ("[1", .ended), ("[1,", .ended), ("{", .ended),
      ("{\"a\"", .ended), ("{\"a\":", .ended), ("\"", .ended), ("\"\\", .ended),
      ("\"\\u12", .ended),
      ("-", .ended), ("1.", .ended), ("1e", .ended), ("1e+", .ended), ("tru", .ended),
      ("[1,]", .unexpected), ("[,1]", .unexpected), ("[1 2]", .unexpected), ("{,}", .unexpected),
      ("{\"a\":1,}", .unexpected), ("{\"a\" 1}", .unexpected), ("{a:1}", .unexpected),
      ("{'a':1}", .unexpected), ("{1:1}", .unexpected), ("True", .unexpected),
      ("nulL", .unexpected),
      ("NaN", .unexpected), ("Infinity", .unexpected), ("-Infinity", .badNumber),
      ("+1", .unexpected),
      (".5", .unexpected), ("// 1", .unexpected), ("\u{feff}{}", .unexpected),
      ("\u{a0}1", .unexpected),
      ("\u{c}1", .unexpected), ("\0", .unexpected),
      ("01", .badNumber), ("-01", .badNumber), ("00", .badNumber), ("1.e1", .badNumber),
      ("1e1.5", .trailing), ("0x10", .trailing), ("1 2", .trailing), ("{}{}", .trailing),
      ("{}\0", .trailing), ("[]]", .trailing), ("1,", .trailing),
      ("\"\n\"", .badString), ("\"\0\"", .badString), ("\"\u{1f}\"", .badString),
      ("\"\\a\"", .badString), ("\"\\U0041\"", .badString), ("\"\\u00g0\"", .badString),
      ("\"\\ud800\"", .badString), ("\"\\udc00\"", .badString), ("\"\\ud800\\n\"", .badString),
      ("\"\\ud800\\ud800\"", .badString), ("\"\\ud800x\"", .badString), ("\"\\'\"", .badString),
      ("[[[[[[[[[[[[[[[[[]]]]]]]]]]]]]]]]]", .tooDeep),
    ] as [(String, JSONError.Reason)])
  func refused(text: String, reason: JSONError.Reason) {
    #expect(reasonOf(Array(text.utf8)) == reason)
  }

  @Test(
    "A name comes once, whatever its spelling",
    arguments: [
      #"{"a":1,"a":1}"#, #"{"a":1,"b":2,"a":3}"#, #"{"a":1,"\u0061":2}"#, #"{"":1,"":2}"#,
      #"[{"x":{"y":[{"z":1,"z":2}]}}]"#, #"{"😀":1,"\ud83d\ude00":2}"#, #"{"/":1,"\/":2}"#,
    ])
  func duplicates(text: String) {
    #expect(reasonOf(Array(text.utf8)) == .repeatedMember)
  }

  /// Few names are compared with each other, and many go into a set: the counts lie around that change.
  @Test(
    "A name comes once among few names and among many", arguments: [2, 23, 24, 25, 26, 27, 200])
  func duplicatesAmongMany(count: Int) throws {
    let members = (0..<count).map { "\"n\($0)\":\($0)" }
    let value = try JSONValue(parsing: "{\(members.joined(separator: ","))}")
    guard case .object(let object) = value else {
      Issue.record("not an object")
      return
    }
    #expect(object.members.count == count)
    for repeated in [0, count / 2, count - 1] {
      for name in ["n\(repeated)", #"\u006e"# + "\(repeated)"] {
        let text = "{\((members + ["\"\(name)\":0"]).joined(separator: ","))}"
        #expect(reasonOf(Array(text.utf8)) == .repeatedMember, "\(name)")
      }
    }
  }

  @Test("Equivalent names that are other bytes are other names")
  func equivalentNames() throws {
    let value = try JSONValue(parsing: "{\"K\":1,\"\u{212a}\":2,\"e\u{301}\":3,\"\u{e9}\":4}")
    guard case .object(let object) = value else {
      Issue.record("not an object")
      return
    }
    #expect(object.members.count == 4)
    #expect(object["K"] == 1)
    #expect(object["\u{212a}"] == 2)
    #expect(object["\u{e9}"] == 4)
    #expect(JSONValue.string("K") != .string("\u{212a}"))
  }

  @Test(
    "Bytes that are not UTF-8 are refused",
    arguments: [
      [0x22, 0x80, 0x22], [0x22, 0xc0, 0xaf, 0x22], [0x22, 0xe0, 0x80, 0xaf, 0x22],
      [0x22, 0xed, 0xa0, 0x80, 0x22], [0x22, 0xf4, 0x90, 0x80, 0x80, 0x22], [0x22, 0xff, 0x22],
      [0x22, 0xe2, 0x82, 0x22], [0xff, 0xfe, 0x31, 0x00],
    ] as [[UInt8]])
  func notUTF8(bytes: [UInt8]) {
    #expect(reasonOf(bytes) == .notUTF8)
  }

  @Test("Size and number of values are bounded")
  func bounds() {
    let full = [UInt8(ascii: "1")] + [UInt8](repeating: 0x20, count: 262_143)
    #expect(reasonOf(full) == nil)
    #expect(reasonOf(full + [0x20]) == .tooLarge)
    let many = "[" + String(repeating: "1,", count: 16_382) + "1]"
    #expect(reasonOf(Array(many.utf8)) == nil)
    #expect(reasonOf(Array("[1,\(many.dropFirst())".utf8)) == .tooLarge)
    let number = String(repeating: "1", count: 64)
    #expect(reasonOf(Array(number.utf8)) == nil)
    #expect(reasonOf(Array("\(number)1".utf8)) == .badNumber)
    let deep = String(repeating: "[", count: 16) + String(repeating: "]", count: 16)
    #expect(reasonOf(Array(deep.utf8)) == nil)
    #expect(reasonOf(Array("[\(deep)]".utf8)) == .tooDeep)
  }

  @Test(
    "The canonical form is sorted by code point, without white space, and unescaped",
    arguments: [
      (#"{ "b" : [ 1.50 , -0 , 1e400 ] , "a" : { } }"#, #"{"a":{},"b":[1.50,-0,1e400]}"#),
      ("{\"\u{ff5e}\":1,\"😀\":2,\"a\":3}", "{\"a\":3,\"\u{ff5e}\":1,\"😀\":2}"),
      (
        #""\u0041\/\ud83d\ude00\u00e9\u2028\"\\\b\f\n\r\t\u0001\u001f\u007f""#,
        "\"A/😀\u{e9}\u{2028}\\\"\\\\\\b\\f\\n\\r\\t\\u0001\\u001f\u{7f}\""
      ),
    ])
  func canonical(text: String, expected: String) throws {
    let value = try JSONValue(parsing: text)
    #expect(Array(value.text.utf8) == Array(expected.utf8))
    #expect(try JSONValue(parsing: value.text) == value)
  }

  @Test("Values can be written as literals, and members set and removed")
  func literals() throws {
    let value: JSONValue = ["b": [1, true, "x"], "a": ["c": false]]
    #expect(value.text == #"{"a":{"c":false},"b":[1,true,"x"]}"#)
    var object: JSONObject = ["x": 1]
    object["a"] = "y"
    object["x"] = 2
    object["none"] = nil
    #expect(object.members.map(\.name) == ["a", "x"])
    object["a"] = nil
    #expect(object == ["x": 2])
    #expect(object["a"] == nil)
  }

  @Test("Numbers keep their spelling")
  func numbers() {
    #expect(JSONNumber(1.5)?.text == "1.5")
    #expect(JSONNumber(Double.nan) == nil)
    #expect(JSONNumber(-Double.infinity) == nil)
    #expect(JSONNumber(.max).integer == .max)
    #expect(JSONNumber(checked: "9223372036854775808").integer == nil)
    #expect(JSONNumber(checked: "1e2").integer == nil)
    #expect(JSONNumber(checked: "1e400").double == .infinity)
  }

  @Test func `a caller that trusts the sender may set a higher limit`() throws {
    let text = Array(("[" + repeatElement("12", count: 100_000).joined(separator: ",") + "]").utf8)
    #expect(reasonOf(text) == .tooLarge)
    guard case .array(let values) = try JSONValue(parsing: text.span, bytesMax: 1 << 20) else {
      Issue.record("no array")
      return
    }
    #expect(values.count == 100_000)
    #expect(throws: JSONError(reason: .tooLarge, offset: text.count - 1)) {
      try JSONValue(parsing: text.span, bytesMax: text.count - 1)
    }
    let dense = Array(("[" + repeatElement("1", count: 100).joined(separator: ",") + "]").utf8)
    #expect(throws: JSONError.self) { try JSONValue(parsing: dense.span, bytesMax: dense.count) }
  }

  private func reasonOf(_ text: [UInt8]) -> JSONError.Reason? {
    do {
      _ = try JSONValue(parsing: text.span)
      return nil
    } catch {
      #expect(error.offset <= text.count && !error.description.isEmpty)
      return error.reason
    }
  }
}
