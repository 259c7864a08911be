import ProofBackend
import ProofGate
import ProofJOSE
import ProofService
import Synchronization

/// Answers the questions of the proxy, and counts the answers.
final class JudgeHandler: HTTPHandler {
  static let routes = ["/judge", "/health"]

  /// A kind of answer, in the measures. Routes and words are of the files and of this program, never a client's.
  private struct Kind: Hashable {
    let route: String
    let code: String
    let isWatched: Bool
  }

  private struct State {
    var judgedBy: JudgedBy
    var counts: [Kind: Double] = [:]
    var failedReadings = 0.0
  }

  private let files: GateFiles
  private let replay: any ReplayStore
  private let log: HTTPLog
  private let notesPasses: Bool
  private let state: Mutex<State>

  init(_ files: GateFiles, _ replay: any ReplayStore, log: HTTPLog, notesPasses: Bool) throws {
    self.files = files
    self.replay = replay
    self.log = log
    self.notesPasses = notesPasses
    state = Mutex(State(judgedBy: try files.read(replay, after: nil)))
  }

  private static var now: UInt64 { UInt64(clamping: JOSEClock.system.now.seconds) }

  // MARK: Requests

  func respond(to request: HTTPRequest) -> HTTPResponse {
    if request.path == "/health" { return health }
    guard request.path == "/judge" else {
      return HTTPResponse(status: 404, text: "ask with GET /judge")
    }
    // Only a proxy may tell about another one's request. For others each header would be the client's own word.
    guard request.isForwarded else {
      count(Kind(route: RouteRule.unmatchedName, code: "stranger", isWatched: false))
      log.note("refused", [("reason", .text("the question is not from a trusted proxy"))])
      return HTTPResponse(status: 403, text: "this address may not ask: see --trusted-proxy")
    }
    let judgedBy = state.withLock { $0.judgedBy }
    let answer = judgedBy.gate.answer(
      request.fields.map { ($0.name, $0.value) }, from: request.peer, at: Self.now)
    count(Kind(route: answer.route, code: answer.code, isWatched: answer.isWatched))
    if notesPasses || answer.reason != nil { note(answer) }
    var response = HTTPResponse(status: answer.status)
    response.headers["cache-control"] = "no-store"
    for field in answer.fields { response.headers[field.name] = field.value }
    return response
  }

  private func count(_ kind: Kind) { state.withLock { $0.counts[kind, default: 0] += 1 } }

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
      let judgedBy = try files.read(replay, after: held)
      state.withLock { $0.judgedBy = judgedBy }
      noteState("has read its files again")
    } catch {
      state.withLock { $0.failedReadings += 1 }
      log.note("files not taken", [("reason", .text("\(error) The files of before go on."))])
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
    guard !gate.isTooOld(at: Self.now) else {
      return HTTPResponse(status: 503, text: "the gate's configuration is too old")
    }
    return HTTPResponse(status: 200, text: "ok")
  }

  var metrics: [HTTPMetric] {
    let (judgedBy, counts, failed) = state.withLock { ($0.judgedBy, $0.counts, $0.failedReadings) }
    let age = Double(Self.now) - Double(judgedBy.configuration.made)
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
