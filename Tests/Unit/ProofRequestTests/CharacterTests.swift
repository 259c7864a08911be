// SPDX-License-Identifier: Apache-2.0

import ProofModel
import Testing

@testable import ProofRequest

/// The sets of characters, each of them over all bytes, and the comparison and writing of bytes.
@Suite struct CharacterTests {
  private static let lower = "abcdefghijklmnopqrstuvwxyz"
  private static let upper = "ABCDEFGHIJKLMNOPQRSTUVWXYZ"
  private static let digits = "0123456789"

  /// RFC 9110, sections 5.5 and 5.6.2, and RFC 8941, section 3.1.2.
  @Test("Each set has the characters of the RFC, and no other byte")
  func sets() {
    let sets: [(String, String, (UInt8) -> Bool)] = [
      ("lower", Self.lower, ASCII.isLower), ("upper", Self.upper, ASCII.isUpper),
      ("letter", Self.lower + Self.upper, ASCII.isLetter), ("digit", Self.digits, ASCII.isDigit),
      (
        "token", "!#$%&'*+-.^_`|~" + Self.lower + Self.upper + Self.digits,
        ASCII.isTokenCharacter
      ),
      ("key", "_-.*" + Self.lower + Self.digits, ASCII.isKey),
    ]
    for (name, characters, isMember) in sets {
      for byte in UInt8.min...UInt8.max {
        #expect(isMember(byte) == characters.utf8.contains(byte), "\(name) \(byte)")
      }
    }
    for byte in UInt8.min...UInt8.max {
      let isControl = byte <= 31 && byte != 9 || byte == 127
      #expect(ASCII.isFieldValue(byte) == !isControl, "\(byte)")
      let isValue = ASCII.isFieldValue([0x61, byte, 0x61].span)
      #expect(isValue == !isControl, "\(byte)")
    }
  }

  @Test("A letter in upper case becomes its lower case, and any other byte stays")
  func lowerCase() {
    for byte in UInt8.min...UInt8.max {
      let place = Array(Self.upper.utf8).firstIndex(of: byte)
      #expect(ASCII.lower(byte) == place.map { Array(Self.lower.utf8)[$0] } ?? byte, "\(byte)")
    }
  }

  @Test("A hexadecimal digit of either case has its value")
  func hexadecimal() {
    for byte in UInt8.min...UInt8.max {
      let value =
        Array("0123456789abcdef".utf8).firstIndex(of: byte)
        ?? Array("0123456789ABCDEF".utf8).firstIndex(of: byte)
      #expect(ASCII.hexValue(byte) == value.map { UInt8($0) }, "\(byte)")
    }
  }

  @Test("A token has one character at least; one in lower case has no letter in upper case")
  func tokens() {
    for (text, isToken, isLower) in [
      ("", false, false), ("a", true, true), ("A", true, false), ("a-Z", true, false),
      ("a b", false, false), ("x~9", true, true), ("a\u{7F}", false, false),
    ] {
      let found = (ASCII.isToken(text.utf8.span), ASCII.isLowerToken(text.utf8.span))
      #expect(found == (isToken, isLower), "\(text)")
    }
  }

  /// The comparison takes eight bytes at a time; each number of bytes and each place is compared.
  @Test("Bytes are the same if each byte is, and the bytes behind them do not count")
  func comparison() {
    for count in 0...34 {
      let one = (0..<count).map { UInt8($0 + 1) }
      let bytes = one + [0xAA, 0xAB] + one + [0xBA, 0xBB]
      let (first, second) = (0..<count, count + 2..<2 * count + 2)
      #expect(bytes.isSame(at: first, and: second), "\(count)")
      #expect(!bytes.isSame(at: 0..<count + 1, and: second), "\(count)")
      #expect(!bytes.isSame(at: 0..<count + 1, and: count + 2..<2 * count + 3), "\(count)")
      for place in first {
        var other = bytes
        other[place] ^= 0x80
        #expect(!other.isSame(at: first, and: second), "\(count) \(place)")
      }
    }
    for (text, isMethod) in [("@method", true), ("@methods", false), ("@metho", false)] {
      let isText = text.utf8.span.isText("@method" as StaticString)
      let isString = text.utf8.span.isText("@method" as String)
      #expect(isText == isMethod && isString == isMethod, "\(text)")
    }
    let isEmpty = ["", "a"].map { $0.utf8.span.isText("" as String) }
    #expect(isEmpty == [true, false])
  }

