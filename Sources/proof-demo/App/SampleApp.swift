import Foundation
import ProofKit
import ProofKitHTTP
import ProofLink
import ProofModel

/// An app that opens a lock: everything an app developer writes to use ProofKit.
final class SampleApp: DemoApp {
  /// The timeout for an answer. The lock is on the same machine and answers in a fraction of it.
  private static let patience = Duration.seconds(1)
  private static let tryCount = 3
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
    let instance = try instance().description
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
    try store.save(StoredMeasurement(config, of: instance(), tokens: [token]))
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

  private func instance() throws -> InstanceID {
    guard let text = attestor.deviceID, let data = Data(base64Encoded: text) else {
      throw AppFailure("the storage cannot be read")
    }
    return try InstanceID([UInt8](data))
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
    var answer = AppAnswer(outcome: "\(try await verdict(on: command, kind, of: lock))")
    // The reply is not authenticated: show it, and decide nothing by it.
    if let reply = try? await lock.reply() {
      let state = reply.isOpen ? "open" : "shut"
      answer.doneCount = Int(reply.doneCount)
      answer.detail = "the lock is \(state), \(reply.doneCount) done since its start"
    }
    return answer
  }

  /// Has a command done. After a lost link it tries again, like a person who presses the button
  /// once more. The connection ensures that the lock does the command only once.
  private func verdict(
    on command: Command, _ kind: ProofKind, of lock: HardwareConnection
  ) async throws(LinkError) -> Verdict {
    var lost: LinkError?
    for _ in 0..<Self.tryCount {
      do throws(LinkError) {
        return try await lock.send(command, proving: kind, within: Self.deadline).verdict
      } catch {
        switch error {
        case .linkLost, .nothingThere: lost = error
        // The earlier command is this one: it was done, and its receipt was lost.
        case .earlierCommand(.accepted) where lost != nil: return .accepted
        case .earlierCommand(.acceptedDeviceOnly) where lost != nil: return .acceptedDeviceOnly
        default: throw error
        }
      }
    }
    throw lost ?? .linkLost(commandMayBeDone: false)
  }

  private func carry(_ order: SignedOrder) async throws -> AppAnswer {
    try await connect().deliver(order)
    return AppAnswer(outcome: "order done", detail: "\(order.bytes.count) bytes")
  }

  private func connect() throws -> HardwareConnection {
    let stored = try stored()
    if let connection, connection.generation == stored.generation { return connection.0 }
    let hardware = try home.hardware()
    guard let token = stored.token(for: hardware) else {
      throw AppFailure("no token for \(hardware) is stored: fetch one")
    }
    let home = home
    let made = HardwareConnection(
      to: hardware, as: stored.instance, presenting: token.token, form: token.form,
      proving: TimedProver(
        prover: Prover(config: stored.config, collector: probe), stopwatch: stopwatch),
      over: PipeTransport(.socket(link), admission: .zero), options: .init(patience: Self.patience),
      memory: home.memory(), remember: { try home.keep($0) })
    connection = (made, stored.generation)
    return made
  }

  private static func outcome(_ error: LinkError) -> String {
    switch error {
    case .measureAgain: "measure again"
    case .askBackend(let verdict): "ask the backend: \(verdict)"
    case .hardwareTooOld: "update the lock"
    case .wait: "wait"
    case .linkLost: "link lost"
    case .nothingThere: "no lock at this address"
    case .deadlinePassed: "deadline passed"
    case .cancelled: "cancelled"
    case .earlierCommand: "an earlier command"
    case .notRemembered: "not remembered"
    }
  }
}
