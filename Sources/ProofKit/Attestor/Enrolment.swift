// SPDX-License-Identifier: Apache-2.0

public import ProofModel

extension Attestor {
  /// Issues a measurement token: asks a backend for one, for a measured app and a piece of hardware.
  public typealias Issue =
    @Sendable (MeasuredToken, HardwareID) async throws -> MeasurementToken

  /// Pairs the app with hardware: measures, asks the backend for a token for this and for each piece
  /// paired before, and stores all in one step. On an error everything stays as it was.
  ///
  /// Earlier hardware for which the backend issues no tokens any more (``EnrolmentError/isOfHardware``)
  /// loses its pair. It does not keep the others from being renewed.
  ///
  /// - Parameters:
  ///   - hardware: The hardware.
  ///   - url: The address that issues measurement tokens. Each request is `POST URL?hardware=ID` with
  ///     the measured token as bearer; the answer is the token of 288 bytes. Where the service knows of
  ///     an update, the body has the tokens of the pairs to come, one a line, and the answer may have a
  ///     token for each behind the first: the updated app opens the hardware offline.
  ///   - host: The API's name in the account; nil for the host of `url`.
  /// - Returns: The pair.
  /// - Throws: ``EnrolmentError``.
  @discardableResult
  public func enrol(
    _ hardware: HardwareID, at url: String, for host: String? = nil
  ) async throws(EnrolmentError) -> PairedHardware {
    try await pair(hardware, for: host ?? url) { measured, hardware throws(EnrolmentError) in
      try await self.ask(url, for: hardware, with: measured)
    }
  }

  /// Pairs the app with hardware as ``enrol(_:at:for:)`` does, for a backend with a protocol of its own.
  ///
  /// - Parameters:
  ///   - hardware: The hardware.
  ///   - host: The API that issues measurement tokens.
  ///   - issue: Called once for each piece of hardware.
  /// - Returns: The pair.
  /// - Throws: ``EnrolmentError``.
  @discardableResult
  public func enrol(
    _ hardware: HardwareID, for host: String, issue: @escaping Issue
  ) async throws(EnrolmentError) -> PairedHardware {
    try await pair(hardware, for: host, Self.caught(issue))
  }

  /// Renews all pairs as ``enrol(_:at:for:)`` does. Does nothing without pairs. If the backend refuses
  /// all pieces of hardware, it throws, and all pairs stay.
  ///
  /// Call it after an update of the app, and when an error says ``/ProofModel/Mender/online``.
  ///
  /// - Parameters:
  ///   - url: The address that issues measurement tokens.
  ///   - host: The API's name in the account; nil for the host of `url`.
  /// - Throws: ``EnrolmentError``.
  public func renew(at url: String, for host: String? = nil) async throws(EnrolmentError) {
    _ = try await pairs(adding: nil, for: host ?? url) {
      measured, hardware throws(EnrolmentError) in
      try await self.ask(url, for: hardware, with: measured)
    }
  }

  /// Renews all pairs as ``enrol(_:for:issue:)`` does. Does nothing without pairs.
  ///
  /// - Parameters:
  ///   - host: The API that issues measurement tokens.
  ///   - issue: Called once for each piece of hardware.
  /// - Throws: ``EnrolmentError``.
  public func renew(for host: String, issue: @escaping Issue) async throws(EnrolmentError) {
    _ = try await pairs(adding: nil, for: host, Self.caught(issue))
  }

  // MARK: The steps

  private typealias Issuing =
    @Sendable (MeasuredToken, HardwareID) async throws(EnrolmentError) -> HardwareTokens

  /// The most that a backend may take for one token.
  private static let issuingTime = Duration.seconds(30)

  private static func caught(_ issue: @escaping Issue) -> Issuing {
    { measured, hardware throws(EnrolmentError) in
      do {
        return try HardwareTokens(try await issue(measured, hardware), for: hardware)
      } catch let error as MeasurementStoreError {
        throw .store(error)
      } catch let error as EnrolmentError {
        throw error
      } catch is CancellationError {
        throw .cancelled
      } catch {
        throw .issuing("\(error)")
      }
    }
  }

  private func pair(
    _ hardware: HardwareID, for host: String, _ issue: @escaping Issuing
  ) async throws(EnrolmentError) -> PairedHardware {
    let stored = try await pairs(adding: hardware, for: host, issue)
    do throws(MeasurementStoreError) {
      guard stored else { throw .notPaired(hardware) }
      return try pairs.hardware(hardware)
    } catch {
      throw .store(error)
    }
  }

