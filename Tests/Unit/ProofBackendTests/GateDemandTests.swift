// SPDX-License-Identifier: Apache-2.0

import ProofJOSE
import ProofModel
import Testing

@testable import ProofBackend

/// Demands of an API, byte by byte as the page gives them.
@Suite struct GateDemandTests {
  private static let now: UnixTime = 1_900_000_000

  private static func key(_ number: UInt8 = 7, _ byte: UInt8 = 5) -> GateKey {
    GateKey(SecretBytes(copying: [UInt8](repeating: byte, count: 32).span), number: number)
  }

  /// A demand with the page's tag over bytes that a test chooses.
  private static func signed(_ said: [UInt8], tag: Int = 32) -> String {
    let mac = key().mac("pfc1.demand.....", said).bytes
    return Base64.encode(said, .url) + "." + Base64.encode(Array(mac.prefix(tag)), .url)
  }

  private static func read(_ text: String) -> (demand: GateDemand, moment: UnixTime)? {
    var moment: UnixTime = 0
    return GateDemand(text, with: GateKeySet([key(1, 9), key()]), moment: &moment).map {
      ($0, moment)
    }
  }

  private static func text(_ changes: [String: JSONValue?] = [:]) -> String {
    var object: JSONObject = [
      "at": 1_900_000_000, "for": "a.192.0.2.1", "kind": "work", "level": 3, "seconds": 60,
    ]
    for (name, value) in changes { object[name] = value }
    return signed([0x1D, 7] + Array(JSONValue.object(object).text.utf8))
  }

  @Test(
    "A demand is written as the page says, and read with its moment",
    arguments: GateDemand.Kind.allCases)
  func whole(kind: GateDemand.Kind) throws {
    let bytes = SecretBytes(copying: [UInt8](repeating: 5, count: 32).span)
    let demand = GateDemand(kind, level: 255, of: "s.x", seconds: 86_400)
    let text = try demand.text(with: GateVerdictKey(bytes, number: 7), at: Self.now)
    let expected: JSONObject = [
      "at": 1_900_000_000, "for": "s.x", "kind": .string(kind.rawValue), "level": 255,
      "seconds": 86_400,
    ]
    #expect(text == Self.signed([0x1D, 7] + Array(JSONValue.object(expected).text.utf8)))
    let read = try #require(Self.read(text))
    #expect(read.demand == demand && read.moment == Self.now)
    #expect(["proof", "work", "memory", "person"].contains(kind.rawValue))
    let short = GateDemand(kind, of: "s.x")
    #expect(short.level == 0 && short.seconds == 3_600 && GateDemand.secondsMax == 86_400)
  }

  @Test("A demand is for the app of a verdict, or else for its client")
  func after() throws {
    var verdict = GateVerdict(reference: "r", moment: Self.now, rule: "x", passes: true)
    #expect(GateDemand(.work, after: verdict) == nil)
    verdict.client = "a.192.0.2.1"
    #expect(
      GateDemand(.work, level: 2, after: verdict) == GateDemand(.work, level: 2, of: "a.192.0.2.1"))
    verdict.app = GateVerdict.App(try GateHandle([UInt8](1...16)))
    let handle = Base64.encode([UInt8](1...16), .url)
    #expect(GateDemand(.proof, after: verdict) == GateDemand(.proof, of: "h.\(handle)"))
  }

  @Test("A demand that breaks a rule of the page is none")
  func refused() {
    #expect(Self.read(Self.text()) != nil)
    for (name, value) in [
      ("at", 0), ("for", .string(String(repeating: "c", count: 64))), ("level", 0), ("level", 255),
      ("seconds", 0), ("seconds", 86_400),
    ] as [(String, JSONValue)] { #expect(Self.read(Self.text([name: value])) != nil, "\(name)") }
    for (name, value) in [
      ("at", -1), ("at", "1"), ("for", .string(String(repeating: "c", count: 65))), ("for", 1),
      ("kind", "token"), ("kind", 1), ("level", -1), ("level", 256), ("seconds", -1),
      ("seconds", 86_401), ("seconds", 4_294_967_296),
    ] as [(String, JSONValue)] {
      #expect(Self.read(Self.text([name: value])) == nil, "\(name) \(value)")
    }
    for name in ["at", "for", "kind", "level", "seconds"] {
      #expect(Self.read(Self.text([name: JSONValue?.none])) == nil, "\(name)")
    }
    let json = Array(#"{"at":1,"for":"a","kind":"work","level":1,"seconds":1}"#.utf8)
    #expect(Self.read(Self.signed([0x1D, 7] + json)) != nil)
    for head in [[0x1C, 7], [0x1E, 7], [0x1D, 1], [0x1D, 8]] as [[UInt8]] {
      #expect(Self.read(Self.signed(head + json)) == nil)
    }
    for said in [[], [0x1D], [0x1D, 7], [0x1D, 7] + Array("[]".utf8)] as [[UInt8]] {
      #expect(Self.read(Self.signed(said)) == nil)
    }
    for count in [0, 16, 31] {
      #expect(Self.read(Self.signed([0x1D, 7] + json, tag: count)) == nil)
    }
    let text = Self.signed([0x1D, 7] + json)
    for other in ["", ".", text + ".", "." + text, text.replacing(".", with: ""), "?" + text] {
      #expect(Self.read(other) == nil)
    }
  }

  @Test("A demand has 1024 characters at most")
  func length() {
    func padded(_ count: Int) -> String {
      let json = #"{"at":1,"for":"a","kind":"work","level":1,"pad":"","seconds":1}"#
      let pad = json.replacing("\"\",", with: "\"" + String(repeating: "p", count: count) + "\",")
      return Self.signed([0x1D, 7] + Array(pad.utf8))
    }
    var longest = 0
    while padded(longest + 1).utf8.count <= 1_024 { longest += 1 }
    #expect(padded(longest).utf8.count == 1_024)
    #expect(Self.read(padded(longest)) != nil && Self.read(padded(longest + 1)) == nil)
  }

  @Test("A verdict key has 32 bytes, and is the host's")
  func keys() throws {
    for count in [31, 33] {
      #expect(
        throws: ProofError.wrongLength(of: "verdict key", expected: 32...32, actual: count)
      ) { try GateVerdictKey(.random(count: count), number: 1) }
    }
    let secrets = try [1, 2].map { number in
      try GateOwnSecret(
        SecretBytes(copying: [UInt8](repeating: number, count: 32).span), number: number)
    }
    let own = try GateOwnKeys(of: .random(), secrets, active: 2)
    #expect(own.verdictKeys(for: "a").map(\.key.number) == [2, 1])
  }
}
