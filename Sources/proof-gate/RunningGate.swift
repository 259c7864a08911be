import Console
import ProofBackend
import ProofGate
import ProofJOSE
import ProofService
import Synchronization

/// The gate with its servers, from start to stop.
struct RunningGate: Sendable {
  /// Files that are open beside connections.
  private static let otherFiles = 128

  private let options: GateOptions
  private let judge: JudgeHandler
  private let servers: [HTTPServer]
  private let log: HTTPLog

  init(_ options: GateOptions) {
    self.options = options
    log = HTTPLog(options.logForm)
    do {
      try OpenFiles.allow(2 * options.server.limits.connections + Self.otherFiles)
      let replay: any ReplayStore =
        options.replay == "memory" ? MemoryReplayStore() : try SQLiteReplayStore(at: options.replay)
      judge = try JudgeHandler(
        options.files, replay, log: log, notesPasses: options.notesPasses)
      let metrics = HTTPMetrics()
      metrics.add { [judge] in judge.metrics }
      var servers = [
        try HTTPServer(
          options.server,
          handler: HTTPObserver(judge, routes: JudgeHandler.routes, metrics: metrics))
      ]
      if let status = options.status {
        let observer = try HTTPObserver(
          StatusHandler(judge: judge), routes: StatusHandler.routes, metrics: metrics,
          readers: options.metricsReaders)
        servers.append(try HTTPServer(status, handler: observer))
      }
      self.servers = servers
    } catch {
      Terminal.complain("proof-gate: \(error)")
      Terminal.end(1)
    }
  }

  /// Serves until a signal asks to stop, then ends the process.
  func serve(until signals: Signals) -> Never {
    judge.noteState("reads its files")
    var values: [(name: String, value: HTTPLog.Value)] = [
      ("address", .text(options.server.address)), ("port", .number(Int(servers[0].port))),
    ]
    if servers.count > 1 { values.append(("status", .number(Int(servers[1].port)))) }
    log.note("listening", values)
    while case .renew = signals.next() { judge.readAgain() }
    // Do this first: if the reader of the log has stopped, writing the next line blocks for ever.
    signals.release()
    log.note("stopping")
    let isDrained = servers.map { $0.stop(draining: options.drainTime) }.allSatisfy { $0 }
    log.note("stopped", [("unfinished", .text(isDrained ? "no" : "yes"))])
    Terminal.end(isDrained ? 0 : 1)
  }
}

/// Answers whether the gate can judge. `/metrics` comes from the observer around it.
struct StatusHandler: HTTPHandler {
  static let routes = ["/health"]
  let judge: JudgeHandler

  func respond(to request: HTTPRequest) -> HTTPResponse {
    guard request.path == "/health" else {
      return HTTPResponse(status: 404, text: "there is no such page")
    }
    return judge.health
  }
}
