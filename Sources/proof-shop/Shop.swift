// SPDX-License-Identifier: Apache-2.0

import Console
import DurableFiles
import HTTPServing
import ProofBackend
import ProofModel
import ProofRequest
import Synchronization

/// Serves the shop's API.
///
/// The gate's configuration and keys may be replaced while it runs: they are read again before the next request. If
/// the new files cannot be used, the old ones stay in use, and a log line gives the reason.
final class Shop: HTTPHandler {
  private struct State {
    var host = ""
    var marks: [FileMark]
    var gate: ShopGate?
  }

  /// The prices in cents.
  private static let prices = ["tea": 300, "ring": 90_000]

  private let options: ShopOptions
  private let users: ShopUsers
  private let record: ShopRecord?
  private let state: Mutex<State>

  init(_ options: ShopOptions) throws {
    self.options = options
    users = try ShopUsers(file: options.usersFile)
    state = Mutex(State(marks: options.files.map { FileMark($0) }))
    record = try options.record.map { try ShopRecord($0) }
    let gate = try ShopGate(options, host: options.host ?? "", after: nil)
    state.withLock { $0.gate = gate }
  }

  /// Begins to serve at an address with a port.
  func open(at address: String) {
    state.withLock { state in
      state.host = options.host ?? address
      state.marks = []
    }
  }

  /// The gate of the present files.
  private func gate() -> ShopGate? {
    state.withLock { state in
      let marks = options.files.map { FileMark($0) }
      guard marks != state.marks else { return state.gate }
      // Take the marks before reading: files that change meanwhile are then read again.
      state.marks = marks
      do {
        state.gate = try ShopGate(options, host: state.host, after: state.gate?.configuration)
      } catch {
        Terminal.complain("proof-shop: \(error) The previous files stay in use.")
      }
      return state.gate
    }
  }

  // MARK: Requests

  func respond(to request: HTTPRequest) -> HTTPResponse {
    do { try record?.add(request) } catch { Terminal.complain("proof-shop: \(error)") }
    guard let fields = try? HeaderFields(request.fields.map { ($0.name, $0.value) }),
      let gate = gate()
    else { return HTTPResponse(status: 400, text: "the header is malformed") }
    // An event token is a proof by itself.
    if (request.method, request.path) == ("POST", "/vouchers") {
      return redeem(request, fields, gate)
    }
    let received = ReceivedRequest(
      method: request.method, target: request.target, fields: fields,
      body: Digest(hashing: request.body), address: request.peer)
    guard let judgement = gate.judge(received) else {
      return HTTPResponse(status: 503, text: "the account does not list this host yet")
    }
    var response: HTTPResponse
    switch judgement.result {
    case .success(let verdict): response = serve(request, fields, verdict.facts)
    case .failure(let rejection):
      log(request, "refused: \(rejection)")
      response = HTTPResponse(status: rejection.status)
    }
    for field in judgement.fields { response.headers[field.name] = field.value }
    return response
  }

  /// Serves a request that its sender has proved.
  private func serve(
    _ request: HTTPRequest, _ fields: HeaderFields, _ facts: GateFacts
  ) -> HTTPResponse {
    switch (request.method, request.path) {
    case ("GET", "/prices"):
      log(request, "served (\(facts.handle))")
      let lines = Self.prices.sorted { $0.key < $1.key }.map { "\($0.key) \($0.value)" }
      return HTTPResponse(status: 200, text: lines.joined(separator: "\n"))
    case ("POST", "/orders"):
      guard let price = Self.prices[request.query["item"] ?? ""],
        let count = Int(String(decoding: request.body, as: UTF8.self)), (1...99).contains(count)
      else { return HTTPResponse(status: 400, text: "name an item, and how many") }
      let authorization = fields.values(of: "authorization").first
      guard users.name(of: authorization) != nil else {
        return HTTPResponse(status: 403, text: "sign in first")
      }
      // Decide about an app that failed its attestation here, where the answer is the one of an empty purse.
      return settle(request, facts) { users.pay(count * price, from: authorization) }
    default: return HTTPResponse(status: 404, text: "there is no such path")
    }
  }

  /// Redeems the voucher of an event token.
  private func redeem(
    _ request: HTTPRequest, _ fields: HeaderFields, _ gate: ShopGate
  ) -> HTTPResponse {
    guard let name = users.name(of: fields.values(of: "authorization").first) else {
      return HTTPResponse(status: 403, text: "sign in first")
    }
    let question = EventVerifier.Question(
      fields.values(of: "proof-event").first ?? "", event: Self.voucher, account: name,
      data: request.body)
    guard let judgement = gate.judge(question) else {
      return HTTPResponse(status: 503, text: "the account lists no events of this shop yet")
    }
    guard let facts = judgement.facts, judgement.isValid else {
      log(request, "refused: \(judgement.reason.map { "\($0)" } ?? "nothing is known of the app")")
      return HTTPResponse(status: 401, text: "this voucher does not count")
    }
    return settle(request, facts) { true }
  }

  /// The number of the event that redeems a voucher.
  private static let voucher: UInt16 = 3300

  /// Does what costs money, unless the app failed its attestation. The app cannot tell the two answers apart.
  private func settle(
    _ request: HTTPRequest, _ facts: GateFacts, _ pay: () -> Bool
  ) -> HTTPResponse {
    guard !facts.isFailed else {
      log(request, "declined: the app failed its attestation (\(facts.handle))")
      return Self.declined
    }
    guard pay() else {
      log(request, "declined: the purse is empty (\(facts.handle))")
      return Self.declined
    }
    log(request, "done (\(facts.handle))")
    return HTTPResponse(status: 200, text: "done")
  }

  private static let declined = HTTPResponse(status: 402, text: "your bank declines")

  // MARK: Log

  private func log(_ request: HTTPRequest, _ text: String) {
    Terminal.complain("\(request.method) \(request.path): \(text)")
  }
}
