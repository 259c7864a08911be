// SPDX-License-Identifier: Apache-2.0

import Console
import EventServing
import HTTPServing
import ProofService

/// The service with its server, from start to stop.
struct RunningService: Sendable {
  private let options: ServiceOptions
  private let server: HTTPServer
  private let leaving: LeavingHandler
  private let events: (handler: EventHandler, server: HTTPServer)?
  private let log: HTTPLog

  init(_ options: ServiceOptions) {
    self.options = options
    log = HTTPLog(options.logForm)
    do {
      // Connections that were displaced stay open for a moment.
      let (connections, isTooMany) =
        options.server.limits.connections.multipliedReportingOverflow(by: 2)
      try OpenFiles.allow(isTooMany ? .max : connections.addingClamped(Self.otherFiles))
      let account = try Service.account(options)
      let redeemer = try options.events.map { [log] in
        try ServiceEvents($0, account, log: log)
      }
      let service = try Service.make(options, account, redeemer, log: log)
      let metrics = HTTPMetrics()
      let observer = try HTTPObserver(
        service, routes: Service.routes, metrics: metrics, readers: options.metricsReaders,
        log: options.notesRequests ? log : nil, logsPeers: { options.logsPeers })
      leaving = LeavingHandler(observer)
      let server = try HTTPServer(options.server, handler: leaving)
      metrics.add { [weak server] in server?.metrics ?? [] }
      self.server = server
      if let redeemer, let own = options.events?.listener {
        let place = EventHandler.Place("proof_service") { redeemer.redeemer() }
        let handler = try EventHandler(place, own, log: log)
        metrics.add { handler.metrics }
        events = (
          handler,
          try HTTPServer(
            own.server,
            handler: HTTPObserver(handler, routes: EventHandler.routes, metrics: metrics))
        )
      } else {
        events = nil
      }
    } catch {
      Terminal.complain("proof-service: \(error)")
      Terminal.end(1)
    }
  }

  /// The files that are open beside connections: the store's, the log, those of the threads.
  private static let otherFiles = 128

  /// Serves until a signal asks to stop, then ends the process.
  func serve(until signals: Signals) -> Never {
    var values: [(name: String, value: HTTPLog.Value)] = [
      ("address", .text(options.server.address)), ("port", .number(Int(server.port))),
      ("tls", .text(options.server.certificate == nil ? "no" : "yes")),
    ]
    if let events { values.append(("events", .number(Int(events.server.port)))) }
    log.note("listening", values)
    while case .renew = signals.next() { renew() }
    // Do this first: if the reader of the log has stopped, writing the next line blocks for ever.
    signals.release()
    if options.leaveSeconds > 0 {
      leaving.leave()
      log.note("leaving", [("seconds", .number(Int(options.leaveSeconds)))])
      signals.pause(seconds: options.leaveSeconds)
    }
    log.note("stopping")
    let isDrained = [server, events?.server].compactMap { $0?.stop(draining: options.drainTime) }
      .allSatisfy { $0 }
    log.note("stopped", [("unfinished", .text(isDrained ? "no" : "yes"))])
    Terminal.end(isDrained ? 0 : 1)
  }

  private func renew() {
    events?.handler.readAgain()
    do throws(HTTPServerError) {
      try server.renewCertificate()
      if options.server.certificate != nil { try events?.server.renewCertificate() }
      log.note("certificate renewed", [("ends", .number(Int(server.certificateEnd?.seconds ?? 0)))])
    } catch {
      log.note("certificate not renewed", [("reason", .text("\(error)"))])
    }
  }
}

extension Int {
  fileprivate func addingClamped(_ other: Int) -> Int {
    let (sum, isTooMany) = addingReportingOverflow(other)
    return isTooMany ? .max : sum
  }
}

extension HTTPServer {
  /// The counters of the server itself.
  fileprivate var metrics: [HTTPMetric] {
    var metrics = counts.metrics
    if let certificateEnd {
      metrics.append(
        HTTPMetric(
          "proof_certificate_end_seconds", .gauge,
          help: "When the certificate ends, in seconds since 1970.", Double(certificateEnd.seconds))
      )
    }
    return metrics
  }
}
