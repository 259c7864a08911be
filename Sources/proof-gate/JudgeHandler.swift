// SPDX-License-Identifier: Apache-2.0

import EventServing
import HTTPServing
import ProofBackend
import ProofGate
import ProofJOSE
import Synchronization

/// Answers the questions of the proxy, and counts the answers.
final class JudgeHandler: HTTPHandler {
  /// Answers the requests of one path.
  private typealias Answer = @Sendable (JudgeHandler, HTTPRequest) -> HTTPResponse

  /// The paths, and what answers each. `/demand` is for the proxy, or for an API on its machine: its text has a tag.
  private static let table: [(path: String, answer: Answer)] =
    [
      ("/judge", { $0.judge($1) }),
      ("/refusal", { $0.refusal($1) }),
      ("/demand", { $0.demand($1) }),
      ("/health", { handler, _ in handler.health }),
    ]
  static let routes = table.map(\.path) + pageRoutes

  /// A kind of answer, in the measures. Routes and words are of the files and of this program, never a client's.
  struct Kind: Hashable {
    let route: String
    let code: String
    let isWatched: Bool
  }

  private struct State {
    var judgedBy: JudgedBy
    var counts: [Kind: Double] = [:]
    var failedReadings = 0.0
  }

  let files: GateFiles
  private let replay: any ReplayStore
  private let events: EventPlace?
  let log: HTTPLog
  private let notesPasses: Bool
  private let second = SecondQuestions()
  private let state: Mutex<State>

  init(
    _ files: GateFiles, _ replay: any ReplayStore, _ events: EventPlace?, log: HTTPLog,
    notesPasses: Bool
  ) throws {
    self.files = files
    self.replay = replay
    self.events = events
    self.log = log
    self.notesPasses = notesPasses
    state = Mutex(State(judgedBy: try files.read(replay, events, after: nil)))
  }

  // MARK: Requests

  func respond(to request: HTTPRequest) -> HTTPResponse {
    if request.path.utf8.starts(with: PageHandler.folder.utf8) { return page(request) }
    guard let line = Self.table.first(where: { $0.path == request.path }) else {
      return HTTPResponse(status: 404, text: "ask with GET /judge")
    }
    return line.answer(self, request)
  }

  /// The refusal of a question from an address that is no proxy; nil for a proxy's. Only a proxy may tell about another
  /// one's request. For others each header would be the client's own word.
  private func stranger(_ request: HTTPRequest) -> HTTPResponse? {
    guard !request.isForwarded else { return nil }
    count(Kind(route: RouteRule.unmatchedName, code: "stranger", isWatched: false))
    log.note("refused", [("reason", .text("the question is not from a trusted proxy"))])
    return HTTPResponse(status: 403, text: "this address may not ask: see --trusted-proxy")
  }

  private func page(_ request: HTTPRequest) -> HTTPResponse {
    if let refused = stranger(request) { return refused }
    return pageResponse(to: request, state.withLock { $0.judgedBy })
  }

  private func judge(_ request: HTTPRequest) -> HTTPResponse {
    if let refused = stranger(request) { return refused }
    let judgedBy = state.withLock { $0.judgedBy }
    let lines = request.fields.map { (name: $0.name, value: $0.value) }
    let body = request.method == "POST" ? request.body : nil
    let name =
      files.takesRequestIDs
      ? SecondQuestions.name(of: lines, body, from: request.peer, judgedBy.gate.style) : nil
    let answer =
      name.flatMap { second.answer(to: $0) }
      ?? judgedBy.gate.answer(lines, body: body, from: request.peer, at: .now)
    if let name { second.keep(answer, to: name) }
    count(Kind(route: answer.route, code: answer.code, isWatched: answer.isWatched))
    if notesPasses || answer.reason != nil { note(answer) }
    // A proxy of this style hands the answer to the client as it is.
    if judgedBy.gate.style == .forwarded, answer.status != 200 {
      return Self.response(judgedBy.gate.document(of: answer))
    }
    var response = HTTPResponse(status: answer.status(for: judgedBy.gate.style))
    response.headers["cache-control"] = "private, no-store"
    for field in answer.fields { response.headers[field.name] = field.value }
    return response
  }

  /// Writes the answer for the client of a request that was refused.
  private func refusal(_ request: HTTPRequest) -> HTTPResponse {
    if let refused = stranger(request) { return refused }
    let gate = state.withLock { $0.judgedBy.gate }
    return Self.response(gate.refusal(request.fields.map { ($0.name, $0.value) }, at: .now))
  }

