// SPDX-License-Identifier: Apache-2.0

internal import ProofBackend
internal import ProofJOSE
internal import ProofModel
internal import ProofRequest

/// The request of a page for one challenge: where the challenge comes from, and how the page looks. Parsed once, from a
/// query, a form or JSON.
struct PageWish: Sendable, Hashable {
  /// The layout of the page.
  enum Layout: String, Sendable {
    /// 300 by 230 pixels; it does not scale.
    case embedded
    /// 360 by 360 pixels; it scales down.
    case popup
  }

  /// A presenter's server on the person's machine, which gets the result.
  struct Loopback: Sendable, Hashable {
    let port: UInt16
    let state: String
  }

  let challenge: String
  let method: String
  let target: String
  let handle: GateHandle?
  var layout = Layout.popup
  var language: String?
  var back: String?
  var isDismissible = false
  var origin: String?
  var loopback: Loopback?
  /// Whether the page is made for browsers without script.
  var isPlain = false

  static let names: Set<String> = [
    "challenge", "method", "target", "handle", "layout", "language", "return", "dismissible",
    "origin", "loopback", "state", "script",
  ]

  /// Reads names and values; nil if a value is missing or malformed, or a name is not known.
  init?(_ values: [String: String], other: Set<String> = []) {
    guard values.keys.allSatisfy({ Self.names.contains($0) || other.contains($0) }),
      let challenge = values["challenge"], let method = values["method"],
      let target = values["target"],
      method.utf8.count <= 32, target.utf8.count <= 8192
    else { return nil }
    (self.challenge, self.method, self.target) = (challenge, method, target)
    if let text = values["handle"] {
      guard text.utf8.count == 22, let bytes = Base64.decode(text, .url),
        let handle = try? GateHandle(bytes)
      else { return nil }
      self.handle = handle
    } else {
      handle = nil
    }
    guard readLook(values), readHost(values) else { return nil }
  }

  private mutating func readLook(_ values: [String: String]) -> Bool {
    if let text = values["layout"] {
      guard let layout = Layout(rawValue: text) else { return false }
      self.layout = layout
    }
    if let text = values["language"] {
      guard (1...35).contains(text.utf8.count), text.utf8.allSatisfy(Self.isTagByte) else {
        return false
      }
      language = text
    }
    for (name, yes) in [("dismissible", "yes"), ("script", "no")] {
      guard let text = values[name] else { continue }
      guard text == "yes" || text == "no" else { return false }
      if name == "script" { isPlain = text == yes } else { isDismissible = text == yes }
    }
    return true
  }

  private mutating func readHost(_ values: [String: String]) -> Bool {
    if let text = values["return"] {
      guard Self.isLocal(text) else { return false }
      back = text
    }
    if let text = values["origin"] {
      guard PageSettings.isOrigin(text) else { return false }
      origin = text
    }
    guard let text = values["loopback"] else { return values["state"] == nil }
    // Only an app has a server on the person's machine that waits for a result.
    guard handle != nil, (4...5).contains(text.utf8.count), let port = UInt16(text), port >= 1024,
      String(port) == text,
      let state = values["state"], (16...128).contains(state.utf8.count),
      state.utf8.allSatisfy(Self.isTagByte)
    else { return false }
    loopback = Loopback(port: port, state: state)
    return true
  }

  /// Letters, digits, hyphen and underscore.
  private static func isTagByte(_ byte: UInt8) -> Bool {
    switch byte {
    case UInt8(ascii: "a")...UInt8(ascii: "z"), UInt8(ascii: "A")...UInt8(ascii: "Z"),
      UInt8(ascii: "0")...UInt8(ascii: "9"), UInt8(ascii: "-"), UInt8(ascii: "_"):
      true
    default: false
    }
  }

  /// Whether a text is a path of this host, and every browser reads it so: visible ASCII, one slash at its start, no
  /// backslash. The gate's own pages are none: they would answer a person who has just passed.
  static func isLocal(_ text: String) -> Bool {
    let bytes = Array(text.utf8)
    return bytes.count <= 2048 && bytes.first == UInt8(ascii: "/")
      && bytes.dropFirst().first != UInt8(ascii: "/")
      && bytes.allSatisfy { (0x21...0x7E).contains($0) && $0 != UInt8(ascii: "\\") }
      && !text.utf8.starts(with: PageHandler.folder.utf8)
  }

  /// The path that a person goes on to: the one of the query, else the target of a GET.
  var next: String? {
    if let back { return back }
    return method == "GET" && handle == nil && Self.isLocal(target) ? target : nil
  }

  /// The client and request that the challenge is bound to.
  func subject(at authority: String, from address: String) throws(ProofError) -> ChallengeSubject {
    try ChallengeSubject(
      ChallengePlace(method: method, authority: authority, target: target),
      from: handle.map { .app($0) } ?? .address(address))
  }

  /// Names and values that ask for the same page with another challenge.
  func values(challenge: String, plain: Bool) -> [(name: String, value: String)] {
    var values = [
      (name: "challenge", value: challenge), (name: "method", value: method),
      (name: "target", value: target), (name: "layout", value: layout.rawValue),
    ]
    if let handle { values.append(("handle", Base64.encode(handle.bytes, .url))) }
    if let language { values.append(("language", language)) }
    if let back { values.append(("return", back)) }
    if isDismissible { values.append(("dismissible", "yes")) }
    if let origin { values.append(("origin", origin)) }
    if let loopback {
      values += [("loopback", String(loopback.port)), ("state", loopback.state)]
    }
    if plain { values.append(("script", "no")) }
    return values
  }
}
