// SPDX-License-Identifier: Apache-2.0

import Foundation
import ProofBackend
import ProofJOSE
import ProofModel
import Testing

@Suite("MessageVerifier")
struct MessageVerifierTests {
  private let key = MessageKey.random()
  private let token = "e30.e30.c2ln"

  private func claims(_ name: String?) -> Claims {
    var claims = Claims()
    claims.messageKeyID = name
    return claims
  }

  private func base64(_ bytes: [UInt8]) -> String {
    Data(bytes).base64EncodedString()
  }

  private func reason(
    _ message: String, _ signature: String, token: String, named name: String? = "k"
  ) -> TokenRefusal.Reason? {
    do throws(TokenRefusal) {
      try MessageVerifier(["k": key, "old": .random()]).check(
        message, signature: signature, token: token, claims: claims(name))
      return nil
    } catch {
      return error.reason
    }
  }

  @Test("a message under the key that its token names is believed")
  func good() {
    let message = "POST /open \(token)"
    #expect(reason(message, base64(key.signature(of: message)), token: token) == nil)
  }

  @Test("another message, another key, another token, no key and no signature are refused")
  func bad() {
    let message = "POST /open \(token)"
    let signature = base64(key.signature(of: message))
    #expect(reason(message + " ", signature, token: token) == .signature)
    #expect(reason(message, signature, token: token, named: "old") == .signature)
    #expect(reason(message, signature, token: token, named: "new") == .key)
    #expect(reason(message, signature, token: token, named: nil) == .claims)
    #expect(reason(message, signature, token: "e30.e30.b3RoZXI") == .binding)
    #expect(reason(message, signature, token: "") == .binding)
    for text in ["", "AAAA", signature + "AAAA", String(signature.dropLast()), "?"] {
      #expect(reason(message, text, token: token) == .signature, "\(text)")
    }
  }

  @Test("no changed bit of a signature is believed")
  func bits() {
    let message = "open \(token)"
    let right = key.signature(of: message)
    for bit in 0..<8 * right.count {
      var wrong = right
      wrong[bit / 8] ^= 1 << (bit % 8)
      #expect(reason(message, base64(wrong), token: token) == .signature)
    }
  }
}
