// SPDX-License-Identifier: Apache-2.0

public import ProofModel

extension Attestor {
  // MARK: The app's own statements

  /// Reads the name of this installation, on the calling thread.
  package func readInstance() throws(SetupError) -> InstanceID {
    guard let session = state.withLock({ $0.session }) else { throw .notInitialized }
    do throws(ProofError) { return try readInstance(in: session) } catch {
      throw .notMeasured(error)
    }
  }

  func readInstance(in session: AttestorState.Session) throws(ProofError) -> InstanceID {
    let observation = try surroundings.observer.observe(
      [InstanceID.secret], policy: session.pace.policy, limitLog2: session.pace.limitLog2,
      cancellation: Cancellation())
    return InstanceID(of: observation.evidence, account: session.initial.account)
  }

  /// Sets the account's development key, with which an unregistered app passes; nil for none. At
  /// most 1,024 bytes; a longer one is ignored.
  package func setDevelopmentKey(_ key: String?) {
    let key = key ?? ""
    guard key.utf8.count <= AttestationWire.textMax else { return }
    change(\.developmentKey, to: key)
  }

  /// Binds the tokens that are fetched from now on to data: their `pay` claim is the SHA-256 of its
  /// UTF-8 bytes. The data itself never leaves the app. Nil for no binding.
  ///
  /// The same data again changes nothing; other data makes the next fetch a new attestation.
  package func setDataHash(of data: String?) {
    change(\.dataHash, to: data.map { Digest(hashing: Array($0.utf8)) })
  }

  /// Sets a statement of the app that the account's operators see with the device; nil for none.
  /// `$error` marks a measurement that did not match.
  ///
  /// Characters beyond ASCII are removed; if more than 128 are left it is ignored.
  package func setUserProperty(_ property: String?) {
    let ascii = (property ?? "").unicodeScalars.filter(\.isASCII)
    guard ascii.count <= AttestationWire.userPropertyMax else { return }
    change(\.userProperty, to: String(String.UnicodeScalarView(ascii)))
  }

  /// Sets the screen or link that the app was started for; nil for none. Kept in memory until it is
  /// changed.
  ///
  /// The account's service then reports, and annotates in tokens, whether the app seems to have
  /// been started by another program rather than by a person: neither from a desktop nor at a
  /// terminal.
  ///
  /// - Parameter activity: At most 1,024 bytes of UTF-8.
  /// - Throws: ``/ProofModel/ProofError/outOfRange(field:value:allowed:)``.
  public func setActivity(_ activity: String?) throws(ProofError) {
    let count = activity?.utf8.count ?? 0
    guard count <= AttestationWire.textMax else {
      throw .outOfRange(
        field: "activity", value: "\(count) bytes",
        allowed: "at most \(AttestationWire.textMax) bytes")
    }
    change(\.activity, to: activity.map { Activity(name: $0, launch: CoreSystem.launch) })
  }

  /// Sets a note that the account's operators see beside the device; nil for none. Kept in memory
  /// until it is changed.
  ///
  /// - Parameter note: At most 128 characters of ASCII.
  /// - Throws: ``/ProofModel/ProofError/outOfRange(field:value:allowed:)``.
  public func setNote(_ note: String?) throws(ProofError) {
    let note = note ?? ""
    guard note.utf8.count <= AttestationWire.userPropertyMax,
      note.utf8.allSatisfy({ (0x20...0x7E).contains($0) }), !note.hasPrefix("$")
    else {
      throw .outOfRange(
        field: "note", value: Observation.line(note),
        allowed: "at most \(AttestationWire.userPropertyMax) printable characters of ASCII, the "
          + "first of them not $")
    }
    change(\.userProperty, to: note)
  }

  /// Tells the service, with the next fetch that reaches it, that hardware found another measurement.
  public func reportMeasurementError() {
    // Cached results were made without this statement: drop them, so that the next fetch reports it.
    state.withLock { state in state.changeSettings { $0.reportsMeasurementError = true } }
  }

  /// Tells the service, with the next fetch that it answers, that hardware told of another copy of this app.
  package func noteCopy(seenBy hardware: HardwareID) {
    state.withLock { state in
      state.reportedCopies.remove(hardware)
      state.changeSettings { $0.copySightings.insert(hardware) }
    }
  }

