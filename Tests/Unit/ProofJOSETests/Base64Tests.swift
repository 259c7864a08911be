// SPDX-License-Identifier: Apache-2.0

import Testing

@testable import ProofJOSE

@Suite("Base64")
struct Base64Tests {
  /// RFC 4648, 10.
  @Test(
    "The examples of RFC 4648 go both ways",
    arguments: [
      ("", ""), ("f", "Zg=="), ("fo", "Zm8="), ("foo", "Zm9v"), ("foob", "Zm9vYg=="),
      ("fooba", "Zm9vYmE="), ("foobar", "Zm9vYmFy"),
    ])
  func examples(plain: String, text: String) {
    #expect(encode(Array(plain.utf8), .standard) == text)
    #expect(decode(text, .standard) == Array(plain.utf8))
    let unpadded = String(text.prefix { $0 != "=" })
    #expect(encode(Array(plain.utf8), .url) == unpadded)
    #expect(decode(unpadded, .url) == Array(plain.utf8))
  }

  @Test("Every byte at every place goes both ways", arguments: [Base64Alphabet.url, .standard])
  func everyByte(alphabet: Base64Alphabet) {
    for count in 0...9 {
      for place in 0..<count {
        for value in UInt8.min ... .max {
          var bytes = [UInt8](repeating: 0xa5, count: count)
          bytes[place] = value
          #expect(decode(encode(bytes, alphabet), alphabet) == bytes)
        }
      }
    }
  }

  @Test("No byte outside the alphabet is taken, at any place")
  func foreignCharacters() {
    let letters = Set("ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789".utf8)
    for (alphabet, more) in [(Base64Alphabet.url, "-_"), (.standard, "+/")] {
      let own = letters.union(more.utf8)
      for place in 0..<8 {
        for value in UInt8.min ... .max where !own.contains(value) {
          if alphabet == .standard && value == UInt8(ascii: "=") && place == 7 { continue }
          var text = Array("QUJDREVG".utf8)
          text[place] = value
          #expect(alphabet.decode(text.span) == nil, "\(value) at \(place)")
        }
      }
    }
  }

  @Test("Bits that the last character has to spare are zeros")
  func spareBits() {
    let characters = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_"
    for (index, character) in characters.enumerated() {
      #expect((decode("A\(character)", .url) != nil) == (index % 16 == 0))
      #expect((decode("AA\(character)", .url) != nil) == (index % 4 == 0))
    }
  }

  @Test(
    "Padding is refused where none belongs",
    arguments: [
      "QQ==", "QUI=", "QUJD=", "=", "==", "QUJDQ=", "A", "AAAAA", " QUJD", "QUJD ", "QU\nJD",
    ])
  func urlHasNoPadding(text: String) {
    #expect(decode(text, .url) == nil)
  }

  @Test(
    "Padding is asked for where it belongs",
    arguments: [
      "QQ", "QQ=", "QQ===", "QUI", "QUI==", "QUJD====", "====", "=QUI", "Q===", "QQ==QQ==", "Q=Q=",
      "QQ=A", "QUI=\n", "QQ==\0",
    ])
  func standardIsPadded(text: String) {
    #expect(decode(text, .standard) == nil)
  }

  private func encode(_ bytes: [UInt8], _ alphabet: Base64Alphabet) -> String {
    let text = TextWriter.bytes { writer, text in writer.base64(bytes.span, alphabet, into: &text) }
    #expect(text.count == alphabet.encodedCount(of: bytes.count))
    return String(decoding: text, as: UTF8.self)
  }

  private func decode(_ text: String, _ alphabet: Base64Alphabet) -> [UInt8]? {
    alphabet.decode(Array(text.utf8).span)
  }
}
