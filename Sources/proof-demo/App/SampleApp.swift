// SPDX-License-Identifier: Apache-2.0

import ProofApp

/// An app that opens a lock: everything an app developer writes to use ProofKit.
final class SampleApp: DemoApp {
  private let home: AppHome
  private let stopwatch = Stopwatch()
  private let attestor: Attestor
  private let transport: PipeTransport

  /// Starts the app.
  ///
  /// - Parameters:
  ///   - home: Its files.
  ///   - link: The address at which the lock listens; nil for the paired one.
  /// - Throws: If a file cannot be used; the error names it.
  init(_ home: AppHome, link: String?) throws {
    self.home = home
    transport = PipeTransport(.socket(try link ?? home.link()), admission: .zero)
    var configuration = Configuration(
      account: try home.account(), bundle: home.bundle, storage: home.storage)
    configuration.network.authorities = home.authority
    configuration.network.allowsPlainLoopback = true
    configuration.appName = "sample-app"
    // The demonstration times measuring and network; an app leaves the parts out.
    attestor = try Attestor(
      configuration, using: Parts(configuration).timed(by: stopwatch))
  }

  /// Does one verb, and returns its outcome and its time.
  func perform(_ words: [String]) async -> AppAnswer {
    let start = ContinuousClock.now
    _ = stopwatch.take(of: .zero, overLink: false)
    let verb = AppVerb(words)
    var answer: AppAnswer
    do {
      answer = try await act(verb)
    } catch {
      answer = AppAnswer(outcome: Self.outcome(error), detail: "\(error)", isDone: false)
    }
    answer.time = stopwatch.take(of: .now - start, overLink: verb?.needsLink ?? false)
    return answer
  }

  private func act(_ verb: AppVerb?) async throws -> AppAnswer {
    switch verb {
    case .enrol:
      try await update()
      let instance = try await attestor.instance().description
      return AppAnswer(
        outcome: "enrolled", detail: "this installation is \(instance)", instance: instance)
    case .fetch:
      let pair = try await attestor.enrol(
        home.hardware(), at: home.backend() + "/unlock-grant", for: home.api())
      return AppAnswer(
        outcome: "fetched",
        detail: "configuration of \(pair.config.bytes.count) bytes, token of "
          + "\(pair.token.bytes.count), generation \(pair.generation)")
    case .show: return try show()
    case .diagnose: return try await diagnose()
    case .records:
      let lines = try await attestor.registrationRecords().map(\.line)
      return AppAnswer(outcome: "\(lines.count) records", detail: lines.joined(separator: "\n"))
    case .command(let command, let kind, let sealing):
      return try await withLock(sealing: sealing != .none) { lock in
        let answer = try await self.send(command, kind, to: lock)
        guard sealing == .twice else { return answer }
        var further = try await self.send(command, kind, to: lock)
        further.outcome = "\(answer.outcome), \(further.outcome)"
        return further
      }
    case .carry(let order):
      return try await withLock { lock in
        try await lock.deliver(order)
        return AppAnswer(outcome: "order done", detail: "\(order.bytes.count) bytes")
      }
    case .name:
      return try await withLock { AppAnswer(outcome: "\(await $0.memberName())") }
    case .lend(let name, let uses):
      return try await withLock { lock in
        let loan = try await lock.lend(
          CommandClasses(1), to: name, uses: uses, until: .now.advanced(by: 86_400))
        return AppAnswer(outcome: "lent", detail: loan.text)
      }
    case .takeBack(let name):
      return try await withLock {
        AppAnswer(outcome: "to be taken back", detail: try await $0.takeBack(from: name).text)
      }
    case .bring(let delegation):
      return try await withLock { lock in
        let receipt = try await lock.deliver(delegation)
        let uses = receipt?.usesLeft.map { "\($0) uses are left" }
        return AppAnswer(outcome: "taken", detail: uses ?? "its receipt is for another app")
      }
    case .forget:
      return try await withLock { lock in
        try await lock.forgetOpenCommand()
        return AppAnswer(outcome: "forgotten")
      }
    case .log(let isProved):
      return try await withLock { try await self.carryLog(from: $0, isProved: isProved) }
    case nil: throw AppFailure("not understood; these are:\n" + AppVerb.help)
    }
  }

