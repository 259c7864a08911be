// SPDX-License-Identifier: Apache-2.0

import ProofBytes
import Testing

/// RFC 8259: each value's place, each fault's place, and each limit from both sides.
@Suite("The index of a JSON text")
struct JSONIndexTests {
  private static func index(
    _ text: [UInt8], _ limits: JSONLimits = JSONLimits(depth: 9)
  ) -> Result<JSONIndex, JSONFault> {
    do throws(JSONFault) {
      return .success(try JSONIndex(parsing: text.span, within: limits))
    } catch { return .failure(error) }
  }

  private static func index(_ text: String, _ limits: JSONLimits = JSONLimits(depth: 9)) throws
    -> JSONIndex
  {
    try index(Array(text.utf8), limits).get()
  }

  private static func fault(
    _ text: String, _ limits: JSONLimits = JSONLimits(depth: 9)
  ) -> JSONFault? {
    guard case .failure(let fault) = index(Array(text.utf8), limits) else { return nil }
    return fault
  }

  @Test("each value has its kind, its first and last byte, and the next value after it")
  func nodes() throws {
    func nodes(_ text: String) throws -> [String] {
      try Self.index(text).nodes.map { "\($0.kind) \($0.start)..<\($0.end) \($0.next)" }
    }
    #expect(
      try nodes(#" {"a":[1,-2.5e+3],"b":"x\n"} "#) == [
        "object 1..<28 7", "string 3..<4 2", "array 6..<17 5", "number 7..<8 4",
        "number 9..<16 5", "string 19..<20 6", "string 23..<26 7",
      ])
    #expect(
      try nodes("[true,false,null,{},[]]") == [
        "array 0..<23 6", "true 1..<5 2", "false 6..<11 3", "null 12..<16 4", "object 17..<19 5",
        "array 20..<22 6",
      ])
    let text = Array(#"[{"a":[0],"b":1},"x",-1.5]"#.utf8)
    let index = try Self.index(text).get()
    #expect(index.elements(of: 0) == [1, 7, 8] && index.elements(of: 3) == [4])
    #expect(index.members(of: 1).map(\.name) == [2, 5])
    #expect(index.members(of: 1).map(\.value) == [3, 6])
    let spelling = index.spelling(at: 8, in: text.span)
    let string = index.string(at: 7, in: text.span)
    #expect(spelling == "-1.5" && string == "x")
  }

  @Test("each fault has its reason and the byte at which it was noticed")
  func faults() {
    let faults: [(String, JSONFault.Reason, Int)] = [
      ("", .ended, 0), ("[1", .ended, 2), (#"["a","#, .ended, 5), ("tru", .ended, 3),
      ("1.", .ended, 2), ("1e+", .ended, 3), ("-", .ended, 1), (#""\ud800"#, .ended, 7),
      ("[1 2]", .unexpected, 3), ("trUe", .unexpected, 2), ("{1:1}", .unexpected, 1),
      (#"{"a" 1}"#, .unexpected, 5), (#"{"a":1,"b":2,"a":3}"#, .repeatedMember, 13),
      ("1 2", .trailing, 2), ("1d5", .trailing, 1), ("1D5", .trailing, 1), ("1f", .trailing, 1),
      ("\"a\nb\"", .badString, 2), ("\"\u{1F}\"", .badString, 1), (#""\x""#, .badString, 2),
      (#""\u12g4""#, .badString, 5), (#""\udc00""#, .badString, 7),
      (#""\udfff""#, .badString, 7), (#""\ud800x""#, .badString, 7),
      (#""\udbffx""#, .badString, 7), (#""\ud800\n""#, .badString, 8),
      (#""\ud800\ud800""#, .badString, 13), (#""\ud800\udbff""#, .badString, 13),
      (#""\ud800\ue000""#, .badString, 13), (#""\ud800\u0041""#, .badString, 13),
      ("-x", .badNumber, 1), ("01", .badNumber, 2), ("1.x", .badNumber, 2), ("1ex", .badNumber, 2),
    ]
    for (text, reason, offset) in faults {
      #expect(Self.fault(text) == JSONFault(reason, offset: offset), "\(text)")
    }
    let bytes: [UInt8] = [0x5B, 0x31, 0x2C, 0xFF, 0x5D]
    #expect(throws: JSONFault(.notUTF8, offset: 3)) { try Self.index(bytes).get() }
  }

  @Test("arrays and objects count alike as levels, and a value that is neither has none")
  func depths() {
    for (text, levels, offset) in [
      ("1", 0, 0), ("[]", 1, 0), ("{}", 1, 0), ("[[[]]]", 3, 2), (#"{"a":{"a":{}}}"#, 3, 10),
      (#"[{"a":[1]}]"#, 3, 6), (#"{"a":[{"b":1}],"c":[]}"#, 3, 6),
    ] {
      #expect(Self.fault(text, JSONLimits(depth: levels)) == nil, "\(text)")
      guard levels > 0 else { continue }
      let fault = Self.fault(text, JSONLimits(depth: levels - 1))
      #expect(fault == JSONFault(.tooDeep, offset: offset), "\(text)")
    }
  }

  @Test("bytes, values and characters of a number have limits, and none by default")
  func limits() {
    let free = JSONLimits(depth: 1)
    #expect(free.depth == 1 && free.bytes == Int.max && free.values == Int.max)
    #expect(free.numberCharacters == Int.max)
    let text = #"{"a":[1,true,"x"],"b":-1.5e+10}"#
    for (limits, reason) in [
      (JSONLimits(depth: 2, bytes: 31), nil), (JSONLimits(depth: 2, bytes: 30), .tooLarge),
      (JSONLimits(depth: 2, values: 8), nil), (JSONLimits(depth: 2, values: 7), .tooLarge),
      (JSONLimits(depth: 2, numberCharacters: 8), nil),
      (JSONLimits(depth: 2, numberCharacters: 7), .badNumber),
    ] as [(JSONLimits, JSONFault.Reason?)] {
      #expect(Self.fault(text, limits)?.reason == reason, "\(limits)")
    }
    #expect(
      Self.fault(text, JSONLimits(depth: 2, bytes: 30)) == JSONFault(.tooLarge, offset: 30))
  }

  @Test("four characters are white space, before and after a value, and no other is")
  func whiteSpace() {
    let space: [UInt8] = [0x20, 0x09, 0x0A, 0x0D]
    for byte in UInt8(0)..<0x80 {
      for text in [[byte] + Array("[]".utf8), Array("[]".utf8) + [byte]] {
        let isTaken = if case .success = Self.index(text) { true } else { false }
        #expect(isTaken == space.contains(byte), "\(byte)")
      }
    }
  }

  @Test("a character stands bare in a string unless it is a control character or has a meaning")
  func bareCharacters() {
    for byte in UInt8(0)..<0x80 {
      let isTaken = if case .success = Self.index([0x22, byte, 0x22]) { true } else { false }
      #expect(isTaken == (byte >= 0x20 && byte != 0x22 && byte != 0x5C), "\(byte)")
    }
  }

  private static let escapes: [(String, [UInt8])] = [
    (#"\"\\\/\b\f\n\r\t"#, [0x22, 0x5C, 0x2F, 0x08, 0x0C, 0x0A, 0x0D, 0x09]),
    (#"\u0000\u007fx"#, [0x00, 0x7F, 0x78]), (#"\u0080x"#, [0xC2, 0x80, 0x78]),
    (#"\u07ff\u0800"#, [0xDF, 0xBF, 0xE0, 0xA0, 0x80]),
    (#"\ud7ffx\ue000"#, [0xED, 0x9F, 0xBF, 0x78, 0xEE, 0x80, 0x80]),
    (#"\uffff"#, [0xEF, 0xBF, 0xBF]), (#"\ud800\udc00x"#, [0xF0, 0x90, 0x80, 0x80, 0x78]),
    (#"\udbff\udfff"#, [0xF4, 0x8F, 0xBF, 0xBF]), (#"\uDBFF\uDFFF"#, [0xF4, 0x8F, 0xBF, 0xBF]),
    (#"\uABCD\uabcd"#, [0xEA, 0xAF, 0x8D, 0xEA, 0xAF, 0x8D]),
    (#"\uEF01\uef01"#, [0xEE, 0xBC, 0x81, 0xEE, 0xBC, 0x81]),
    (#"\u1234\u5678\u9012"#, [0xE1, 0x88, 0xB4, 0xE5, 0x99, 0xB8, 0xE9, 0x80, 0x92]),
    ("é😀", [0xC3, 0xA9, 0xF0, 0x9F, 0x98, 0x80]),
  ]

  @Test("an escape stands for its character, at each bound of UTF-8 and of surrogates")
  func escapes() throws {
    for (inner, bytes) in Self.escapes {
      let text = Array("\"\(inner)\"".utf8)
      let index = try Self.index(text).get()
      let read = index.bytes(at: 0, in: text.span)
      #expect(read == bytes, "\(inner)")
      let string = String(decoding: bytes, as: UTF8.self)
      let shorter = String(decoding: bytes.dropLast(), as: UTF8.self)
      let areTaken = [string, string + "x", shorter].map {
        index.string(at: 0, is: $0, in: text.span)
      }
      #expect(areTaken == [true, false, false], "\(inner)")
      // The same characters are the same name of a member.
      let members = "{\"\(inner)\":1,\"\(inner)\":2}"
      #expect(Self.fault(members)?.reason == .repeatedMember, "\(inner)")
    }
    let number = Array("1".utf8)
    let isString = try Self.index(number).get().string(at: 0, is: "1", in: number.span)
    #expect(!isString)
  }

  @Test("an escape has hexadecimal digits of both cases, and no other characters")
  func hexadecimalDigits() {
    for byte in UInt8(0x20)..<0x7F {
      let character = Character(Unicode.Scalar(byte))
      let isTaken = Self.fault("\"\\u004\(character)\"") == nil
      #expect(isTaken == "0123456789abcdefABCDEF".contains(character), "\(character)")
    }
  }

  @Test("a text is quoted with an escape for each control character, the quote and the backslash")
  func quoting() {
    #expect(JSONQuoting.quoted("a\"b\\c\nd\té") == #""a\"b\\c\nd\té""#)
    #expect(
      JSONQuoting.quoted("\u{0}\u{1}\u{F}\u{10}\u{1F}") == #""\u0000\u0001\u000f\u0010\u001f""#)
    #expect(JSONQuoting.quoted(" ~\u{7F}\u{80}") == "\" ~\\u007f\u{80}\"")
  }
}

@Suite("Moments in nanoseconds")
struct NanosecondTests {
  @Test("a second has 1,000,000,000 nanoseconds, and a moment is made of fewer")
  func bounds() async {
    #expect(UnixTime(seconds: 1, nanoseconds: 0).nanoseconds == 0)
    #expect(UnixTime(seconds: 1, nanoseconds: 999_999_999).nanoseconds == 999_999_999)
    await #expect(processExitsWith: .failure) { _ = UnixTime(seconds: 1, nanoseconds: -1) }
    await #expect(processExitsWith: .failure) {
      _ = UnixTime(seconds: 1, nanoseconds: 1_000_000_000)
    }
  }

  @Test("a moment is not before itself, and moments differ by their nanoseconds, too")
  func order() {
    let times = [
      UnixTime(seconds: -1), UnixTime(seconds: 0), UnixTime(seconds: 0, nanoseconds: 1),
      UnixTime(seconds: 0, nanoseconds: 2), UnixTime(seconds: 1),
    ]
    for (one, time) in times.enumerated() {
      for (other, second) in times.enumerated() {
        #expect((time < second) == (one < other), "\(time) \(second)")
        #expect((time == second) == (one == other), "\(time) \(second)")
      }
    }
  }

  @Test("the system's clock has fractions of a second")
  func fractions() {
    #expect((0..<100).contains { _ in UnixTime.now.nanoseconds != 0 })
  }
}
