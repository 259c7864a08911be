// SPDX-License-Identifier: Apache-2.0

public import ProofModel

extension Attestor {
  // MARK: Configuration

  /// Returns the configuration, for the app to store and pass in at the next start.
  ///
  /// If the service was not asked for anything yet, it is asked for a newer one first, for at most
  /// ``AttestorTimes/configuration``. Clears ``FetchResult/isConfigChanged`` for the fetches that
  /// follow.
  ///
  /// - Returns: The newest configuration; if there is none, the text that the SDK was initialised
  ///   with; nil if it is not initialised.
  public func fetchConfigAndWait() -> String? {
    guard let session = state.withLock({ $0.session }) else { return nil }
    let update = session.hasAsked ? nil : ask(session, for: AttestorTimes.configuration)
    if let configuration = update?.configuration { store(configuration, in: session) }
    return state.withLock { state in
      if state.session?.number == session.number, let update {
        state.session?.hasAsked = true
        if let configuration = update.configuration { state.adopt(configuration) }
      }
      state.session?.isConfigChanged = false
      return state.session?.configuration?.text ?? state.session?.initial.text
    }
  }

  /// Returns the configuration, without blocking the calling thread: otherwise as
  /// ``fetchConfigAndWait()``.
  public func fetchConfig() async -> String? {
    await withCheckedContinuation { continuation in
      CoreThread.run { continuation.resume(returning: self.fetchConfigAndWait()) }
    }
  }

  // MARK: Pins

  /// The keys that the account's APIs may have, from the newest configuration; nil if the SDK is not
  /// initialised.
  ///
  /// Clears ``FetchResult/isForceApplyPins`` for the fetches that follow.
  ///
  /// - Parameter type: The way pins are computed.
  /// - Returns: The pins; ``Pins/rule(for:unlisted:)`` gives the rule for a connection.
  public func pins(_ type: PinType = .publicKeySHA256) -> Pins? {
    state.withLock { state in
      guard let session = state.session else { return nil }
      state.session?.pinsSerial = session.configuration?.serial ?? 0
      return session.configuration?.pins ?? Pins([:])
    }
  }

  /// The pins as a JSON object of arrays by host: otherwise as ``pins(_:)``.
  ///
  /// - Parameter type: The way pins are computed.
  /// - Returns: The JSON text, or nil if the SDK is not initialised.
  public func pinsJSON(_ type: PinType = .publicKeySHA256) -> String? { pins(type)?.json }

  // MARK: The app's own statements

  /// Reads the name of this installation, under which the service knows it and hardware serves it.
  ///
  /// It differs from account to account, and changes when the app is installed anew. It is derived
  /// from the storage secret. All apps whose secret is missing, unreadable or open to others have
  /// the same name. The call reads the app's storage, and waits for a measurement in progress.
  ///
  /// - Returns: The name.
  /// - Throws: ``AttestorError/notInitialized``, ``AttestorError/notMeasured(_:)``.
  public func instance() throws(AttestorError) -> InstanceID {
    guard let session = state.withLock({ $0.session }) else { throw .notInitialized }
    do throws(ProofError) {
      let observation = try surroundings.observer.observe(
        [InstanceID.secret], policy: session.pace.policy, limitLog2: session.pace.limitLog2,
        cancellation: Cancellation())
      return InstanceID(of: observation.evidence, account: session.initial.account)
    } catch {
      throw .notMeasured(error)
    }
  }

  /// Sets the account's development key, with which an unregistered app passes; nil for none. At
  /// most 1,024 bytes; a longer one is ignored.
  public func setDevelopmentKey(_ key: String?) {
    let key = key ?? ""
    guard key.utf8.count <= AttestationWire.textMax else { return }
    change(\.developmentKey, to: key)
  }

  /// Binds the tokens that are fetched from now on to data: their `pay` claim is the SHA-256 of its
  /// UTF-8 bytes. The data itself never leaves the app. Nil for no binding.
  ///
  /// The same data again changes nothing; other data makes the next fetch a new attestation.
  public func setDataHash(of data: String?) {
    change(\.dataHash, to: data.map { Digest(hashing: Array($0.utf8)) })
  }

  /// Sets a statement of the app that the account's operators see with the device; nil for none.
  /// `$error` marks a measurement that did not match.
  ///
  /// Characters beyond ASCII are removed; if more than 128 are left it is ignored.
  public func setUserProperty(_ property: String?) {
    let ascii = (property ?? "").unicodeScalars.filter(\.isASCII)
    guard ascii.count <= AttestationWire.userPropertyMax else { return }
    change(\.userProperty, to: String(String.UnicodeScalarView(ascii)))
  }

  /// Sets the activity that the app was started for, such as a screen or a link; nil for none.
  ///
  /// The account's service then reports, and annotates in tokens, whether the app seems to have
  /// been started by another program rather than by a person: neither from a desktop nor at a
  /// terminal.
  public func setActivity(_ activity: String?) {
    change(\.activity, to: activity.map { Activity(name: $0, launch: CoreSystem.launch) })
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
  public func messageSignature(of message: String) -> String? {
    state.withLock { $0.session?.messageKey(for: message) }
      .map { Base64.encode($0.signature(of: message)) }
  }

  // MARK: Proofs

  /// Proves that app, environment and device are as they were measured. Needs no network.
  ///
  /// - Parameters:
  ///   - nonce: Exactly 16 bytes that no proof answered before.
  ///   - config: The bytes of the ``FetchResult/measurementConfig`` that the app kept.
  /// - Returns: The proof, 32 bytes.
  /// - Throws: ``/ProofModel/ProofError/wrongLength(of:expected:actual:)`` for another nonce, the
  ///   errors of ``/ProofModel/MeasurementConfig`` for bytes that are not one, and the errors of
  ///   ``Prover/integrityMeasurementProof(nonce:)-(ProofNonce)``.
  public func integrityMeasurementProof(
    nonce: [UInt8], config: [UInt8]
  ) throws(ProofError) -> Proof {
    try integrityMeasurementProof(nonce: ProofNonce(nonce), config: MeasurementConfig(config))
  }

  /// Proves that app, environment and device are as they were measured. Needs no network.
  public func integrityMeasurementProof(
    nonce: ProofNonce, config: MeasurementConfig
  ) throws(ProofError) -> Proof {
    try Self.prove(.integrity, nonce, config, surroundings.observer, surroundings.key)
  }

  /// Proves that the device is as it was measured; app and SDK may have been updated since. Needs no
  /// network.
  ///
  /// - Parameters:
  ///   - nonce: Exactly 16 bytes that no proof answered before.
  ///   - config: The bytes of the ``FetchResult/measurementConfig`` that the app kept.
  /// - Returns: The proof, 32 bytes.
  /// - Throws: The errors of ``integrityMeasurementProof(nonce:config:)-([UInt8],[UInt8])``, except
  ///   the one for another SDK.
  public func deviceMeasurementProof(
    nonce: [UInt8], config: [UInt8]
  ) throws(ProofError) -> Proof {
    try deviceMeasurementProof(nonce: ProofNonce(nonce), config: MeasurementConfig(config))
  }

  /// Proves that the device is as it was measured; app and SDK may have been updated since. Needs no
  /// network.
  public func deviceMeasurementProof(
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
