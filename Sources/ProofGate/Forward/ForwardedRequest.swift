package import ProofBackend
internal import ProofModel
package import ProofRequest

/// How a proxy tells a gate about the request that it has received.
package enum ForwardStyle: String, Sendable, CaseIterable {
  /// `X-Original-Method`, `-URI`, `-Host` and `-Scheme`, as docs/GATE.md sets them for nginx and HAProxy.
  case original = "x-original"
  /// `X-Forwarded-Method`, `-Uri`, `-Host` and `-Proto`, as Caddy's `forward_auth` sets them.
  case forwarded = "x-forwarded"

  var method: String { rawValue + "-method" }
  var target: String { rawValue + "-uri" }
  var host: String { rawValue + "-host" }
  var scheme: String { self == .original ? "x-original-scheme" : "x-forwarded-proto" }

  /// The fields of a question about a request over TLS.
  package func told(
    method: String, target: String, host: String
  ) -> [(name: String, value: String)] {
    [(self.method, method), (self.target, target), (self.host, host), (scheme, "https")]
  }

  /// The length of the client's body, where the proxy tells it.
  var length: String { rawValue + "-content-length" }
  /// The coding of the client's body, where the proxy tells it.
  var coding: String { rawValue + "-transfer-encoding" }
}

/// A request that a proxy asks a gate about, as the client has sent it.
package struct ForwardedRequest: Sendable, Hashable {
  /// The field by which a proxy names a route.
  package static let routeField = "proof-route"

  /// The settings of the gate.
  package struct Door: Sendable {
    /// How the proxy tells about the request.
    package var style: ForwardStyle
    /// Whether the proxy names routes. If not, a question with the field is refused.
    package var takesRouteNames: Bool
    /// The fields that apps send, beside those of every account.
    package var fields: RequestFields

    package init(
      _ style: ForwardStyle = .original, takesRouteNames: Bool = false,
      fields: RequestFields = RequestFields()
    ) {
      self.style = style
      self.takesRouteNames = takesRouteNames
      self.fields = fields
    }
  }

  /// Method, authority, raw target and the client's header fields.
  package let head: RequestHead
  /// The route's name by the proxy; nil if it names none.
  package let route: String?

  /// Reads the header of a proxy's question. Ask only for a connection from a proxy that is trusted.
  ///
  /// - Parameters:
  ///   - lines: The lines of the question's header.
  ///   - door: The settings of the gate.
  /// - Throws: ``ForwardRefusal``.
  package init(
    _ lines: [(name: String, value: String)], at door: Door
  ) throws(ForwardRefusal) {
    let style = door.style
    let told = [style.method, style.target, style.host, style.scheme]
    var values: [String: String] = [:]
    var fields = HeaderFields()
    for (sent, value) in lines {
      let name = sent.lowercased()
      // Some servers read an underscore as a hyphen: a client must not get a second spelling past the proxy.
      let plain = String(decoding: name.utf8.map { $0 == 0x5F ? 0x2D : $0 }, as: UTF8.self)
      let isTold = told.contains { $0 == plain } || plain == style.length || plain == style.coding
      if isTold || plain == Self.routeField && door.takesRouteNames {
        guard plain == name, values.updateValue(value, forKey: name) == nil else {
          throw .repeated(plain)
        }
      } else if !Self.isOfQuestion(name) {
        try Self.checkOwner(plain, name, door)
        try Self.append(name, value, to: &fields)
      }
    }
    // These two belong to the client's request, under their own names.
    for (field, name) in [("content-length", style.length), ("transfer-encoding", style.coding)] {
      if let value = values[name], !value.isEmpty { try Self.append(field, value, to: &fields) }
    }
    let parts = try told.map { name throws(ForwardRefusal) in
      guard let value = values[name], !value.isEmpty else { throw .missing(name) }
      return value
    }
    guard parts[3] == RequestHead.Scheme.https.rawValue else { throw .scheme(parts[3]) }
    do throws(RequestFormatError) {
      head = try RequestHead(
        method: parts[0], scheme: .https, authority: parts[2], target: parts[1], fields: fields)
    } catch {
      throw .format(error)
    }
    let found = TargetRule.found(in: head)
    guard found.isEmpty else { throw .ambiguousTarget(found) }
    guard !Self.hasEncodedLetter(head.path) else { throw .encodedLetter }
    route = values[Self.routeField].flatMap { $0.isEmpty ? nil : $0 }
  }

  // MARK: Fields

  /// Fields of the question itself, which a proxy sets anew.
  private static func isOfQuestion(_ name: String) -> Bool {
    name == "host" || name == "connection" || name == "content-length"
      || name == "transfer-encoding"
  }

  /// Refuses fields that only a gate or its proxy sends, and fields that change the method unseen.
  private static func checkOwner(
    _ plain: String, _ name: String, _ door: Door
  ) throws(ForwardRefusal) {
    if plain == "x-method-override" || plain == "x-http-method" { throw .methodOverride(name) }
    guard plain.utf8.starts(with: "proof-".utf8) else {
      if plain == "x-http-method-override", plain != name { throw .methodOverride(name) }
      return
    }
    let own = [
      StandardForm.accountField, "proof-event", ClearanceField.headerName, door.fields.compact,
      door.fields.token, door.fields.digest ?? "",
    ]
    guard own.contains(where: { $0 == name }) else { throw .foreignField(name) }
  }

  private static func append(
    _ name: String, _ value: String, to fields: inout HeaderFields
  ) throws(ForwardRefusal) {
    do throws(RequestFormatError) { try fields.append(name, value) } catch { throw .format(error) }
  }

  /// Whether a path without broken escapes encodes a character that needs no encoding.
  private static func hasEncodedLetter(_ path: Substring) -> Bool {
    var rest = path.utf8[...]
    while let byte = rest.popFirst() {
      guard byte == UInt8(ascii: "%") else { continue }
      let pair = String(decoding: rest.prefix(2), as: UTF8.self)
      rest = rest.dropFirst(2)
      guard let decoded = UInt8(pair, radix: 16) else { return true }
      if isUnreserved(decoded) { return true }
    }
    return false
  }

  private static func isUnreserved(_ byte: UInt8) -> Bool {
    switch byte {
    case UInt8(ascii: "a")...UInt8(ascii: "z"), UInt8(ascii: "A")...UInt8(ascii: "Z"),
      UInt8(ascii: "0")...UInt8(ascii: "9"), UInt8(ascii: "-"), UInt8(ascii: "."),
      UInt8(ascii: "_"), UInt8(ascii: "~"):
      true
    default: false
    }
  }
}

/// Spellings that a gate's parts share.
enum RequestDoor {
  /// The authority as a gate spells it; nil for a text that is none.
  static func authority(_ text: String) -> String? {
    (try? RequestHead(method: "GET", scheme: .https, authority: text, target: "/"))?.authority
  }
}