  /// One enrolment at a time: of two at once the later generation would lack the hardware of the
  /// earlier one.
  private func pairs(
    adding hardware: HardwareID?, for host: String, _ issue: @escaping Issuing
  ) async throws(EnrolmentError) -> Bool {
    guard await enrolments.take() else { throw .cancelled }
    defer { enrolments.give() }
    var pieces: [HardwareID]
    do throws(MeasurementStoreError) {
      pieces = try pairs.all().map(\.id)
    } catch {
      guard case .damaged = error else { throw .store(error) }
      // It was set aside; the store is empty now, and this makes it anew.
      pieces = []
    }
    if let hardware, !pieces.contains(hardware) { pieces.append(hardware) }
    guard !pieces.isEmpty else { return false }
    let measured: MeasuredToken
    do throws(AttestationError) {
      measured = try await measuredToken(for: host)
    } catch {
      throw error.reason == .cancelled ? .cancelled : .attestation(error)
    }
    var tokens: [HardwareTokens] = []
    var refusal: EnrolmentError?
    for piece in pieces {
      do throws(EnrolmentError) {
        tokens.append(try await issue(measured, piece))
      } catch {
        guard piece != hardware, error.isOfHardware else { throw error }
        refusal = error
      }
      if Task.isCancelled { throw .cancelled }
    }
    // The tokens of before stay where no new one would take their place.
    if let refusal, tokens.isEmpty { throw refusal }
    try await keep(tokens, of: measured)
    return true
  }

  private func keep(
    _ tokens: [HardwareTokens], of measured: MeasuredToken
  ) async throws(EnrolmentError) {
    try await CorePool.fetches.value(orIfCancelled: EnrolmentError.cancelled) {
      _ throws(EnrolmentError) in
      do throws(MeasurementStoreError) {
        try self.store().save(
          tokens, under: measured.config, of: measured.instance, with: measured.upcoming)
      } catch {
        throw .store(error)
      }
      // Lets a diagnosis name entries of the bundle. Proofs do not need it.
      try? self.observer.noteEntries(of: measured.config)
    }
  }

  private func ask(
    _ url: String, for hardware: HardwareID, with measured: MeasuredToken
  ) async throws(EnrolmentError) -> HardwareTokens {
    let response = try await CorePool.requests.value(orIfCancelled: EnrolmentError.cancelled) {
      cancellation throws(EnrolmentError) in
      let separator = url.utf8.contains(UInt8(ascii: "?")) ? "&" : "?"
      var request = TransportRequest(
        url: "\(url)\(separator)hardware=\(hardware)",
        body: HardwareTokens.requestBody(for: measured.upcoming), pins: try self.keys(for: url),
        timeout: Self.issuingTime, responseLimit: 4096, cancellation: cancellation)
      request.authorization = "Bearer \(measured.token.text)"
      do throws(TransportError) {
        return try self.way.transport.send(request)
      } catch {
        throw error == .cancelled ? .cancelled : .transport(error)
      }
    }
    guard response.status == 200 else {
      var word = String(decoding: response.body.prefix(200), as: UTF8.self)[...]
      while word.last?.isWhitespace == true { word.removeLast() }
      throw .backend(status: response.status, word: Observation.line(String(word)))
    }
    if response.body.count <= MeasurementToken.byteCount {
      do throws(ProofError) { _ = try MeasurementToken(response.body) } catch {
        throw .unusableToken(error)
      }
    }
    do throws(MeasurementStoreError) {
      return try HardwareTokens(response.body, to: measured.upcoming, for: hardware)
    } catch {
      throw .store(error)
    }
  }

  /// The keys that the account allows for the host of a URL.
  private func keys(for url: String) throws(EnrolmentError) -> [String] {
    guard let address = ServiceAddress(url: String(url.prefix { $0 != "?" })) else { return [] }
    switch pins.rule(for: address.host) {
    case .keys(let keys): return keys
    case .unpinned, .unknown: return []
    case .trustRoots:
      throw .transport(
        .refused(
          "the account pins \(address.host) by trusted roots alone: give the host pins of its own"))
    }
  }

  // MARK: Proofs, for hardware with a protocol of its own

  /// Proves to hardware that has a protocol of its own, under the stored configuration. Measures each
  /// time. Needs no network.
  ///
  /// - Parameters:
  ///   - kind: The scope: app and device, or the device alone.
  ///   - nonce: A nonce of the hardware that no proof answered before.
  /// - Returns: The proof.
  /// - Throws: ``MeasurementError``. A changed app throws no error: its proof differs.
  public func proof(
    of kind: ProofKind = .integrity, answering nonce: ProofNonce
  ) async throws(MeasurementError) -> Proof {
    try await measuring { config throws(ProofError) in
      try kind == .integrity
        ? self.integrityMeasurementProof(nonce: nonce, config: config)
        : self.deviceMeasurementProof(nonce: nonce, config: config)
    }
  }

