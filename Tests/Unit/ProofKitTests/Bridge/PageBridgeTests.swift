// SPDX-License-Identifier: Apache-2.0

import Foundation
import ProofModel
import SeededRandom
import Testing

@testable import ProofKit

@Suite("The bridge for pages")
struct PageBridgeTests {
  private static let page = "https://shop.example.com/cart?x=1#y"

  private func bridge(_ stage: GateStage) throws -> PageBridge {
    PageBridge(
      stage.session,
      origins: [
        try .init("https://shop.example.com"): [3301, 3302],
        try .init("https://Pay.example.com:8443"): [3303],
        try .init("https://other.example.com"): [9],
      ])
  }

  private func message(
    _ event: String = "3301", origin: String = "https://shop.example.com", _ rest: String = ""
  ) -> String {
    #"{"origin":"\#(origin)","event":\#(event)\#(rest)}"#
  }

  private func error(
    _ bridge: PageBridge, _ message: String, _ url: String = page, isTop: Bool = true
  ) -> BridgeError? {
    do throws(BridgeError) {
      _ = try bridge.answer(message) { .init(url: url, isTop: isTop) }
      return nil
    } catch { return error }
  }

  @Test("a page on the list gets a token for its event, account and data")
  func listed() throws {
    let stage = try GateStage()
    let bridge = try bridge(stage)
    let secret = try stage.gate.open(stage.session.guarded(stage.request))
    let text = try bridge.answer(message("\"3302\"", #","account":"ada","data":"order 17 ü""#)) {
      .init(url: Self.page, isTop: true)
    }
    let answer = try #require(try JSONText.parse(Array(text.utf8)).members)
    #expect(answer.count == 1)
    let token = EventToken(text: try #require(answer["z"]?.text), cause: nil)
    let checked = try stage.gate.check(
      token, secret, account: "ada", data: Array("order 17 ü".utf8))
    #expect(checked.event == 3302)
    #expect(
      bridge.reply(to: message()) { .init(url: Self.page, isTop: true) }.hasPrefix(#"{"z":""#))
    let other = message("3303", origin: "https://pay.example.com:8443")
    #expect(error(bridge, other, "https://PAY.example.com:8443/") == nil)
  }

  @Test(
    "every page that is not on the list gets nothing",
    arguments: [
      "https://evil.example.com/", "http://shop.example.com/", "https://shop.example.com:8443/",
      "https://shop.example.com.evil.example/", "https://shop.example.com@evil.example/",
      "https://a@shop.example.com/",
      "data:text/html,x", "blob:https://shop.example.com/1", "about:blank", "about:srcdoc",
      "file:///etc/passwd", "",
      "https://", "https:///", "//shop.example.com/", "https://shop.example.com\\@evil.example/",
      "https://ѕhop.example.com/",
      "javascript:0", "https://shop.example.com:0/", "https://shop.example.com:443:443/",
      "wss://shop.example.com/",
      "https://pay.example.com/",
    ])
  func unlisted(url: String) throws {
    let stage = try GateStage()
    let bridge = try bridge(stage)
    #expect(error(bridge, message(), url) == .origin)
    let origin = PageBridge.Origin(of: url)?.description ?? url
    #expect(error(bridge, message("9", origin: origin), url) == .origin)
    #expect(error(bridge, message("3301", origin: origin), url) == .origin)
    #expect(bridge.reply(to: message()) { .init(url: url, isTop: true) } == #"{"error":"origin"}"#)
  }

  @Test("a frame, a page that is gone, and one that moves away meanwhile get nothing")
  func frames() throws {
    let stage = try GateStage()
    let bridge = try bridge(stage)
    #expect(error(bridge, message(), isTop: false) == .frame)
    #expect(throws: BridgeError.frame) { try bridge.answer(message()) { nil } }
    for second in [
      PageBridge.Frame(url: "https://evil.example.com/", isTop: true),
      .init(url: Self.page, isTop: false),
      .init(url: "https://other.example.com/", isTop: true), nil,
    ] {
      var looks = 0
      #expect(throws: BridgeError.moved) {
        try bridge.answer(message()) {
          looks += 1
          return looks == 1 ? .init(url: Self.page, isTop: true) : second
        }
      }
      #expect(looks == 2)
    }
    // The document that posted is another one than the window shows.
    #expect(error(bridge, message(origin: "https://evil.example.com")) == .origin)
    #expect(error(bridge, message(origin: "https://other.example.com")) == .origin)
    #expect(error(bridge, message(origin: "null")) == .origin)
  }

  @Test("an origin gets the events that are listed for it")
  func events() throws {
    let stage = try GateStage()
    let bridge = try bridge(stage)
    for event in ["3303", "3300", "9", "0", "65535"] {
      #expect(error(bridge, message(event)) == .event)
    }
    // Listed by the app, and unknown to the account.
    #expect(
      error(bridge, message("9", origin: "https://other.example.com"), "https://other.example.com/")
        == .event)
  }

  @Test("a message in another form, or longer than 4 KiB, is refused")
  func messages() throws {
    let stage = try GateStage()
    let bridge = try bridge(stage)
    let long = message("3301", #","data":"\#(String(repeating: "x", count: 4096))""#)
    for text in [
      "", "{}", "[]", "null", #"{"origin":"https://shop.example.com"}"#, message("3301.0"),
      message("-1"),
      message("65536"), message("\"03301\""), message("\"+3301\""), message("null"),
      message("[3301]"),
      message("3301", #","more":1"#), message("3301", #","event":3302"#),
      message("3301", #","account":7"#),
      message("3301", #","data":{}"#), message() + "x", long, message("3301", #","account":"""#),
      message("3301", #","account":"\#(String(repeating: "a", count: 129))""#),
    ] {
      #expect(error(bridge, text) == .message, "\(text.prefix(80))")
    }
    #expect(error(bridge, message("3301", #","account":null,"data":null"#)) == nil)
  }

  @Test("an app that can prove nothing gives a token in the error state")
  func errorState() throws {
    let stage = try GateStage(isStarted: false)
    let bridge = try bridge(stage)
    let text = try bridge.answer(message()) { .init(url: Self.page, isTop: true) }
    #expect(try JSONText.parse(Array(text.utf8)).members?["z"]?.text?.utf8.count == 88)
  }

  @Test(
    "the list takes exact https origins alone",
    arguments: [
      "", "shop.example.com", "http://shop.example.com", "https://", "https://shop.example.com/",
      "https://a b",
      "https://*.example.com", "https://shop.example.com?x", "HTTPS://shop.example.com",
      "https://u@shop.example.com",
      "https://shop.example.com:", "https://shop.example.com:65536", "https://xn--é.example",
      "null", "about:blank",
    ])
  func origins(text: String) {
    #expect(throws: BridgeError.origin) { try PageBridge.Origin(text) }
  }

  @Test("the script for other tools is the one of the library, and has some 50 lines")
  func script() throws {
    let file = URL(fileURLWithPath: #filePath).deletingLastPathComponent()
      .deletingLastPathComponent().deletingLastPathComponent()
      .deletingLastPathComponent().deletingLastPathComponent()
      .appendingPathComponent("Sources/ProofKit/Bridge/proofkit-bridge.js")
    #expect(try String(contentsOf: file, encoding: .utf8) == PageBridge.script)
    #expect(PageBridge.script.split(separator: "\n").count < 60)
  }
}

@Suite("Messages of pages, mutated")
struct BridgeFuzzTests {
  @Test("mutated messages and addresses give a token to the listed origin alone")
  func mutated() throws {
    var mutator = Mutator("bridge message")
    let stage = try GateStage()
    let bridge = PageBridge(stage.session, origins: [try .init("https://shop.example.com"): [3301]])
    let messages = [
      #"{"origin":"https://shop.example.com","event":3301,"account":"ada","data":"x"}"#,
      #"{"origin":"https://shop.example.com","event":"3301"}"#,
    ].map { Array($0.utf8) }
    let urls = ["https://shop.example.com/a", "https://shop.example.com"].map { Array($0.utf8) }
    for _ in 0..<5 * Mutator.rounds {
      let text = String(decoding: mutator.mutant(of: messages), as: UTF8.self)
      let reply = bridge.reply(to: text) { .init(url: "https://shop.example.com/a", isTop: true) }
      if reply.hasPrefix(#"{"z":"#) { #expect(text.utf8.contains(0x7B)) }
      let url = String(decoding: mutator.mutant(of: urls), as: UTF8.self)
      let other = bridge.reply(to: #"{"origin":"https://shop.example.com","event":3301}"#) {
        .init(url: url, isTop: true)
      }
      if other.hasPrefix(#"{"z":"#) {
        let rest = url.lowercased().dropFirst("https://shop.example.com".count).first
        #expect(url.lowercased().hasPrefix("https://shop.example.com"))
        #expect(rest.map { "/?#:".contains($0) } ?? true)
      }
    }
  }
}