  /// Gets the account's configuration. If the network is away, the first fetch gets it.
  private func update() async throws {
    do {
      try await attestor.update()
    } catch {
      guard error.whoCanMend == .user else { throw error }
    }
  }

  private func show() throws -> AppAnswer {
    let pairs = try attestor.pairs.all()
    guard let first = pairs.first else { return AppAnswer(outcome: "nothing is stored") }
    return AppAnswer(
      outcome: "stored",
      detail: "instance \(first.instance), generation \(first.generation), \(pairs.count) token",
      instance: first.instance.description)
  }

  private func diagnose() async throws -> AppAnswer {
    let diagnosis = try await attestor.diagnose()
    let names = Set(diagnosis.findings.map(\.sourceName)).sorted()
    let lines = diagnosis.description.split(separator: "\n")
    let more = lines.count > 3 ? "; and \(lines.count - 3) more" : ""
    return AppAnswer(
      outcome: names.isEmpty ? diagnosis.description : names.joined(separator: ", "),
      detail: lines.prefix(3).joined(separator: "; ") + more)
  }

  /// Lends a connection to the paired lock, and hangs up: most locks serve one phone at a time.
  private func withLock(
    sealing isSealed: Bool = false, _ body: (HardwareConnection) async throws -> AppAnswer
  ) async throws -> AppAnswer {
    // The lock is on the same machine, and answers in a fraction of a second. The emulated board makes
    // a new key for each sealed command, which takes seconds while the machine is busy.
    let lock = attestor.connection(
      to: try attestor.pairs.hardware(home.hardware()), over: transport,
      options: .init(patience: .seconds(isSealed ? 10 : 1), sealsCommands: isSealed))
    let result: Result<AppAnswer, any Error>
    do { result = .success(try await body(lock)) } catch { result = .failure(error) }
    await lock.disconnect()
    return try result.get()
  }

  private func send(
    _ command: Command, _ kind: ProofKind, to lock: HardwareConnection
  ) async throws -> AppAnswer {
    let receipt = try await lock.send(command, proving: kind, within: .seconds(60))
    var answer = AppAnswer(outcome: "\(receipt.verdict)")
    // The reply is not authenticated: show it, and decide nothing by it.
    if let reply = try? await lock.reply() {
      let state = reply.isOpen ? "open" : "shut"
      answer.doneCount = Int(reply.doneCount)
      answer.detail = "the lock is \(state), \(reply.doneCount) done since its start"
    }
    return answer
  }

  /// Stores the lock's log for the backend. The hardware hands it out after an accepted command.
  private func carryLog(
    from lock: HardwareConnection, isProved: Bool
  ) async throws -> AppAnswer {
    if isProved {
      try await lock.send(Command("status", class: 0), within: .seconds(60))
    }
    let parts = try await lock.collectLog()
    for part in parts { try home.store(part.bytes, ofLogFrom: part.entries.lowerBound) }
    let entries = parts.map(\.entries.count).reduce(0, +)
    return AppAnswer(
      outcome: parts.last?.isLast == true ? "carried" : "carried in part",
      detail: "\(entries) entries in \(parts.count) parts, which the phone cannot read")
  }

  /// The outcome in few words, which do not change from run to run.
  private static func outcome(_ error: any Error) -> String {
    switch error {
    case EnrolmentError.attestation(let error): "not fetched: \(error.reason)"
    case EnrolmentError.transport: "not fetched: no backend"
    case EnrolmentError.backend(_, let word): "not fetched: the backend says \(word)"
    case let error as LinkError: error.words
    default: "failed"
    }
  }
}