  /// Compares the app with the measurement of the last enrolment. For people and logs: the verifier
  /// decides, and not this.
  ///
  /// - Returns: The differences.
  /// - Throws: ``MeasurementError``.
  public func diagnose() async throws(MeasurementError) -> Diagnosis {
    try await measuring { config throws(ProofError) in
      try self.observer.differences(from: config)
    }
  }

  /// The records of this build that do not follow from its files: of its code in memory, and of its
  /// links. An operator registers an update with them, so that the service predicts its measurement.
  ///
  /// Run the update on a reference machine, and print each record's
  /// ``/ProofModel/EvidenceRecord/line`` on a line of its own. `proofctl registration add --upcoming`
  /// reads these lines by `--records`.
  ///
  /// - Returns: The records.
  /// - Throws: ``MeasurementError``.
  public func registrationRecords() async throws(MeasurementError) -> [EvidenceRecord] {
    try await apart { () throws(MeasurementError) in
      do throws(ProofError) {
        let seen = try self.observer.observe(
          CoreProbe.sources.filter { EvidenceRecord.ofExecutable.contains($0.id) }, policy: .full,
          limitLog2: ObservationPace().limitLog2, cancellation: Cancellation())
        return seen.evidence.records.filter(\.isOfExecutable)
      } catch {
        throw .notMeasured(error)
      }
    }
  }

  /// The name of this installation, under which the service knows it and hardware serves it.
  ///
  /// It differs from account to account, and changes when the app is installed anew. It is derived
  /// from the storage secret. All apps whose secret is missing, unreadable or open to others have the
  /// same name.
  ///
  /// - Returns: The name.
  /// - Throws: ``MeasurementError``.
  public func instance() async throws(MeasurementError) -> InstanceID {
    try await apart { () throws(MeasurementError) in
      guard let session = self.state.withLock({ $0.session }) else { throw .store(.noPlace) }
      do throws(ProofError) {
        return try self.readInstance(in: session)
      } catch {
        throw .notMeasured(error)
      }
    }
  }

  private func measuring<Value: Sendable>(
    _ body: @escaping @Sendable (MeasurementConfig) throws(ProofError) -> Value
  ) async throws(MeasurementError) -> Value {
    try await apart { () throws(MeasurementError) in
      let stored: StoredMeasurement?
      do throws(MeasurementStoreError) { stored = try self.store().load() } catch {
        throw .store(error)
      }
      guard let stored else { throw .store(.empty) }
      do throws(ProofError) { return try body(stored.config) } catch { throw .notMeasured(error) }
    }
  }

  /// Measures on a thread of the library. A cancelled task returns at once.
  private func apart<Value: Sendable>(
    _ body: @escaping @Sendable () throws(MeasurementError) -> Value
  ) async throws(MeasurementError) -> Value {
    try await CorePool.fetches.value(orIfCancelled: MeasurementError.cancelled, leaving: true) {
      _ throws(MeasurementError) in try body()
    }
  }
}

/// Serves one caller after the other, in order of arrival.
final class Turns: Sendable {
  private struct State {
    var isTaken = false
    var next = 0
    var waiting: [(number: Int, resume: @Sendable (Bool) -> Void)] = []
  }

  private let state = CoreLock(State())

  /// Waits for a turn; false if the task was cancelled before.
  func take() async -> Bool {
    let number = state.withLock { state in
      state.next += 1
      return state.next
    }
    return await withTaskCancellationHandler {
      await withCheckedContinuation { continuation in
        let isFirst = state.withLock { state -> Bool in
          guard state.isTaken else {
            state.isTaken = true
            return true
          }
          state.waiting.append((number, { continuation.resume(returning: $0) }))
          return false
        }
        if isFirst { continuation.resume(returning: true) }
        if Task.isCancelled { leave(number) }
      }
    } onCancel: {
      leave(number)
    }
  }

  /// Ends the turn.
  func give() {
    let next = state.withLock { state -> (@Sendable (Bool) -> Void)? in
      guard !state.waiting.isEmpty else {
        state.isTaken = false
        return nil
      }
      return state.waiting.removeFirst().resume
    }
    next?(true)
  }

  private func leave(_ number: Int) {
    let left = state.withLock { state -> (@Sendable (Bool) -> Void)? in
      guard let place = state.waiting.firstIndex(where: { $0.number == number }) else { return nil }
      return state.waiting.remove(at: place).resume
    }
    left?(false)
  }
}
