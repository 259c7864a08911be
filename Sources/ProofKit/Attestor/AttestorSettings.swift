public import ProofModel

extension Attestor {
  // MARK: Configuration

  /// Gives out the configuration, for the app to keep and hand in at the next start.
  ///
  /// If the service was not asked for anything yet it is asked for a newer one first, for at most
  /// ``AttestorTimes/configuration``. Clears ``FetchResult/isConfigChanged`` for the fetches that
  /// follow.
  ///
  /// - Returns: The newest configuration, or what the SDK was initialised with if there is none; nil
  ///   if it is not initialised.
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

  /// Gives out the configuration: ``fetchConfigAndWait()`` without blocking a thread of the caller's.
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
  /// - Parameter type: How pins are made.
  /// - Returns: The pins; ``Pins/rule(for:unlisted:)`` says what a connection is held to.
  public func pins(_ type: PinType = .publicKeySHA256) -> Pins? {
    state.withLock { state in
      guard let session = state.session else { return nil }
      state.session?.pinsSerial = session.configuration?.serial ?? 0
      return session.configuration?.pins ?? Pins([:])
    }
  }

  /// The pins as a JSON object of arrays by host: otherwise as ``pins(_:)``.
  ///
  /// - Parameter type: How pins are made.
  /// - Returns: The JSON text, or nil if the SDK is not initialised.
  public func pinsJSON(_ type: PinType = .publicKeySHA256) -> String? { pins(type)?.json }

  // MARK: The app's own statements

  /// The name of this account's app on this device, as the service knows it: 16 bytes in base64. Nil
  /// if the SDK is not initialised or the app cannot be looked at.
  ///
  /// It differs from account to account, and changes when the app is installed anew. It follows from
  /// the storage secret: apps that have none, or whose secret is open to others or cannot be read,
  /// all have one and the same. Reading it looks at the app's storage, and waits for a measurement in
  /// progress.
  public var deviceID: String? {
    guard let session = state.withLock({ $0.session }) else { return nil }
    let observation = try? surroundings.observer.observe(
      [DeviceID.secret], policy: session.pace.policy, limitLog2: session.pace.limitLog2,
      cancellation: Cancellation())
    return observation.map { observation in
      Base64.encode(DeviceID(of: observation.evidence, account: session.initial.account).bytes)
    }
  }

  /// Sets the account's development key, with which an app passes that is not registered; nil for
  /// none. At most 1,024 bytes; a longer one is ignored.
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

  /// Says something of the app that the account's people see with the device; nil for nothing.
  /// `$error` marks a measurement that did not match.
  ///
  /// Characters beyond ASCII are removed; if more than 128 are left it is ignored.
  public func setUserProperty(_ property: String?) {
    let ascii = (property ?? "").unicodeScalars.filter(\.isASCII)
    guard ascii.count <= AttestationWire.userPropertyMax else { return }
    change(\.userProperty, to: String(String.UnicodeScalarView(ascii)))
  }

  /// Says what the app was started for, such as a screen or a link; nil for nothing.
  ///
  /// The account's service can then tell, and annotate in tokens, whether the app seems to have been
  /// started by another program rather than by a person: neither from a desktop nor at a terminal.
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

  /// Signs a message with the account's key, so that an API believes that an app which passed sent it.
  ///
  /// The key comes with each token, if the account has one. An app that failed the attestation has a
  /// random key, and cannot tell. The same key is in each app of the account, so put the token into
  /// the message: it says which app it was, and keeps the signature from being used again later.
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
  /// - Throws: ``/ProofModel/ProofError/wrongLength(of:expected:actual:)`` for another nonce, what
  ///   ``/ProofModel/MeasurementConfig`` throws for bytes that are none, and what
  ///   ``Prover/integrityMeasurementProof(nonce:)-(ProofNonce)`` throws.
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
  /// - Throws: As ``integrityMeasurementProof(nonce:config:)-([UInt8],[UInt8])``, but for another SDK.
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
