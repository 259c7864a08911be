// SPDX-License-Identifier: Apache-2.0

import Console
import EventServing
import HTTPServing
import PostgresBackend
import ProofBackend
import ProofGate
import ProofJOSE
import Synchronization

/// The gate with its servers, from start to stop.
struct RunningGate: Sendable {
  /// Files that are open beside connections.
  private static let otherFiles = 128

  private let options: GateOptions
  private let judge: JudgeHandler
  private let pull: ServicePull?
  private let servers: [HTTPServer]
  private let status: HTTPServer?
  private let events: (handler: EventHandler, server: HTTPServer)?
  private let log: HTTPLog

  init(_ options: GateOptions) {
    self.options = options
    let log = HTTPLog(options.logForm)
    self.log = log
    pull = options.pull.map { ServicePull($0, options.files, log: log) }
    do {
      try OpenFiles.allow(2 * options.server.limits.connections + Self.otherFiles)
      let replay = try Self.replay(options.replay)
      try pull?.prepare(options.files.fingerprint)
      judge = try JudgeHandler(
        options.files, replay, options.events?.place(), log: log,
        notesPasses: options.notesPasses)
      let metrics = HTTPMetrics()
      metrics.add { [judge] in judge.metrics }
      if let pull { metrics.add { pull.metrics } }
      var servers = [
        try HTTPServer(
          options.server,
          handler: HTTPObserver(judge, routes: JudgeHandler.routes, metrics: metrics))
      ]
      if let status = options.status {
        let observer = try HTTPObserver(
          StatusHandler(judge: judge), routes: StatusHandler.routes, metrics: metrics,
          readers: options.metricsReaders)
        let server = try HTTPServer(status, handler: observer)
        servers.append(server)
        self.status = server
      } else {
        status = nil
      }
      if let own = options.events {
        let place = EventHandler.Place("proof_gate") { [judge] in judge.redeemer }
        let handler = try EventHandler(place, own, log: log)
        metrics.add { handler.metrics }
        let server = try HTTPServer(
          own.server,
          handler: HTTPObserver(handler, routes: EventHandler.routes, metrics: metrics))
        servers.append(server)
        events = (handler, server)
      } else {
        events = nil
      }
      self.servers = servers
      try pull?.run(for: judge)
    } catch {
      Terminal.complain("proof-gate: \(error)")
      Terminal.end(1)
    }
  }

  private static func replay(_ place: String) throws -> any ReplayStore {
    if place == "memory" { return MemoryReplayStore() }
    if let database = try PostgresReplayStore.ofGates(at: place, otherwise: "gate") {
      return database
    }
    return try JournalReplayStore(at: place)
  }

  /// Serves until a signal asks to stop, then ends the process.
  func serve(until signals: Signals) -> Never {
    judge.noteState("reads its files")
    var values: [(name: String, value: HTTPLog.Value)] = [
      ("address", .text(options.server.address)), ("port", .number(Int(servers[0].port))),
    ]
    if let status { values.append(("status", .number(Int(status.port)))) }
    if let events { values.append(("events", .number(Int(events.server.port)))) }
    log.note("listening", values)
    while case .renew = signals.next() {
      events?.handler.readAgain()
      judge.readAgain()
      renewCertificate()
    }
    // Do this first: if the reader of the log has stopped, writing the next line blocks for ever.
    signals.release()
    log.note("stopping")
    let isDrained = servers.map { $0.stop(draining: options.drainTime) }.allSatisfy { $0 }
    log.note("stopped", [("unfinished", .text(isDrained ? "no" : "yes"))])
    Terminal.end(isDrained ? 0 : 1)
  }

  private func renewCertificate() {
    guard options.server.certificate != nil else { return }
    do throws(HTTPServerError) {
      try servers[0].renewCertificate()
      try events?.server.renewCertificate()
      log.note("certificate renewed")
    } catch {
      log.note("certificate not renewed", [("reason", .text("\(error)"))])
    }
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
