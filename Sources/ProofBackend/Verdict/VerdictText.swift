// SPDX-License-Identifier: Apache-2.0

internal import ProofJOSE
internal import ProofModel

/// Writes the JSON object of a verdict into one array of bytes: a gate makes a verdict for each request.
///
/// The caller gives the members in the order of their names, as ``JSONObject`` has them.
struct VerdictText {
  private var bytes: [UInt8]
  private var isFirst = true

  /// Begins an object behind other bytes.
  init(_ head: [UInt8]) {
    bytes = []
    bytes.reserveCapacity(640)
    bytes += head
    bytes.append(UInt8(ascii: "{"))
  }

  /// All bytes, with the end of the object.
  var ended: [UInt8] {
    consuming get {
      bytes.append(UInt8(ascii: "}"))
      return bytes
    }
  }

  mutating func member(_ name: String, _ value: Bool) {
    begin(name)
    bytes += (value ? "true" : "false").utf8
  }

  mutating func member(_ name: String, _ value: Int64) {
    begin(name)
    bytes += "\(value)".utf8
  }

  mutating func member(_ name: String, _ value: String) {
    begin(name)
    let isPlain = !value.utf8.contains { byte in
      byte < 0x20 || byte == UInt8(ascii: "\"") || byte == UInt8(ascii: "\\")
    }
    guard isPlain else {
      bytes += JSONValue.string(value).utf8
      return
    }
    bytes.append(UInt8(ascii: "\""))
    bytes += value.utf8
    bytes.append(UInt8(ascii: "\""))
  }

  mutating func member(_ name: String, base64 value: Span<UInt8>) {
    begin(name)
    bytes.append(UInt8(ascii: "\""))
    Base64.append(value, .url, to: &bytes)
    bytes.append(UInt8(ascii: "\""))
  }

  mutating func member(_ name: String, _ value: JSONValue) {
    begin(name)
    bytes += value.utf8
  }

  /// Writes an object.
  mutating func member(_ name: String, _ write: (inout VerdictText) -> Void) {
    begin(name)
    bytes.append(UInt8(ascii: "{"))
    isFirst = true
    write(&self)
    isFirst = false
    bytes.append(UInt8(ascii: "}"))
  }

  private mutating func begin(_ name: String) {
    if !isFirst { bytes.append(UInt8(ascii: ",")) }
    isFirst = false
    bytes.append(UInt8(ascii: "\""))
    bytes += name.utf8
    bytes += "\":".utf8
  }
}