  @Test("A writer finds its room, from no byte on, whatever the size that was expected")
  func rooms() {
    for size in [0, 1, 4, 10, 11, 12, 40] {
      let bytes = [UInt8](expecting: size) { output in
        output.append(UInt8(ascii: "a"))
        output.append([0x62, 0x63].span)
        output.append("def" as String)
        output.append("ghi\": " as StaticString, without: 3)
        output.append("jk" as StaticString)
      }
      #expect(bytes == Array("abcdefghijk".utf8), "\(size)")
      let text = String(expecting: size) { output in
        output.append("abcdefghij" as StaticString)
        output.append(UInt8(ascii: "k"))
      }
      #expect(text == "abcdefghijk", "\(size)")
    }
    #expect([UInt8](expecting: 0) { $0.append(0x61) } == [0x61])
    #expect([UInt8](expecting: 0) { _ in } == [] && String(expecting: 0) { _ in } == "")
  }

  @Test("A number is written with its digits and its sign")
  func numbers() {
    for (number, text) in [
      (0, "0"), (9, "9"), (10, "10"), (-1, "-1"), (-100, "-100"),
      (.max, "9223372036854775807"), (.min, "-9223372036854775808"),
    ] as [(Int64, String)] {
      #expect(String(expecting: 20) { $0.append(decimal: number) } == text)
    }
  }

  /// The WHATWG's application/x-www-form-urlencoded, which RFC 9421, section 2.2.8, names.
  @Test("A byte of a form is itself or has an escape with two digits in upper case")
  func forms() {
    let plain = Self.lower + Self.upper + Self.digits + "*-._"
    for byte in UInt8.min...UInt8.max {
      let digits = String(byte, radix: 16, uppercase: true)
      let escape = "%" + (digits.utf8.count == 1 ? "0" : "") + digits
      let expected = plain.utf8.contains(byte) ? [byte] : Array(escape.utf8)
      #expect(FormEncoding.encode([byte]) == expected, "\(byte)")
      #expect(FormEncoding.decode(Array(escape.utf8)) == [byte], "\(byte)")
      #expect(FormEncoding.decode(Array(escape.lowercased().utf8)) == [byte], "\(byte)")
    }
    for (text, expected) in [
      ("a+b", "a b"), ("%", "%"), ("%4", "%4"), ("%g1", "%g1"), ("%1g", "%1g"), ("%%41", "%A"),
      ("%414", "A4"), ("%2b", "+"),
    ] {
      #expect(FormEncoding.decode(Array(text.utf8)) == Array(expected.utf8), "\(text)")
    }
  }

  private static let alphabet =
    Array("ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/".utf8)

  /// RFC 4648, section 3.5.
  @Test("Base64 has four characters to a group, and no bits in its padding")
  func base64() {
    func isCanonical(_ text: String) -> Bool {
      let text = Array("x\(text)x".utf8)
      return Base64Text.isCanonical(text, 1..<text.count - 1)
    }
    for (value, character) in Self.alphabet.enumerated() {
      let last = Character(Unicode.Scalar(character))
      #expect(isCanonical("AAA\(last)"))
      #expect(isCanonical("AA\(last)=") == (value % 4 == 0), "\(last)")
      #expect(isCanonical("A\(last)==") == (value % 16 == 0), "\(last)")
      #expect(
        !isCanonical("\(last)===") && !isCanonical("AAAA\(last)===") && !isCanonical("\(last)"))
    }
    for (text, expected) in [
      ("", true), ("====", false), ("A", false), ("AA", false), ("AAA", false), ("AAAAA", false),
      ("AA=A", false), ("=AAA", false), ("AAAAAA==", true), ("AA==AAAA", false),
    ] { #expect(isCanonical(text) == expected, "\(text)") }
    for byte in UInt8.min...UInt8.max where byte != UInt8(ascii: "=") {
      let isLetter = Self.alphabet.contains(byte)
      #expect(Base64Text.isCanonical([0x41, byte, 0x41, 0x41], 0..<4) == isLetter, "\(byte)")
    }
  }

  @Test("A digest in base64 has 44 characters, each of which counts, the last one for padding")
  func digests() throws {
    let bytes = (0..<32).map { UInt8($0 * 7 + 3) }
    let text = Array(Base64.encode(bytes).utf8)
    let whole = Base64Text.digest(text.span)
    #expect(text.count == 44 && whole?.bytes == bytes)
    for place in 0..<43 {
      var other = text
      for (value, character) in Self.alphabet.enumerated() {
        other[place] = character
        let read = Base64Text.digest(other.span)
        if place == 42, value % 4 != 0 {
          #expect(read == nil, "\(value)")
        } else {
          #expect(read.map { Base64.encode($0.bytes) } == String(decoding: other, as: UTF8.self))
        }
      }
      for character in "=-_ \u{7F}".utf8 {
        other[place] = character
        let read = Base64Text.digest(other.span)
        #expect(read == nil, "\(place) \(character)")
      }
    }
    for other in [text.dropLast() + [0x41], Array(text.dropLast()), text + [0x3D]] {
      let read = Base64Text.digest(other.span)
      #expect(read == nil)
    }
  }
}