  /// Takes an API's demand for a challenge.
  private func demand(_ request: HTTPRequest) -> HTTPResponse {
    guard request.method == "POST" else {
      return HTTPResponse(status: 405, text: "send a demand with POST")
    }
    let gate = state.withLock { $0.judgedBy.gate }
    let text = String(decoding: request.body.prefix(4096), as: UTF8.self)
    switch gate.take(demand: text, at: .now) {
    case .taken: return HTTPResponse(status: 204)
    case .refused:
      log.note("demand refused", [("reason", .text("no API of this gate made it now"))])
      return HTTPResponse(status: 403, text: "no API of this gate made this demand now")
    case .full:
      log.note("demand refused", [("reason", .text("the table of demands is full"))])
      return HTTPResponse(status: 503, text: "the table of demands is full")
    }
  }

  private static func response(_ document: RefusalDocument) -> HTTPResponse {
    var response = HTTPResponse(status: document.status, body: document.body)
    for field in document.fields { response.headers[field.name] = field.value }
    return response
  }

  func count(_ kind: Kind) { state.withLock { $0.counts[kind, default: 0] += 1 } }

  private func note(_ answer: ForwardAnswer) {
    var values: [(name: String, value: HTTPLog.Value)] = [
      ("reference", .text(answer.reference)), ("route", .text(answer.route)),
      ("status", .number(answer.status)), ("result", .text(answer.code)),
    ]
    if answer.isWatched { values.append(("watched", .text("yes"))) }
    if let handle = answer.handle { values.append(("handle", .text(handle))) }
    if let reason = answer.reason { values.append(("reason", .text(reason))) }
    log.note("judged", values)
  }

  // MARK: Files

  /// Reads the files again. If they cannot be used, the gate goes on with those of before, and the log says why.
  func readAgain() {
    let held = state.withLock { $0.judgedBy }
    do {
      let judgedBy = try files.read(replay, events, after: held)
      state.withLock { $0.judgedBy = judgedBy }
      noteState("has read its files again")
    } catch {
      state.withLock { $0.failedReadings += 1 }
      log.note("files not taken", [("reason", .text("\(error) The previous files stay in use."))])
    }
  }

  /// The configuration that the gate judges by.
  var configuration: GateConfiguration { state.withLock { $0.judgedBy.configuration } }

  /// Redeems event tokens; nil if the gate redeems none.
  var redeemer: EventVerifier? { state.withLock { $0.judgedBy.redeemer } }

  /// Takes a configuration that the service sent. The rules stay.
  func take(_ configuration: GateConfiguration) {
    let held = state.withLock { $0.judgedBy }
    do {
      let judgedBy = try files.read(configuration, replay, events, after: held)
      state.withLock { $0.judgedBy = judgedBy }
      noteState("has taken a configuration")
    } catch {
      state.withLock { $0.failedReadings += 1 }
      log.note(
        "configuration not taken", [("reason", .text("\(error) The previous one stays in use."))])
    }
  }

  /// Logs what the gate judges by.
  func noteState(_ event: String) {
    let configuration = state.withLock { $0.judgedBy.configuration }
    log.note(
      event,
      [
        ("gate", .text(configuration.name)), ("serial", .number(Int(configuration.serial))),
        ("hosts", .text(configuration.hosts.joined(separator: " "))),
        ("mode", .text(files.mode.rawValue)),
      ])
  }

  // MARK: State

  var health: HTTPResponse {
    let gate = state.withLock { $0.judgedBy.gate }
    guard !gate.isTooOld(at: .now) else {
      return HTTPResponse(status: 503, text: "the gate's configuration is too old")
    }
    return HTTPResponse(status: 200, text: "ok")
  }

  var metrics: [HTTPMetric] {
    let (judgedBy, counts, failed) = state.withLock { ($0.judgedBy, $0.counts, $0.failedReadings) }
    let age = Double(.now - judgedBy.configuration.made)
    let rows = counts.map { kind, count in
      HTTPMetric.Sample(
        count,
        labels: [
          .init("route", kind.route), .init("result", kind.code),
          .init("watched", kind.isWatched ? "yes" : "no"),
        ])
    }
    return [
      HTTPMetric(
        "proof_gate_judgements_total", .counter, help: "Requests judged, by rule and result.",
        samples: rows.sorted { one, other in
          one.labels.map(\.value).lexicographicallyPrecedes(other.labels.map(\.value))
        }),
      HTTPMetric(
        "proof_gate_configuration_age_seconds", .gauge,
        help: "Seconds since the service made the gate's configuration.", age),
      HTTPMetric(
        "proof_gate_configuration_serial", .gauge, help: "The configuration's serial.",
        Double(judgedBy.configuration.serial)),
      HTTPMetric(
        "proof_gate_installations", .gauge, help: "Installations whose gate token is open.",
        Double(judgedBy.requests.admissionCount)),
      HTTPMetric(
        "proof_gate_files_refused_total", .counter,
        help: "Readings of the files that changed nothing, because a file could not be used.",
        failed),
    ]
  }
}
