// SPDX-License-Identifier: Apache-2.0

import ProofModel
import Testing

@Suite("Hexadecimal")
struct HexadecimalTests {
  @Test("is written in lower case, two digits for each byte")
  func encode() {
    #expect(Hexadecimal.encode([0x00, 0x0F, 0xA0, 0xFF]) == "000fa0ff")
    #expect(Hexadecimal.encode([UInt8]()) == "")
  }

  @Test("is read in either case, and every byte comes back")
  func decode() {
    #expect(Hexadecimal.decode("000fA0Ff") == [0x00, 0x0F, 0xA0, 0xFF])
    #expect(Hexadecimal.decode("") == [])
    let all = [UInt8](UInt8.min...UInt8.max)
    #expect(Hexadecimal.decode(Hexadecimal.encode(all)) == all)
  }

  @Test(
    "is nothing else, be it odd, spaced, signed, prefixed or of other scripts",
    arguments: ["0", "0g", "g0", " 00", "0 ", "+1", "-1", "0x00", "é", "\u{FF10}\u{FF11}", "00\n"])
  func refused(text: String) {
    #expect(Hexadecimal.decode(text) == nil)
  }
}
