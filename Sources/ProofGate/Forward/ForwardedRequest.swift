// SPDX-License-Identifier: Apache-2.0

package import ProofBackend
internal import ProofModel
package import ProofRequest

/// How a proxy tells a gate about the request that it has received.
package enum ForwardStyle: String, Sendable, CaseIterable {
  /// `X-Original-Method`, `-URI`, `-Host` and `-Scheme`, as docs/GATE.md sets them for nginx and HAProxy.
  case original = "x-original"
  /// `X-Forwarded-Method`, `-Uri`, `-Host` and `-Proto`, as Caddy's `forward_auth` sets them.
  case forwarded = "x-forwarded"

  /// The names of the fields, made once: each question is compared with all of them.
  struct Names: Sendable {
    let method, target, host, scheme, requestID, length, coding: String

    init(_ style: String, scheme: String) {
      method = style + "-method"
      target = style + "-uri"
      host = style + "-host"
      self.scheme = scheme
      requestID = style + "-request-id"
      length = style + "-content-length"
      coding = style + "-transfer-encoding"
    }

    static let original = Names("x-original", scheme: "x-original-scheme")
    static let forwarded = Names("x-forwarded", scheme: "x-forwarded-proto")
  }

  var names: Names { self == .original ? .original : .forwarded }

  /// The fields of a question about a request over TLS.
  package func told(
    method: String, target: String, host: String
  ) -> [(name: String, value: String)] {
    let names = names
    return [
      (names.method, method), (names.target, target), (names.host, host), (names.scheme, "https"),
    ]
  }

  /// The proxy's own name of the request, where it tells one.
  package var requestID: String { names.requestID }
}

/// A request that a proxy asks a gate about, as the client has sent it.
package struct ForwardedRequest: Sendable, Hashable {
  /// The field by which a proxy names a route.
  package static let routeField = "proof-route"

  /// The field with the id of a challenge that the request answers.
  package static let challengeField = "proof-challenge"
  /// The field with the answer.
  package static let answerField = "proof-answer"
  /// The field with an event token.
  package static let eventField = "proof-event"
  /// The field with a ticket.
  package static let ticketField = "proof-ticket"

  /// The settings of the gate.
  package struct Door: Sendable {
    /// How the proxy tells about the request.
    package let style: ForwardStyle
    /// Whether the proxy names routes. If not, a question with the field is refused.
    package let takesRouteNames: Bool
    /// The fields that apps send, beside those of every account.
    package let fields: RequestFields
    /// Whether emergency tokens count. If not, a request with one is refused.
    package let takesBypass: Bool
    /// The fields below `proof-` that clients may send.
    fileprivate let clients: [String]
    /// The fields by which the proxy tells, in the order of ``Told``.
    fileprivate let told: [String]

    package init(
      _ style: ForwardStyle = .original, takesRouteNames: Bool = false,
      fields: RequestFields = RequestFields(), takesBypass: Bool = false
    ) {
      self.takesBypass = takesBypass
      self.style = style
      self.takesRouteNames = takesRouteNames
      self.fields = fields
      clients =
        [
          StandardForm.accountField, eventField, ClearanceField.headerName, challengeField,
          answerField, ticketField, fields.compact, fields.token,
        ] + (fields.digest.map { [$0] } ?? []) + (takesBypass ? [BypassFile.field] : [])
      let names = style.names
      told =
        [names.method, names.target, names.host, names.scheme, names.length, names.coding]
        + (takesRouteNames ? [routeField] : [])
    }
  }

  /// The facts that a proxy tells of a request, each by a field. Length and coding are those of the body.
  private enum Told: Int, CaseIterable {
    case method, target, host, scheme, length, coding, route
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
    let told = door.told
    var values = [String?](repeating: nil, count: Told.allCases.count)
    var fields = HeaderFields()
    fields.reserveRoom(for: lines.count)
    for (sent, value) in lines {
      let name = Self.lowercased(sent)
      // Some servers read an underscore as a hyphen: a client must not get a second spelling past the proxy.
      let plain =
        name.utf8.contains(0x5F)
        ? String(decoding: name.utf8.map { $0 == 0x5F ? 0x2D : $0 }, as: UTF8.self) : name
      if let place = told.firstIndex(of: plain) {
        guard plain == name, values[place] == nil else { throw .repeated(plain) }
        values[place] = value
      } else if !Self.isOfQuestion(name) {
        try Self.checkOwner(plain, name, door)
        try Self.append(name, value, to: &fields)
      }
    }
    // These two belong to the client's request, under their own names.
    for (field, place) in [("content-length", Told.length), ("transfer-encoding", .coding)] {
      if let value = values[place.rawValue], !value.isEmpty {
        try Self.append(field, value, to: &fields)
      }
    }
    func needed(_ place: Told) throws(ForwardRefusal) -> String {
      guard let value = values[place.rawValue], !value.isEmpty else {
        throw .missing(told[place.rawValue])
      }
      return value
    }
    let (method, target) = (try needed(.method), try needed(.target))
    let (host, scheme) = (try needed(.host), try needed(.scheme))
    guard scheme == RequestHead.Scheme.https.rawValue else { throw .scheme(scheme) }
    do throws(RequestFormatError) {
      head = try RequestHead(
        method: method, scheme: .https, authority: host, target: target, fields: fields)
    } catch {
      throw .format(error)
    }
    let found = TargetRule.found(in: head)
    guard found.isEmpty else { throw .ambiguousTarget(found) }
    guard !Self.hasEncodedLetter(head.path) else { throw .encodedLetter }
    route = values[Told.route.rawValue].flatMap { $0.isEmpty ? nil : $0 }
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
    guard door.clients.contains(name) else { throw .foreignField(name) }
  }

  /// The name in lower case. Most programs send it so.
  private static func lowercased(_ name: String) -> String {
    let isLower = !name.utf8.contains { $0 >= 0x80 || (0x41...0x5A).contains($0) }
    return isLower ? name : name.lowercased()
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
      if RequestDoor.isUnreserved(decoded) { return true }
    }
    return false
  }
}

/// Spellings that a gate's parts share.
enum RequestDoor {
  /// Whether a byte needs no percent encoding (RFC 3986, section 2.3).
  static func isUnreserved(_ byte: UInt8) -> Bool {
    switch byte {
    case UInt8(ascii: "a")...UInt8(ascii: "z"), UInt8(ascii: "A")...UInt8(ascii: "Z"),
      UInt8(ascii: "0")...UInt8(ascii: "9"), UInt8(ascii: "-"), UInt8(ascii: "."),
      UInt8(ascii: "_"), UInt8(ascii: "~"):
      true
    default: false
    }
  }

  /// The authority as a gate spells it; nil for a text that is none.
  static func authority(_ text: String) -> String? {
    (try? RequestHead(method: "GET", scheme: .https, authority: text, target: "/"))?.authority
  }
}
