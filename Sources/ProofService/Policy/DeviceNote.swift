// SPDX-License-Identifier: Apache-2.0

internal import ProofBytes
internal import ProofJOSE
internal import ProofModel

/// The service's note about a device, updated at each report: JSON, which operators see.
///
/// Each report reads a note and writes one. So a note is read from the parse's index, which copies nothing, and
/// written member by member.
struct DeviceNote: Sendable {
  /// One machine that the device was seen on.
  struct Machine: Sendable, Hashable {
    var sight: MachineSight
    var lastSeen: UnixTime
  }

  /// The most machines that are noted: four, each as four collection modes show it, so that reports
  /// of one machine under other modes push no other machine out.
  static let machineMax = 16
  /// The most bytes of JSON kept of the app's own statements. The rest is left out, because a note
  /// that is too long to be read would be lost, and its machines with it.
  static let saidMax = 4_096
  /// The most characters kept of the SDK's version.
  static let versionMax = 64

  private(set) var machines: [Machine] = []
  /// The installation's key; nil until it has shown one.
  var key: InstallationKeyNote?
  /// The time of the latest report that told of a copy; nil for none.
  private(set) var copyReported: UnixTime?
  /// The newest handle of the installation at each gate, by the gate's name: an operator finds the device of a
  /// handle in a gate's log.
  private var handles = JSONObject()
  /// The latest report; nil in a note that was only read.
  private var shown: Shown?

  /// The facts of a report that are written and not read.
  private struct Shown {
    let app: String
    let appName: String?
    let code: String
    let address: String?
    let keyID: String
    let isPassed: Bool
    let properties: [String]
    let said: JSONObject
    let version: String
    let userProperty: String
    let withheld: String?
  }

  private static let limits = JSONLimits(
    depth: 16, bytes: 262_144, values: 16_384, numberCharacters: 64)

  /// The note of a device that was not seen before.
  init() {}

  /// Reads a note; nil for bytes that are none.
  init?(_ bytes: [UInt8]) {
    let text = bytes.span
    guard let index = try? JSONIndex(parsing: text, within: Self.limits),
      index.nodes[0].kind == .object
    else { return nil }
    var hasMachines = false
    for (name, value) in index.members(of: 0) {
      let node = index.nodes[value]
      if node.kind == .array, index.string(at: name, is: "machines", in: text) {
        hasMachines = true
        for element in index.elements(of: value) {
          guard let machine = Machine(index, at: element, in: text) else { return nil }
          machines.append(machine)
        }
      } else if node.kind == .object, index.string(at: name, is: "key", in: text) {
        guard let key = Self.object(node, text).flatMap({ InstallationKeyNote($0) }) else {
          return nil
        }
        self.key = key
      } else if node.kind == .object, index.string(at: name, is: "handles", in: text) {
        handles = Self.object(node, text) ?? JSONObject()
      } else if node.kind == .number, index.string(at: name, is: "copy", in: text) {
        copyReported = UnixTime(text: index.spelling(at: value, in: text))
      }
    }
    guard hasMachines else { return nil }
  }

  private static func object(_ node: JSONIndex.Node, _ text: Span<UInt8>) -> JSONObject? {
    guard case .object(let object) = try? JSONValue(parsing: text.extracting(node.start..<node.end))
    else { return nil }
    return object
  }

  /// Whether another machine with the same storage secret was seen recently.
  func isActiveElsewhere(than machine: MachineSight, since time: UnixTime) -> Bool {
    machines.contains { $0.lastSeen >= time && $0.sight.isOther(than: machine) }
  }

  /// Notes a handle, and forgets those of gates that are gone.
  mutating func note(_ handle: GateHandle, at gate: String, of gates: some Sequence<String>) {
    let gates = Set(gates)
    for (name, _) in handles.members where !gates.contains(name) { handles[name] = nil }
    handles.set(gate, handle.description)
  }

  /// Notes a report.
  mutating func note(
    _ report: AttestationReport, _ judgement: Judgement, key: InstallationKeySighting,
    code: String, peer: String?, at now: UnixTime
  ) {
    self.key = key.note
    if report.tellsOfCopy { copyReported = now }
    let machine = judgement.machine
    machines.removeAll { $0.sight.digest == machine.digest }
    machines.insert(Machine(sight: machine, lastSeen: now), at: 0)
    machines.removeLast(max(0, machines.count - Self.machineMax))

    var said = JSONObject()
    var room = Self.saidMax
    for property in report.subject.properties {
      // Braces, quotation marks and a colon.
      let size = 7 + NoteWriter.count(of: property.name) + NoteWriter.count(of: property.value)
      guard size <= room else { continue }
      room -= size
      said.set(property.name, property.value)
    }
    shown = Shown(
      app: judgement.app.description, appName: judgement.registration?.name, code: code,
      address: peer, keyID: report.keyID.description, isPassed: judgement.isPassed,
      properties: judgement.properties.names, said: said,
      version: String(report.sdkVersion.unicodeScalars.prefix(Self.versionMax)),
      userProperty: report.subject.userProperty,
      withheld: report.withheld.isEmpty ? nil : report.withheld.text)
  }

