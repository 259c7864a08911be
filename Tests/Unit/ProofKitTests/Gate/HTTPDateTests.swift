// SPDX-License-Identifier: Apache-2.0

import ProofModel
import Testing

@testable import ProofKit

@Suite("The field Date of an answer")
struct HTTPDateTests {
  /// RFC 9110, section 5.6.7, has the first date.
  @Test("is a moment in seconds")
  func read() {
    let dates: [(String, Int64)] = [
      ("Sun, 06 Nov 1994 08:49:37 GMT", 784_111_777), ("Thu, 01 Jan 1970 00:00:00 GMT", 0),
      ("Thu, 01 Jan 1970 00:00:59 GMT", 59), ("Thu, 01 Jan 1970 00:59:00 GMT", 3_540),
      ("Thu, 01 Jan 1970 23:00:00 GMT", 82_800), ("Sun, 31 Jan 1970 00:00:00 GMT", 2_592_000),
      ("Sat, 31 Dec 2016 23:59:60 GMT", 1_483_228_800),
      ("Fri, 31 Dec 9999 23:59:59 GMT", 253_402_300_799),
    ]
    for (text, seconds) in dates { #expect(HTTPDate(text)?.time.seconds == seconds, "\(text)") }
    let months: [(String, Int64)] = [
      ("Jan", 0), ("Feb", 31), ("Mar", 59), ("Apr", 90), ("May", 120), ("Jun", 151),
      ("Jul", 181), ("Aug", 212), ("Sep", 243), ("Oct", 273), ("Nov", 304), ("Dec", 334),
    ]
    for (month, days) in months {
      let text = "Thu, 01 \(month) 1970 00:00:00 GMT"
      #expect(HTTPDate(text)?.time.seconds == days * 86_400, "\(month)")
    }
  }

  @Test("of another form, or with a number out of its range, is none")
  func refused() {
    for text in [
      "", "Sun, 06 Nov 1994 08:49:37 GM", "Sun, 06 Nov 1994 08:49:37 GMTX",
      "Sun, 06 Nov 1994 08:49:37 UTC", "Sun. 06 Nov 1994 08:49:37 GMT",
      "Sun, 06 Nov 1994 08.49:37 GMT", "Sun, 06 Nov 1994 08:49.37 GMT",
      "Sun, 06 Nop 1994 08:49:37 GMT", "Sun, 06 anF 1994 08:49:37 GMT",
      "Sun, 00 Nov 1994 08:49:37 GMT", "Sun, 32 Nov 1994 08:49:37 GMT",
      "Sun, 06 Nov 1969 08:49:37 GMT", "Sun, 06 Nov 1994 24:49:37 GMT",
      "Sun, 06 Nov 1994 08:60:37 GMT", "Sun, 06 Nov 1994 08:49:61 GMT",
      "Sun, /6 Nov 1994 08:49:37 GMT", "Sun, 0: Nov 1994 08:49:37 GMT",
      "Sun, 06 Nov 199x 08:49:37 GMT", "Sun, 06 Nov 1994 0x:49:37 GMT",
      "Sun, 06 Nov 1994 08:4x:37 GMT", "Sun, 06 Nov 1994 08:49:3x GMT",
    ] { #expect(HTTPDate(text) == nil, "\(text)") }
  }
}
