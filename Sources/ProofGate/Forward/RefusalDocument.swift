// SPDX-License-Identifier: Apache-2.0

internal import ProofBackend
internal import ProofBytes
internal import ProofJOSE
package import ProofModel
internal import ProofRequest

/// The whole answer to a client whose request does not pass: fields and body, for a program or for a person.
package struct RefusalDocument: Sendable {
  /// The parts of a request that the form of a refusal depends on.
  package struct Asker: Sendable, Hashable {
    /// The method.
    var method: String
    /// Path and query as sent.
    var target: String
    /// Whether a browser shows the answer to a person.
    var isNavigation: Bool
    /// The origin whose page may read the answer; nil for none.
    var origin: String?
  }

  /// The status.
  package let status: Int
  /// The header fields.
  package let fields: [(name: String, value: String)]
  /// The body.
  package let body: [UInt8]

  /// The fields that a page of another origin may read.
  private static let exposed =
    "Proof-Challenge, Proof-Refusal, Proof-Nonce, Proof-Time, Proof-Reference, Proof-Clearance,"
    + " Proof-Ticket, Retry-After"

  /// Writes the answer.
  ///
  /// - Parameters:
  ///   - status: The status for the client.
  ///   - told: The fields of the gate for the client.
  ///   - asker: The request's parts; nil for a request that could not be read.
  package init(status: Int, _ told: [(name: String, value: String)], _ asker: Asker?) {
    func value(_ name: String) -> String? { told.first { $0.name == name }?.value }
    let (challenge, reference) = (value("Proof-Challenge"), value("Proof-Reference"))
    self.status = status
    var fields = told.filter { $0.name != "Proof-Status" }
    fields.append((name: "Cache-Control", value: "private, no-store"))
    fields.append((name: "X-Content-Type-Options", value: "nosniff"))
    if let origin = asker?.origin {
      fields.append((name: "Access-Control-Allow-Origin", value: origin))
      fields.append((name: "Access-Control-Allow-Credentials", value: "true"))
      fields.append((name: "Access-Control-Expose-Headers", value: Self.exposed))
      fields.append((name: "Vary", value: "Origin"))
    }
    if let asker, asker.isNavigation {
      fields.append((name: "Content-Type", value: "text/html; charset=utf-8"))
      fields.append(
        (
          name: "Content-Security-Policy",
          value:
            "default-src 'none'; img-src data:; frame-ancestors 'none'; base-uri 'none'"
        ))
      body = Array(Self.page(status, challenge, reference, asker).utf8)
    } else {
      fields.append((name: "Content-Type", value: "application/problem+json"))
      body = Array(Self.problem(status, challenge, reference, value("Proof-Refusal")).utf8)
    }
    self.fields = fields
  }

  // MARK: Bodies

  private static func title(_ status: Int) -> String {
    switch status {
    case 401: "Unauthorized"
    case 403: "Forbidden"
    case 428: "Precondition Required"
    case 429: "Too Many Requests"
    default: "Service Unavailable"
    }
  }

  private static func detail(_ status: Int) -> String {
    switch status {
    case 401: "This request needs a proof of an attested app."
    case 403: "This request is not served."
    case 428: "Answer the challenge, then send the request again."
    case 429: "Too many requests came from this client. Send the request again later."
    default: "The request cannot be judged now. Send it again later."
    }
  }

  /// Problem details: RFC 9457.
  private static func problem(
    _ status: Int, _ challenge: String?, _ reference: String?, _ refusal: String?
  ) -> String {
    var object: JSONObject = [
      "type": .string("about:blank"), "title": .string(title(status)),
      "status": .number(JSONNumber(Int64(status))), "detail": .string(detail(status)),
    ]
    if let challenge {
      object["challenge"] = .string(challenge)
      if let kind = kind(of: challenge) { object["kind"] = .string(kind.word) }
    }
    if let refusal { object["refusal"] = .string(refusal) }
    if let reference { object["reference"] = .string(reference) }
    return JSONValue.object(object).text
  }

  /// A page without script. A GET goes on to the gate's own page by itself if that answers the challenge; the body of
  /// another method would be lost, so its page has a link.
  private static func page(
    _ status: Int, _ challenge: String?, _ reference: String?, _ asker: Asker
  ) -> String {
    var lines = ["<p>\(detail(status))</p>"]
    var refresh = ""
    if let challenge, let kind = kind(of: challenge), PageHandler.kinds.contains(kind) {
      let link =
        "\(PageHandler.folder)page?challenge=\(challenge)&amp;method=\(PercentEncoding.encoded(asker.method))"
        + "&amp;target=\(PercentEncoding.encoded(asker.target))"
      lines.append("<p><a href=\"\(link)\">Continue</a></p>")
      if asker.method == "GET" {
        refresh = "\n<meta http-equiv=\"refresh\" content=\"0; url=\(link)\">"
      }
    }
    if let reference { lines.append("<p>Reference: <code>\(reference)</code></p>") }
    return """
      <!doctype html>
      <html lang="en"><head><meta charset="utf-8">\(refresh)
      <meta name="viewport" content="width=device-width, initial-scale=1">
      <link rel="icon" href="data:,">
      <title>\(title(status))</title></head>
      <body><main><h1>\(title(status))</h1>
      \(lines.joined(separator: "\n"))
      </main></body></html>

      """
  }

  private static func kind(of challenge: String) -> ChallengeKind? {
    guard let bytes = Base64.decode(challenge, .url), let first = bytes.first else { return nil }
    return ChallengeKind(rawValue: first & 15)
  }
}

