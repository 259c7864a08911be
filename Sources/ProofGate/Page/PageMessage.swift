// SPDX-License-Identifier: Apache-2.0

internal import ProofJOSE
package import ProofModel
package import ProofRequest

/// A request below `/.well-known/proofkit/`, as the client has sent it.
package struct PageRequest: Sendable {
  /// The method.
  package var method: String
  /// Path and query as sent.
  package var target: String
  /// The host in lower case, with its port unless that is 443.
  package var authority: String
  /// The client's address.
  package var address: String
  /// The handle of the app whose proof the request carries; nil for one without a valid proof.
  package var proven: GateHandle?
  /// The client's header fields.
  package var fields: HeaderFields
  /// The body.
  package var body: [UInt8]

  package init(
    _ method: String, _ target: String, at authority: String, from address: String,
    fields: HeaderFields = HeaderFields(), body: [UInt8] = [], proven: GateHandle? = nil
  ) {
    self.method = method
    self.target = target
    self.authority = authority
    self.address = address
    self.proven = proven
    self.fields = fields
    self.body = body
  }

  /// Reads a request that a trusted proxy has passed on.
  ///
  /// - Parameters:
  ///   - method: The request's method.
  ///   - target: The request's raw target.
  ///   - lines: The lines of its header, with those of the proxy.
  ///   - body: Its body.
  ///   - address: The client's address, as the proxy tells it.
  ///   - style: How the proxy tells of host and scheme.
  /// - Throws: ``ForwardRefusal``.
  package init(
    _ method: String, _ target: String, _ lines: [(name: String, value: String)], body: [UInt8],
    from address: String, in style: ForwardStyle
  ) throws(ForwardRefusal) {
    var told: [String: String] = [:]
    var fields = HeaderFields()
    for (sent, value) in lines {
      let name = sent.lowercased()
      let plain = String(decoding: name.utf8.map { $0 == 0x5F ? 0x2D : $0 }, as: UTF8.self)
      if plain == style.names.host || plain == style.names.scheme {
        guard plain == name, told.updateValue(value, forKey: name) == nil else {
          throw .repeated(plain)
        }
      } else {
        do throws(RequestFormatError) { try fields.append(name, value) } catch {
          throw .format(error)
        }
      }
    }
    for name in [style.names.host, style.names.scheme] where told[name]?.isEmpty ?? true {
      throw .missing(name)
    }
    guard told[style.names.scheme] == "https" else { throw .scheme(told[style.names.scheme] ?? "") }
    guard let authority = RequestDoor.authority(told[style.names.host] ?? "") else {
      throw .host(told[style.names.host] ?? "")
    }
    self.init(method, target, at: authority, from: address, fields: fields, body: body)
  }

  /// The path without the query.
  var path: Substring { target.prefix { $0 != "?" } }

  /// The query without its question mark; empty if there is none.
  var query: Substring { target.dropFirst(path.count + 1) }

  /// The one value of a field; nil if it is missing or given twice.
  func value(of name: String) -> String? {
    let values = fields.values(of: name)
    return values.count == 1 ? values[0] : nil
  }
}

/// An answer to a request below `/.well-known/proofkit/`.
package struct PageAnswer: Sendable {
  /// The status.
  package var status: Int
  /// The header fields, without the length.
  package var fields: [(name: String, value: String)]
  /// The body.
  package var body: [UInt8]
  /// A word for metrics and log.
  package var code: String
  /// The reason, for the log; nil if there is none.
  package var reason: String?

  init(_ status: Int, _ type: String, _ body: [UInt8], code: String, reason: String? = nil) {
    self.status = status
    self.body = body
    self.code = code
    self.reason = reason
    fields = [
      ("Content-Type", type), ("Cache-Control", "no-store"),
      ("X-Content-Type-Options", "nosniff"), ("Referrer-Policy", "same-origin"),
    ]
  }

  /// JSON.
  init(_ status: Int, _ object: JSONObject, code: String) {
    self.init(
      status, "application/json", Array(JSONValue.object(object).text.utf8), code: code)
  }

  /// A failure, as problem details (RFC 9457) with the number of ``PageCode``.
  init(
    problem status: Int, _ code: PageCode, _ title: String, _ more: JSONObject = [:],
    reason: String? = nil
  ) {
    var object = more
    object["title"] = .string(title)
    object["status"] = .number(JSONNumber(Int64(status)))
    object["code"] = .string(code.rawValue)
    self.init(
      status, "application/problem+json", Array(JSONValue.object(object).text.utf8),
      code: "failed-\(code.rawValue)", reason: reason ?? title)
    if status == 429 { fields.append(("Retry-After", "3600")) }
    if status == 503 { fields.append(("Retry-After", "5")) }
  }
}

/// The number by which a page tells its host why it failed.
package enum PageCode: String, Sendable, CaseIterable {
  /// The answer is wrong and no try is left, or the time is over.
  case failed = "1001"
  /// The gate cannot judge: its store does not answer.
  case system = "1002"
  /// A parameter is missing or malformed, or the challenge is not this request's.
  case parameter = "1003"
  /// The person closed the page.
  case cancelled = "1005"
  /// The picture cannot be shown.
  case picture = "8001"
  /// The answer of the slider, or the gate's answer to it, has another form than it should.
  case data = "8002"
  /// The page's script failed.
  case script = "8003"
  /// The gate was not reached.
  case network = "8004"

  /// The number and the status for a challenge that does not count.
  static func of(_ refusal: ChallengeRefusal) -> (code: PageCode, status: Int) {
    switch refusal {
    case .text, .version, .kind, .key, .tag, .subject, .otherAnswer: (.parameter, 400)
    case .expired, .ahead, .earlier, .spent: (.failed, 410)
    case .wrong: (.failed, 422)
    case .busy, .store: (.system, 503)
    }
  }
}
