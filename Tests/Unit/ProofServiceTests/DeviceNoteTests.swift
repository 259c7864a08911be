// SPDX-License-Identifier: Apache-2.0

import ProofJOSE
import ProofModel
import Testing

@testable import ProofService

/// The note about a device: reading what is there, bounds of what is written, and machines.
@Suite struct DeviceNoteTests {
  private static let digest = Base64.encode([UInt8](repeating: 1, count: 16))
  private static let parts = Base64.encode([UInt8](repeating: 2, count: 32))

  private func read(_ text: String) -> DeviceNote? { DeviceNote(Array(text.utf8)) }

  private func machine(_ more: String = "", seen: String = "5") -> String {
    #"{"machine":"\#(Self.digest)","seen":\#(seen)\#(more)}"#
  }

  @Test func `a note needs its machines, each with a digest and a time`() throws {
    let whole = try #require(
      read(#"{"machines":[\#(machine(#","parts":"\#(Self.parts)""#)),\#(machine(seen: "9"))]}"#))
    #expect(whole.machines.map(\.lastSeen) == [5, 9])
    #expect(
      whole.machines.map { $0.sight.digest }
        == [[UInt8]](
          repeating: [UInt8](repeating: 1, count: 16), count: 2))
    #expect(whole.machines.map { $0.sight.parts } == [[UInt8](repeating: 2, count: 32), nil])
    #expect(whole.key == nil && whole.copyReported == nil)
    // Parts of another length, and members of other types, are left out.
    for more in [#","parts":"AAAA""#, #","parts":5"#, #","other":1"#] {
      let note = try #require(read(#"{"machines":[\#(machine(more))]}"#))
      #expect(note.machines.count == 1 && note.machines[0].sight.parts == nil, "\(more)")
    }
    for text in [
      "", "[]", "{}", "{", #"{"machines":{}}"#, #"{"machines":[1]}"#, #"{"machines":[{}]}"#,
      #"{"machines":[{"machine":"\#(Self.digest)"}]}"#, #"{"machines":[{"seen":5}]}"#,
      #"{"machines":[{"machine":"?","seen":5}]}"#,
      #"{"machines":[\#(machine(seen: "\"5\""))]}"#, #"{"machines":[\#(machine(seen: "0.5"))]}"#,
      #"{"machines":[\#(machine()),{}]}"#,
    ] { #expect(read(text) == nil, "\(text)") }
  }

  @Test func `a note keeps the time of a copy and its handles, and forgets handles of no gate`()
    throws
  {
    var note = try #require(
      read(#"{"copy":7,"handles":{"door":"a","gone":"b"},"machines":[]}"#))
    #expect(note.copyReported == 7)
    #expect(
      String(decoding: note.bytes, as: UTF8.self)
        == #"{"copy":7,"handles":{"door":"a","gone":"b"},"machines":[]}"#)
    let handle = try GateHandle([UInt8](1...16))
    note.note(handle, at: "side", of: ["door", "side"])
    guard case .object(let object) = try JSONValue(parsing: note.bytes.span),
      case .object(let handles)? = object["handles"]
    else { throw NoAdmission(outcome: .badPayload) }
    #expect(handles == ["door": "a", "side": .string(handle.description)])
    let plain = try #require(read(#"{"machines":[],"copy":"7","handles":[]}"#))
    #expect(plain.copyReported == nil)
    #expect(String(decoding: plain.bytes, as: UTF8.self) == #"{"machines":[]}"#)
    #expect(String(decoding: DeviceNote().bytes, as: UTF8.self) == #"{"machines":[]}"#)
  }

  @Test func `a machine is another one only by a source that both show`() {
    func sight(_ digest: UInt8, _ parts: [UInt8]?) -> MachineSight {
      MachineSight(
        digest: [digest],
        parts: parts.map { $0.flatMap { [UInt8](repeating: $0, count: 8) } })
    }
    for (one, other, isOther) in [
      ([1, 2, 3, 4], [1, 2, 3, 4], false), ([1, 2, 3, 4], [9, 2, 3, 4], true),
      ([1, 2, 3, 4], [1, 2, 3, 9], true), ([1, 2, 3, 4], [0, 2, 3, 4], false),
      ([1, 0, 0, 0], [0, 2, 3, 4], false), ([0, 0, 0, 4], [0, 0, 0, 5], true),
      (nil, [1, 2, 3, 4], true), ([1, 2, 3, 4], nil, true),
    ] as [([UInt8]?, [UInt8]?, Bool)] {
      #expect(
        sight(1, one).isOther(than: sight(2, other)) == isOther, "\(one ?? []) \(other ?? [])")
      #expect(!sight(1, one).isOther(than: sight(1, other)), "one digest is one machine")
    }
    // Differing in the last byte of a part is enough.
    var last = [UInt8](repeating: 1, count: 32)
    last[31] = 2
    let first = MachineSight(digest: [1], parts: [UInt8](repeating: 1, count: 32))
    #expect(first.isOther(than: MachineSight(digest: [2], parts: last)))
    for count in [0, 31, 33, 40] {
      #expect(MachineSight(digest: [1], parts: [UInt8](repeating: 1, count: count)).parts == nil)
    }
  }

  @Test func `a device is active elsewhere up to the last second of the window`() throws {
    let note = try #require(read(#"{"machines":[\#(machine(seen: "100"))]}"#))
    let (same, other) = (
      MachineSight(digest: [UInt8](repeating: 1, count: 16), parts: nil),
      MachineSight(digest: [3], parts: nil)
    )
    for (time, isActive) in [(99, true), (100, true), (101, false)] as [(UnixTime, Bool)] {
      #expect(note.isActiveElsewhere(than: other, since: time) == isActive)
      #expect(!note.isActiveElsewhere(than: same, since: time))
    }
  }

  /// The note after a report with these statements.
  private func noted(
    _ properties: [AttestationReport.Property], version: String = "0.1.0", tracks: Bool = true,
    _ change: (inout AttestationReport.Subject) -> Void = { _ in }
  ) throws -> JSONObject {
    let bench = try Bench(policy: [.addressTracking: tracks ? "on" : "off"])
    var app = bench.app
    app.sdkVersion = version
    var subject = AttestationReport.Subject(.token, name: Bench.api)
    subject.properties = properties
    change(&subject)
    let answer = try bench.attest(app, subject)
    let row = try #require(try bench.store.device(app.device))
    guard case .object(let note) = try JSONValue(parsing: row.note.span) else {
      throw NoAdmission(outcome: .badPayload)
    }
    #expect(note.text("arc") == answer.responseCode && note.text("keyID") == app.key.id.description)
    #expect(note.text("app") == app.digest.description && note.text("appName") == "door 1.0")
    return note
  }

  @Test func `a note has what the app said, and leaves out what is absent`() throws {
    let note = try noted([.init("os", "a\"b\\\u{7F}é")]) { $0.userProperty = "u" }
    #expect(
      note.members.map(\.name) == [
        "app", "appName", "arc", "ip", "keyID", "machines", "passed", "properties", "said", "sdk",
        "userProperty",
      ])
    #expect(note["said"] == ["os": "a\"b\\\u{7F}é"] && note.flag("passed") == true)
    #expect(note.text("ip") == "192.0.2.7" && note.text("sdk") == "0.1.0")
    #expect(note.texts("properties") == ["first-fetch"] && note.text("userProperty") == "u")
    let least = try noted([], tracks: false)
    for name in ["said", "ip", "userProperty", "withheld", "copy", "handles", "key"] {
      #expect(least[name] == nil, "\(name)")
    }
    let copy = try noted([.init(Ratchet.copyProperty, "1")])
    #expect(copy.integer("copy") == 1_800_000_000)
  }