extension ForwardGate {
  /// The origin of the request's page, if the rule lets it read answers.
  func origin(of question: Question) -> String? {
    guard !question.rule.origins.isEmpty, question.head.fields.count(of: "origin") == 1,
      let origin = question.head.fields.first("origin"),
      question.rule.origins.contains(where: { $0 == origin })
    else { return nil }
    return origin
  }

  func asker(of question: Question) -> RefusalDocument.Asker {
    let head = question.head
    let accept = head.fields.first("accept") ?? ""
    let isNavigation =
      head.method == "GET" || head.method == "HEAD" || head.method == "POST"
      ? accept.split(separator: ",").contains { part in
        part.drop { $0 == " " }.prefix { $0 != ";" && $0 != " " }.lowercased() == "text/html"
      } : false
    return RefusalDocument.Asker(
      method: head.method, target: head.target, isNavigation: isNavigation,
      origin: origin(of: question))
  }

  /// The answer that a proxy hands to the client, where the proxy hands on what the gate says.
  package func document(of answer: ForwardAnswer) -> RefusalDocument {
    RefusalDocument(status: answer.status, answer.fields, answer.asker)
  }

  /// The answer to a proxy's second question: the document for a request that was refused.
  ///
  /// - Parameters:
  ///   - lines: The lines of the question's header: those of a question about the request, and the fields of the first
  ///     answer as `X-Proof-Status`, `X-Proof-Challenge` and so on.
  ///   - now: The time.
  /// - Returns: The document. Fields that the gate does not write are left out.
  package func refusal(
    _ lines: [(name: String, value: String)], at now: UnixTime
  ) -> RefusalDocument {
    var told: [String: String] = [:]
    var repeated: Set<String> = []
    var rest: [(name: String, value: String)] = []
    for line in lines {
      let name = line.name.lowercased()
      guard name.hasPrefix("x-proof-") else {
        rest.append(line)
        continue
      }
      if told.updateValue(line.value, forKey: name) != nil { repeated.insert(name) }
    }
    for name in repeated { told[name] = nil }
    let status = told["x-proof-status"].flatMap { Int($0) } ?? 0
    let question = try? question(rest, "", nil, now)
    var fields: [(name: String, value: String)] = []
    for (name, most) in Self.toldFields {
      guard let value = told["x-" + name.lowercased()], !value.isEmpty, value.utf8.count <= most,
        value.utf8.allSatisfy({ RequestDoor.isUnreserved($0) })
      else { continue }
      fields.append((name: name, value: value))
    }
    let isKnown = [401, 403, 428, 429, 503].contains(status)
    if status == 429 || status == 503 || !isKnown {
      fields.append((name: "Retry-After", value: "5"))
    }
    return RefusalDocument(
      status: isKnown ? status : 503, fields, question.map { asker(of: $0) })
  }

  /// The fields that a refusal hands on, with the most characters of each.
  private static var toldFields: [(name: String, most: Int)] {
    [
      ("Proof-Time", 64), ("Proof-Refusal", 16), ("Proof-Nonce", 128), ("Proof-Reference", 32),
      ("Proof-Challenge", 80), ("Proof-Clearance", 88),
    ]
  }
}
