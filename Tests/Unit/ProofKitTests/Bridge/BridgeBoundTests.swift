// SPDX-License-Identifier: Apache-2.0

import ProofModel
import Testing

@testable import ProofKit

@Suite("The bridge for pages, at its bounds")
struct BridgeBoundTests {
  @Test("a message of 4,096 bytes is read, and a longer one is not")
  func longest() throws {
    let stage = try GateStage()
    let bridge = PageBridge(stage.session, origins: [try .init("https://shop.example.com"): [3301]])
    let message = #"{"origin":"https://shop.example.com","event":3301}"#
    for (count, isRead) in [(4_096, true), (4_097, false)] {
      let text = message + String(repeating: " ", count: count - message.utf8.count)
      let reply = bridge.reply(to: text) {
        .init(url: "https://shop.example.com/", isTop: true)
      }
      #expect(reply.hasPrefix(isRead ? #"{"z":""# : #"{"error":"message"}"#), "\(count)")
    }
  }

  @Test("an address with a blank, a control character or a backslash is no page's, others are")
  func addresses() {
    for (rest, isTaken) in [
      ("!", true), ("[", true), ("]", true), ("~", true), (" ", false), ("\u{1F}", false),
      ("\\", false), ("\t", false),
    ] {
      let origin = PageBridge.Origin(of: "https://shop.example.com/a\(rest)b")
      #expect((origin?.description == "https://shop.example.com") == isTaken, "\(rest)")
    }
  }
}
