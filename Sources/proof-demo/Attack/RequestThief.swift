// SPDX-License-Identifier: Apache-2.0

import Console
import Foundation
import ProofKit
import ProofKitHTTP
import ProofModel
import ProofRequest

/// A thief at an API: sends requests that he has seen, as they were or changed, and requests of his own. He has no SDK.
struct RequestThief {
  /// A request as the shop's record has it.
  private struct Recorded: Decodable {
    let method: String
    let target: String
    let fields: [[String]]
    let body: String
  }

  private let options: Options
  private let url: String

  init(_ options: Options) throws(UsageError) {
    self.options = options
    url = try options.needed("--url")
  }

  /// Sends the request. Returns the answer's status and class of refusal.
  func send() throws -> String {
    var request = try options.value("--seen").map { try seen($0) } ?? Request("GET", url)
    if let method = options.value("--method") { request.method = method }
    if let target = options.value("--target") { request.url = url + target }
    if let body = options.value("--body") { request.body = Array(body.utf8) }
    if let user = options.value("--user") { request.set("authorization", to: "Bearer \(user)") }
    if options.has("--sign") { try sign(&request) }
    var sent = TransportRequest(url: request.url, body: request.body, timeout: .seconds(20))
    sent.method = request.method
    sent.fields = request.fields
    let transport = CurlTransport(.init(authorities: try options.needed("--authority")))
    let response = try transport.send(sent)
    let refusal = response.fields.first { $0.name.lowercased() == "proof-refusal" }
    return "\(response.status)" + (refusal.map { " \($0.value)" } ?? "")
  }

  /// The latest recorded request with a path.
  private func seen(_ path: String) throws -> Request {
    let text = try String(contentsOfFile: options.needed("--record"), encoding: .utf8)
    let lines = try text.split(separator: "\n").map { line in
      try JSONDecoder().decode(Recorded.self, from: Data(line.utf8))
    }
    let isLatest = options.has("--with-token") ? Self.hasToken : { _ in true }
    guard
      let found = lines.last(where: { $0.target.hasPrefix(path) && isLatest($0) }),
      let body = Hexadecimal.decode(found.body)
    else { throw AttackFailure("no request of \(path) was seen") }
    // The client writes these itself.
    let own = ["host", "content-length", "accept", "user-agent"]
    let fields = found.fields.filter { $0.count == 2 && !own.contains($0[0].lowercased()) }
    return Request(
      found.method, url + found.target, fields: fields.map { HeaderField($0[0], $0[1]) },
      body: found.method == "GET" && body.isEmpty ? nil : body)
  }

  private static func hasToken(_ recorded: Recorded) -> Bool {
    recorded.fields.contains { $0.first?.lowercased() == "proof-token" }
  }

  /// Signs the request with keys that he invents, under the owner's name for the keys and beside the owner's token.
  private func sign(_ request: inout Request) throws {
    let input = request.values(of: "signature-input").first ?? ""
    let name = input.components(separatedBy: "keyid=\"").last?.prefix { $0 != "\"" } ?? ""
    guard !name.isEmpty else { throw AttackFailure("the request that was seen has no key id") }
    var head = try RequestHead(method: request.method, url: request.url)
    for field in ["authorization", "content-type", "proof-account"] {
      for value in request.values(of: field) { try head.fields.append(field, value) }
    }
    let body = request.body.map { ContentDigest(Digest(hashing: $0)) }
    let key = SecretBytes.random(count: 32)
    try key.withBytes { bytes in
      try StandardForm().sign(
        &head, body: body, with: bytes, keyID: String(name),
        created: .now, nonce: UUID().uuidString)
    }
    for field in ["signature-input", "signature", "content-digest"] {
      request.set(field, to: head.fields.values(of: field).first)
    }
  }
}
