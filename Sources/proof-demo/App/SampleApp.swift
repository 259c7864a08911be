// SPDX-License-Identifier: Apache-2.0

import Foundation
import ProofKit
import ProofKitHTTP
import ProofLink
import ProofModel

/// An app that opens a lock: everything an app developer writes to use ProofKit.
final class SampleApp: DemoApp {
  /// The timeout for an answer. The lock is on the same machine and answers in a fraction of it.
  private static let patience = Duration.seconds(1)
  /// The deadline of a command, on a bad link.
  private static let deadline = Duration.seconds(60)

  private let home: AppHome
  private let link: String
  private let stopwatch = Stopwatch()
  private let probe: TimedProbe
  private let transport: TimedTransport
  private let attestor: Attestor
  private let store: MeasurementStore
  /// The connection, and the generation whose token it presents.
  private var connection: (HardwareConnection, generation: UInt32)?

  /// Starts the app.
  ///
  /// - Parameters:
  ///   - home: Its files.
  ///   - link: The address at which the lock listens; nil for the paired one.
  /// - Throws: If a file cannot be used; the error names it.
  init(_ home: AppHome, link: String?) throws {
    self.home = home
    self.link = try link ?? home.link()
    probe = TimedProbe(
      probe: try Probe(.init(bundle: home.bundle, storage: home.storage)), stopwatch: stopwatch)
    transport = TimedTransport(
      transport: CurlTransport(.init(authorities: home.authority, allowsPlainLoopback: true)),
      stopwatch: stopwatch)
    attestor = Attestor(observer: probe, over: transport, appName: "sample-app")
    store = try MeasurementStore(folder: home.measurement)
  }

  /// Does one verb, and returns its outcome and its time.
  ///
  /// The app disconnects after each verb, because most locks serve one phone at a time. An app that
  /// stays connected blocks all others. The next verb connects again.
  func perform(_ words: [String]) async -> AppAnswer {
    let start = ContinuousClock.now
    _ = stopwatch.take(of: .zero, overLink: false)
    let verb = AppVerb(words)
    var answer: AppAnswer
    do {
      answer = try await act(verb)
    } catch let error as LinkError {
      answer = AppAnswer(outcome: Self.outcome(error), detail: "\(error)", isDone: false)
    } catch {
      answer = AppAnswer(outcome: "failed", detail: "\(error)", isDone: false)
    }
    await connection?.0.disconnect()
    answer.time = stopwatch.take(of: .now - start, overLink: verb?.needsLink ?? false)
    return answer
  }

  private func act(_ verb: AppVerb?) async throws -> AppAnswer {
    switch verb {
    case .enrol: try await enrol()
    case .fetch: try await fetch()
    case .show: try show()
    case .diagnose: try await diagnose()
    case .command(let command, let kind): try await send(command, kind)
    case .carry(let order): try await carry(order)
    case nil: throw AppFailure("not understood; these are:\n" + AppVerb.help)
    }
  }

  // MARK: Online

  private func enrol() async throws -> AppAnswer {
    try await attestor.initialize(
      home.account(), updates: .automatic(ConfigurationStore(folder: home.storage)))
    let instance = try attestor.instance().description
    return AppAnswer(
      outcome: "enrolled", detail: "this installation is \(instance)", instance: instance)
  }

  /// Has the service measure the app, and the backend make a token for the lock from it; stores
  /// both.
  private func fetch() async throws -> AppAnswer {
    try await attestor.initialize(
      home.account(), updates: .automatic(ConfigurationStore(folder: home.storage)))
    let result = try await attestor.fetchToken(for: home.api() + "?measurement")
    guard result.status == .success, let config = result.measurementConfig else {
      return AppAnswer(
        outcome: "not fetched: \(result.status)", detail: result.reason, isDone: false)
    }
    let hardware = try home.hardware()
    let backend = try home.backend()
    let response: TransportResponse
    do throws(TransportError) {
      response = try transport.send(request(backend, hardware, result.token))
    } catch {
      return AppAnswer(outcome: "not fetched: no backend", detail: "\(error)", isDone: false)
    }
    guard response.status == 200 else {
      let word = String(decoding: response.body, as: UTF8.self)
        .trimmingCharacters(in: .whitespacesAndNewlines)
      return AppAnswer(
        outcome: "not fetched: the backend says \(word)", detail: "status \(response.status)",
        isDone: false)
    }
    let token = try StoredToken(MeasurementToken(response.body), for: hardware)
    try store.save(StoredMeasurement(config, of: attestor.instance(), tokens: [token]))
    // The index lets a diagnosis name entries of the bundle. Proofs do not need it.
    try? await probe.probe.index(config)
    return AppAnswer(
      outcome: "fetched",
      detail: "configuration of \(config.bytes.count) bytes, token of \(token.token.bytes.count),"
        + " generation \(config.generation)")
  }

