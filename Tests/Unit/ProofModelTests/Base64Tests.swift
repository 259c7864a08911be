// SPDX-License-Identifier: Apache-2.0

import ProofModel
import Testing

@Suite("Base64")
struct Base64Tests {
  @Test("no byte outside the alphabet is read", arguments: [Base64.Form.standard, .url])
  func alphabet(form: Base64.Form) throws {
    let good = Array(Base64.encode([0xFB, 0xFF, 0xBF, 1, 2, 3], form).utf8)
    for place in good.indices {
      for byte in UInt8.min ... .max {
        var text = good
        text[place] = byte
        guard let bytes = Base64.decode(text.span, form) else { continue }
        #expect(Array(Base64.encode(bytes, form).utf8) == text, "\(byte)")
      }
    }
  }
}