  @Test func `statements beyond 4,096 bytes are left out, and a later one that fits is kept`()
    throws
  {
    func said(_ properties: [AttestationReport.Property]) throws -> [String] {
      guard case .object(let said)? = try noted(properties)["said"] else { return [] }
      return said.members.map(\.name)
    }
    func fill(_ name: String, _ count: Int) -> AttestationReport.Property {
      .init(name, String(repeating: "x", count: count - 7 - name.utf8.count))
    }
    // Seven bytes of marks, a name and a value make 4,096 bytes in four.
    let three = [fill("a", 1_024), fill("b", 1_024), fill("c", 1_024)]
    #expect(try said(three + [fill("d", 1_024)]) == ["a", "b", "c", "d"])
    #expect(try said(three + [fill("d", 1_025), fill("e", 1_024)]) == ["a", "b", "c", "e"])
    #expect(
      try said(three + [fill("d", 1_016), fill("e", 9), fill("f", 8)]) == ["a", "b", "c", "d", "f"])
    // A quotation mark is two bytes of JSON.
    let quoted = AttestationReport.Property("d", String(repeating: "\"", count: 508))
    #expect(try said(three + [quoted, fill("e", 8)]) == ["a", "b", "c", "d"])
  }

  @Test func `a version of the SDK is noted up to 64 characters`() throws {
    #expect(try noted([], version: Desk.long).text("sdk") == String(repeating: "x", count: 64))
    let short = String(repeating: "x", count: 63)
    #expect(try noted([], version: short).text("sdk") == short)
  }
}
