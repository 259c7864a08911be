// SPDX-License-Identifier: Apache-2.0

import Testing

@testable import ProofJOSE

/// The bounds of tokens and keys are those of docs/JOSE.md, with the numbers written out.
@Suite struct BoundsTests {
  /// docs/JOSE.md, *Supported and refused*, rule 9.
  @Test("A token has 64 KiB, a header 4 KiB, a payload 40 KiB, JSON 16 levels and 16,384 values")
  func sizes() {
    #expect(JOSELimits.tokenCharacters == 65_536 && JOSELimits.headerBytes == 4_096)
    #expect(JOSELimits.payloadBytes == 40_960 && JOSELimits.jsonBytes == 262_144)
    #expect(JOSELimits.jsonDepth == 16 && JOSELimits.jsonValues == 16_384)
    #expect(JOSELimits.numberCharacters == 64)
  }

  @Test("Names, texts and sets of keys have their bounds")
  func texts() {
    #expect(JOSELimits.keyIDBytes == 128 && JOSELimits.partyBytes == 128)
    #expect(JOSELimits.claimTextBytes == 1_024 && JOSELimits.claimTexts == 64)
    #expect(JOSELimits.keysInSet == 256 && JOSELimits.pemBytes == 8_192)
  }

  /// docs/JOSE.md, *Supported and refused*, the table.
  @Test("Keys have the sizes of the page")
  func keys() {
    #expect(JOSELimits.macKeyBytes == 32...512)
    #expect(JOSELimits.rsaBits == [2_048, 3_072, 4_096] && JOSELimits.freshRSABits == 3_072)
    #expect(CoreKey.rsaModulusByteCounts == [256, 384, 512])
    #expect(SubjectPublicKeyInfo.exponent == [1, 0, 1])
  }

  /// NIST SP 800-38D, section 8.3.
  @Test("A key seals 2^32 messages, times end with the year 9999, clocks differ by 300 s")
  func counts() {
    #expect(JOSELimits.messagesPerKey == 4_294_967_296)
    #expect(JOSELimits.lastSecond == 253_402_300_799)
    #expect(JOSELimits.leeway == 0...300)
    #expect(Claims.instanceByteCount == 16)
  }

  @Test("Each operation of a key is one bit of its own")
  func operations() {
    let operations: [KeyOperations] = [
      .sign, .verify, .encrypt, .decrypt, .wrapKey, .unwrapKey, .derive,
    ]
    #expect(operations.map(\.rawValue) == [1, 2, 4, 8, 16, 32, 64])
  }

  private func isRead(_ text: String) -> Bool { (try? JSONValue(parsing: text)) != nil }

  @Test("JSON is read with 16 levels, 16,384 values and a number of 64 characters")
  func json() {
    for (count, isRead) in [(16, true), (17, false)] {
      let text = String(repeating: "[", count: count) + String(repeating: "]", count: count)
      #expect(self.isRead(text) == isRead, "\(count) levels")
    }
    for (count, isRead) in [(16_383, true), (16_384, false)] {
      let text = "[" + String(repeating: "1,", count: count - 1) + "1]"
      #expect(self.isRead(text) == isRead, "\(count) values in an array")
    }
    for (count, isRead) in [(64, true), (65, false)] {
      let text = "0." + String(repeating: "1", count: count - 2)
      #expect(self.isRead(text) == isRead, "\(count) digits")
    }
    for (count, isRead) in [(262_144, true), (262_145, false)] {
      let text = "1" + String(repeating: " ", count: count - 1)
      #expect(self.isRead(text) == isRead, "\(count) bytes")
    }
  }

  private func isClaim(_ name: String, _ value: String) -> Bool {
    (try? Claims(parsing: Array(#"{"\#(name)":"\#(value)"}"#.utf8).span)) != nil
  }

  /// docs/JOSE.md, *Claims*.
  @Test("A response code has 1 to 32 characters, an address 2 to 45, a text up to 1,024")
  func claims() {
    for (name, letter, least, most) in [
      ("arc", "A", 1, 32), ("ip", ":", 2, 45), ("iss", "x", 0, 1_024), ("sub", "x", 0, 1_024),
    ] {
      for count in [least - 1, least, most, most + 1] where count >= 0 {
        let value = String(repeating: letter, count: count)
        #expect(isClaim(name, value) == (least...most).contains(count), "\(name) \(count)")
      }
    }
  }

  @Test("A public key in PEM has up to 8,192 characters")
  func pem() throws {
    let pem = try Sample.key(.es256).publicPEM()
    for (count, error) in [
      (8_192, nil), (8_193, .tooLong("public key", count: 8_193, limit: 8_192)),
    ] as [(Int, JOSEError?)] {
      let text = pem + String(repeating: "\n", count: count - pem.utf8.count)
      let found: JOSEError?
      do throws(JOSEError) {
        _ = try JSONWebKey(publicPEM: text, algorithm: .es256, id: "k")
        found = nil
      } catch { found = error }
      #expect(found == error, "\(count)")
    }
  }
}