  private func request(
    _ backend: String, _ hardware: HardwareID, _ token: String
  ) -> TransportRequest {
    var request = TransportRequest(
      url: "\(backend)/unlock-grant?hardware=\(hardware)", body: [], timeout: .seconds(10))
    request.authorization = "Bearer \(token)"
    return request
  }

  // MARK: Offline

  private func stored() throws -> StoredMeasurement {
    guard let stored = try store.load() else {
      throw AppFailure("nothing is stored: enrol and fetch first")
    }
    return stored
  }

  private func show() throws -> AppAnswer {
    guard let stored = try store.load() else { return AppAnswer(outcome: "nothing is stored") }
    return AppAnswer(
      outcome: "stored",
      detail: "instance \(stored.instance), generation \(stored.generation),"
        + " \(stored.tokens.count) token", instance: stored.instance.description)
  }

  private func diagnose() async throws -> AppAnswer {
    let config = try stored().config
    let start = ContinuousClock.now
    let diagnosis = try await probe.probe.diagnose(config)
    stopwatch.add(.now - start, to: .measurement)
    let names = Set(diagnosis.findings.map(\.sourceName)).sorted()
    let lines = diagnosis.description.split(separator: "\n")
    let more = lines.count > 3 ? "; and \(lines.count - 3) more" : ""
    return AppAnswer(
      outcome: names.isEmpty ? diagnosis.description : names.joined(separator: ", "),
      detail: lines.prefix(3).joined(separator: "; ") + more)
  }

  private func send(_ command: Command, _ kind: ProofKind) async throws -> AppAnswer {
    let lock = try connect()
    let receipt = try await lock.send(command, proving: kind, within: Self.deadline)
    var answer = AppAnswer(outcome: "\(receipt.verdict)")
    // The reply is not authenticated: show it, and decide nothing by it.
    if let reply = try? await lock.reply() {
      let state = reply.isOpen ? "open" : "shut"
      answer.doneCount = Int(reply.doneCount)
      answer.detail = "the lock is \(state), \(reply.doneCount) done since its start"
    }
    return answer
  }

  private func carry(_ order: SignedOrder) async throws -> AppAnswer {
    try await connect().deliver(order)
    return AppAnswer(outcome: "order done", detail: "\(order.bytes.count) bytes")
  }

  private func connect() throws -> HardwareConnection {
    let pair = try store.hardware(home.hardware())
    if let connection, connection.generation == pair.generation { return connection.0 }
    let made = HardwareConnection(
      to: pair,
      proving: TimedProver(
        prover: Prover(config: pair.config, collector: probe), stopwatch: stopwatch),
      over: PipeTransport(.socket(link), admission: .zero),
      memory: LinkMemoryFile(in: home.storage, for: pair.id),
      options: .init(patience: Self.patience))
    connection = (made, pair.generation)
    return made
  }

  /// The outcome in few words, which do not change from run to run.
  private static func outcome(_ error: LinkError) -> String {
    switch error.reason {
    case .integrityDiffers, .deviceDiffers: "measure again"
    case .hardwareTooOld: "update the lock"
    case .notMeasured, .resourcesExhausted: "not measured"
    case .busy: "wait"
    case .linkLost: "link lost"
    case .unreachable: "no lock at this address"
    case .timedOut: "deadline passed"
    case .cancelled: "cancelled"
    case .earlierCommand: "an earlier command"
    case .notStored: "not remembered"
    default: "ask the backend: \(error.verdict.map { "\($0)" } ?? error.code)"
    }
  }
}