  /// The text, with its members in the order of their names.
  var bytes: [UInt8] {
    var writer = NoteWriter()
    writer.member("app", shown?.app)
    writer.member("appName", shown?.appName)
    writer.member("arc", shown?.code)
    writer.member("copy", copyReported?.seconds)
    writer.member("handles", handles)
    writer.member("ip", shown?.address)
    if let key { writer.member("key", key.fields) }
    writer.member("keyID", shown?.keyID)
    writer.list("machines", machines) { writer, machine in
      writer.object { writer in
        writer.member("machine", base64: machine.sight.digest)
        if let parts = machine.sight.parts { writer.member("parts", base64: parts) }
        writer.member("seen", machine.lastSeen.seconds)
      }
    }
    if let shown {
      writer.member("passed", shown.isPassed)
      writer.list("properties", shown.properties) { $0.text($1) }
      writer.member("said", shown.said)
      writer.member("sdk", shown.version)
      writer.member("userProperty", shown.userProperty.isEmpty ? nil : shown.userProperty)
      writer.member("withheld", shown.withheld)
    }
    return writer.end()
  }
}

extension UnixTime {
  /// A number of whole seconds; nil for another text.
  fileprivate init?(text: String) {
    guard let seconds = Int64(text) else { return nil }
    self.init(seconds: seconds)
  }
}

extension DeviceNote.Machine {
  /// Reads one entry of a note; nil for bytes that are none.
  fileprivate init?(_ index: JSONIndex, at node: Int, in text: Span<UInt8>) {
    guard index.nodes[node].kind == .object else { return nil }
    var digest: [UInt8]?
    var parts: [UInt8]?
    var time: UnixTime?
    for (name, value) in index.members(of: node) {
      switch index.nodes[value].kind {
      case .string where index.string(at: name, is: "machine", in: text):
        digest = Base64.decode(index.bytes(at: value, in: text).span)
      case .string where index.string(at: name, is: "parts", in: text):
        parts = Base64.decode(index.bytes(at: value, in: text).span)
      case .number where index.string(at: name, is: "seen", in: text):
        time = UnixTime(text: index.spelling(at: value, in: text))
      default: continue
      }
    }
    guard let digest, let time else { return nil }
    self.init(sight: MachineSight(digest: digest, parts: parts), lastSeen: time)
  }
}

extension AttestationReport {
  /// Whether hardware has told the app of a copy since its last report.
  var tellsOfCopy: Bool {
    subject.properties.contains { $0.name == Ratchet.copyProperty }
  }
}

/// Writes the object of a note.
private struct NoteWriter {
  private var text: [UInt8] = [UInt8(ascii: "{")]

  init() { text.reserveCapacity(1_024) }

  mutating func end() -> [UInt8] {
    text.append(UInt8(ascii: "}"))
    return text
  }

  /// The bytes of a text between its quotation marks.
  static func count(of text: String) -> Int {
    text.utf8.allSatisfy(isPlain) ? text.utf8.count : JSONQuoting.quoted(text).utf8.count - 2
  }

  private static func isPlain(_ byte: UInt8) -> Bool {
    byte >= 0x20 && byte != UInt8(ascii: "\"") && byte != UInt8(ascii: "\\") && byte != 0x7F
  }

  mutating func text(_ value: String) {
    guard value.utf8.allSatisfy(Self.isPlain) else {
      text += JSONQuoting.quoted(value).utf8
      return
    }
    text.append(UInt8(ascii: "\""))
    text += value.utf8
    text.append(UInt8(ascii: "\""))
  }

  mutating func object(_ body: (inout NoteWriter) -> Void) {
    text.append(UInt8(ascii: "{"))
    body(&self)
    text.append(UInt8(ascii: "}"))
  }

  /// The names of members are the service's own: nothing in them needs an escape.
  private mutating func name(_ name: String) {
    if text.last != UInt8(ascii: "{") { text.append(UInt8(ascii: ",")) }
    text.append(UInt8(ascii: "\""))
    text += name.utf8
    text.append(UInt8(ascii: "\""))
    text.append(UInt8(ascii: ":"))
  }

  mutating func member(_ name: String, _ value: String?) {
    guard let value else { return }
    self.name(name)
    text(value)
  }

  mutating func member(_ name: String, base64 bytes: [UInt8]) {
    self.name(name)
    text.append(UInt8(ascii: "\""))
    Base64.append(bytes.span, .standard, to: &text)
    text.append(UInt8(ascii: "\""))
  }

  mutating func member(_ name: String, _ value: Int64?) {
    guard let value else { return }
    self.name(name)
    text += "\(value)".utf8
  }

  mutating func member(_ name: String, _ value: Bool) {
    self.name(name)
    text += (value ? "true" : "false").utf8
  }

  /// An object without members is left out.
  mutating func member(_ name: String, _ value: JSONObject) {
    guard !value.members.isEmpty else { return }
    self.name(name)
    text += JSONValue.object(value).text.utf8
  }

  mutating func list<Element>(
    _ name: String, _ elements: [Element], _ body: (inout NoteWriter, Element) -> Void
  ) {
    self.name(name)
    text.append(UInt8(ascii: "["))
    for (place, element) in elements.enumerated() {
      if place > 0 { text.append(UInt8(ascii: ",")) }
      body(&self, element)
    }
    text.append(UInt8(ascii: "]"))
  }
}
