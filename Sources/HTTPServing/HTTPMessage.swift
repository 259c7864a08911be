// SPDX-License-Identifier: Apache-2.0

/// A request as a handler sees it: whole, within the server's limits, and free of any web server's types.
public struct HTTPRequest: Sendable, Hashable {
  /// The method in capitals, such as `POST`.
  public var method: String

  /// The path with its percent encoding undone, such as `/v1/report`, without the query.
  public var path: String

  /// Path and query as they were sent: nothing is decoded. A proof of the request covers this text.
  public var target: String

  /// The query's values by name, percent encoding undone. If a name is repeated, the last value
  /// counts.
  public var query: [String: String]

  /// The lines of the header in their order.
  public var fields: [HTTPField]

  /// The body, empty if there is none.
  public var body: [UInt8]

  /// The address that the request came from, without a port.
  public var peer: String

  /// Whether a trusted proxy sent it.
  public var isForwarded = false

  /// The values by name. Names are in lower case; values of a repeated name are joined by commas.
  ///
  /// They are collected from ``fields`` each time. For one name call ``value(of:)``.
  public var headers: [String: String] {
    var headers: [String: String] = [:]
    for field in fields {
      let name = field.name.lowercased()
      headers[name] = headers[name].map { $0 + "," + field.value } ?? field.value
    }
    return headers
  }

  /// The value of one name in ASCII.
  ///
  /// - Parameter name: The name in any case.
  /// - Returns: The value; values of a repeated name are joined by commas. Nil if no line has the name.
  public func value(of name: String) -> String? {
    var found: String?
    for field in fields where field.isNamed(name) {
      found = found.map { $0 + "," + field.value } ?? field.value
    }
    return found
  }

  /// A request with these parts. Its target is the path and its lines are the headers, unless they are given, too.
  public init(
    method: String, path: String, target: String? = nil, query: [String: String] = [:],
    headers: [String: String] = [:], fields: [HTTPField]? = nil, body: [UInt8] = [],
    peer: String = ""
  ) {
    self.method = method
    self.path = path
    self.target = target ?? path
    self.query = query
    self.fields = fields ?? headers.sorted { $0.key < $1.key }.map { HTTPField($0.key, $0.value) }
    self.body = body
    self.peer = peer
  }
}

/// One line of a request's header.
public struct HTTPField: Sendable, Hashable {
  /// The name as it was sent.
  public var name: String
  /// The value.
  public var value: String

  /// A line with these parts.
  public init(_ name: String, _ value: String) {
    self.name = name
    self.value = value
  }

  /// Whether the line has a name. Letters are equal to their other case.
  fileprivate func isNamed(_ name: String) -> Bool {
    self.name.utf8.count == name.utf8.count
      && zip(self.name.utf8, name.utf8).allSatisfy { one, other in
        let lower = one | 0x20
        return one == other
          || (one ^ other == 0x20 && lower >= UInt8(ascii: "a") && lower <= UInt8(ascii: "z"))
      }
  }
}

/// A handler's answer.
public struct HTTPResponse: Sendable, Hashable {
  /// The status, such as 200.
  public var status: Int

  /// The values by name. The server itself adds `Content-Length`, `Date` and `Connection`.
  public var headers: [String: String]

  /// The body, empty if there is none.
  public var body: [UInt8]

  /// A response with these parts.
  public init(status: Int, headers: [String: String] = [:], body: [UInt8] = []) {
    self.status = status
    self.headers = headers
    self.body = body
  }

  /// A response whose body is a line of text for people.
  public init(status: Int, text: String) {
    self.init(
      status: status, headers: ["content-type": "text/plain; charset=utf-8"],
      body: Array((text + "\n").utf8))
  }
}

/// Answers requests. Called from several threads at once.
///
/// A handler implements one of both functions. ``respond(to:)`` holds up one of the server's threads
/// until it returns, with the connections that the thread serves. A handler that waits often
/// implements ``answer(to:)``.
public protocol HTTPHandler: Sendable {
  /// Answers a request. Every request gets an answer, whatever its content.
  func respond(to request: HTTPRequest) -> HTTPResponse

  /// Answers a request now or later. The server calls this function; the default answers now, by
  /// ``respond(to:)``.
  func answer(to request: HTTPRequest) -> HTTPAnswer
}

extension HTTPHandler {
  /// Answers now.
  public func answer(to request: HTTPRequest) -> HTTPAnswer { .now(respond(to: request)) }
}