  /// Whether the service knows of the copy that this hardware told of.
  package func hasReportedCopy(seenBy hardware: HardwareID) -> Bool {
    state.withLock { $0.reportedCopies.contains(hardware) }
  }

  private func change<Value: Equatable & Sendable>(
    _ setting: WritableKeyPath<AttestorState.Settings, Value> & Sendable, to value: Value
  ) {
    state.withLock { state in
      guard state.settings[keyPath: setting] != value else { return }
      state.changeSettings { $0[keyPath: setting] = value }
    }
  }

  // MARK: Signed messages

  /// Signs a message with the account's key, which proves to an API that the message comes from an
  /// app that passed.
  ///
  /// The key comes with each token, if the account has one. An app that failed the attestation has
  /// a random key instead, and cannot tell the difference. All apps of the account have the same
  /// key, so put the token into the message: it identifies the app, and limits how long the
  /// signature can be replayed.
  ///
  /// - Parameter message: The message; its UTF-8 bytes are signed.
  /// - Returns: HMAC-SHA-256 in base64, or nil if there is no key: no token was fetched yet, the
  ///   account has none, or the environment of the app has changed since.
  package func messageSignature(of message: String) -> String? {
    state.withLock { $0.session?.messageKey(for: Array(message.utf8)) }
      .map { Base64.encode($0.signature(of: message)) }
  }

  // MARK: Proofs

  /// Proves that app, environment and device are as they were measured. Needs no network.
  ///
  /// - Parameters:
  ///   - nonce: Exactly 16 bytes that no proof answered before.
  ///   - config: The bytes of a measurement configuration that the app kept.
  /// - Returns: The proof, 32 bytes.
  /// - Throws: ``/ProofModel/ProofError/wrongLength(of:expected:actual:)`` for another nonce, the
  ///   errors of ``/ProofModel/MeasurementConfig`` for bytes that are not one, and the errors of
  ///   ``Prover/integrityMeasurementProof(nonce:)-(ProofNonce)``.
  package func integrityMeasurementProof(
    nonce: [UInt8], config: [UInt8]
  ) throws(ProofError) -> Proof {
    try integrityMeasurementProof(nonce: ProofNonce(nonce), config: MeasurementConfig(config))
  }

  /// Proves that app, environment and device are as they were measured. Needs no network.
  package func integrityMeasurementProof(
    nonce: ProofNonce, config: MeasurementConfig
  ) throws(ProofError) -> Proof {
    try Self.prove(.integrity, nonce, config, surroundings.observer, surroundings.key)
  }

  /// Proves that the device is as it was measured; app and SDK may have been updated since. Needs no
  /// network.
  ///
  /// - Parameters:
  ///   - nonce: Exactly 16 bytes that no proof answered before.
  ///   - config: The bytes of a measurement configuration that the app kept.
  /// - Returns: The proof, 32 bytes.
  /// - Throws: The errors of ``integrityMeasurementProof(nonce:config:)-([UInt8],[UInt8])``, except
  ///   the one for another SDK.
  package func deviceMeasurementProof(
    nonce: [UInt8], config: [UInt8]
  ) throws(ProofError) -> Proof {
    try deviceMeasurementProof(nonce: ProofNonce(nonce), config: MeasurementConfig(config))
  }

  /// Proves that the device is as it was measured; app and SDK may have been updated since. Needs no
  /// network.
  package func deviceMeasurementProof(
    nonce: ProofNonce, config: MeasurementConfig
  ) throws(ProofError) -> Proof {
    try Self.prove(.device, nonce, config, surroundings.observer, surroundings.key)
  }

  private static func prove(
    _ kind: ProofKind, _ nonce: ProofNonce, _ config: MeasurementConfig,
    _ observer: some EvidenceObserver, _ key: MeasurementProofKey
  ) throws(ProofError) -> Proof {
    let prover = Prover(config: config, collector: observer, key: key)
    return switch kind {
    case .integrity: try prover.integrityMeasurementProof(nonce: nonce)
    case .device: try prover.deviceMeasurementProof(nonce: nonce)
    }
  }
}
