// SPDX-License-Identifier: Apache-2.0

import ProofModel
import Testing

@testable import ProofKit

@Suite("The short form of a configuration")
struct ShortFormTests {
  private static let digest = Base64.encode([UInt8](repeating: 5, count: 32))

  @Test("is refused with the part that is wrong")
  func reasons() {
    let form = "it is not of the form #ACCOUNT@HOST:PORT#FINGERPRINT"
    let account =
      "the account is empty, too long, or has other characters than a-z A-Z 0-9 . _ -"
    let host = "HOST:PORT is no host with or without a port"
    let fingerprint = "the fingerprint is not 32 bytes in base64"
    let short = Base64.encode([UInt8](repeating: 5, count: 31))
    let long = String(repeating: "a", count: 65)
    for (text, reason) in [
      ("", "it is empty"), ("#", form), ("#acme@a.example", form), ("##", form),
      ("#acme@a.example#\(Self.digest)#", form), ("#acme.a.example#\(Self.digest)", form),
      ("#@a.example#\(Self.digest)", account), ("#a b@a.example#\(Self.digest)", account),
      ("#..@a.example#\(Self.digest)", account), ("#\(long)@a.example#\(Self.digest)", account),
      ("#acme@#\(Self.digest)", host), ("#acme@a.example/b#\(Self.digest)", host),
      ("#acme@a.example:0#\(Self.digest)", host), ("#acme@a b#\(Self.digest)", host),
      ("#acme@a.example#", fingerprint), ("#acme@a.example#\(short)", fingerprint),
      ("#acme@a.example#\(Self.digest)!", fingerprint),
    ] {
      #expect(throws: SetupError.malformedConfiguration(reason: reason), "\(text)") {
        _ = try InitialConfiguration(text)
      }
    }
  }
}
