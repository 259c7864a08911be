// SPDX-License-Identifier: Apache-2.0

public import ProofApp
import ProofKit
import ProofModel

/// The calls of an attestation SDK for phones, for apps that migrate: docs/MIGRATION.md has the table.
///
/// It holds the state that these calls need, such as flags that a read clears. New code uses
/// ``/ProofKit/Attestor``, which has none.
public final class FetchCalls: Sendable {
  private struct State {
    /// The serial of the configuration that the app has.
    var configSerial: UInt32 = 0
    /// The pins that the app read last.
    var pins: Pins?
    var isInitialized = false
  }

  /// The attestor behind the calls.
  public let attestor: Attestor
  private let state = CoreLock(State())

  /// Makes calls that are not initialised.
  ///
  /// - Parameters:
  ///   - configuration: The app's settings. ``initialize(_:updates:comment:)`` gives the account;
  ///     `account` does not count.
  ///   - parts: What the attestor takes from outside.
  public init(_ configuration: Configuration, using parts: Parts) {
    attestor = Attestor(
      observer: parts.probe, over: parts.transport, route: configuration.network.route,
      appName: configuration.appName, installationKey: configuration.installationKey,
      key: parts.key, clock: parts.clock, storage: configuration.storage)
    attestor.setDevelopmentKey(configuration.developmentKey)
  }

  /// Makes calls that are not initialised, with this app's probe, libcurl and the system's clocks.
  ///
  /// - Parameter configuration: The app's settings.
  /// - Throws: ``/ProofKit/SetupError``.
  public convenience init(_ configuration: Configuration) throws(SetupError) {
    self.init(configuration, using: try Parts(configuration))
  }

  // MARK: Initialisation

  /// Where newer configurations come from.
  public enum Updates: Sendable, Hashable {
    /// The SDK keeps the newest one in this folder.
    case automatic(folder: String)
    /// The app stored the text of ``FetchCalls/fetchConfig()`` and passes it in.
    case given(String)
    /// Newer configurations are not stored.
    case none

    fileprivate var updates: Attestor.ConfigurationUpdates {
      switch self {
      case .automatic(let folder): .automatic(ConfigurationStore(folder: folder))
      case .given(let text): .given(text)
      case .none: .none
      }
    }
  }

  /// Initialises. The very first start with ``Updates/automatic(folder:)`` asks the service for a
  /// configuration, for at most 2 s.
  ///
  /// A second call with the same text and comment changes nothing. Any other call needs a comment that
  /// begins with `reinit`, and no fetch in flight.
  ///
  /// - Parameters:
  ///   - initialConfig: `#ACCOUNT@HOST:PORT#FINGERPRINT`, or a signed configuration.
  ///   - updates: Where newer configurations come from.
  ///   - comment: Begins with `reinit` to initialise anew.
  /// - Throws: ``/ProofKit/SetupError``.
  public func initializeAndWait(
    _ initialConfig: String, updates: Updates = .none, comment: String? = nil
  ) throws(SetupError) {
    let before = attestor.sessionNumber
    try attestor.initializeAndWait(initialConfig, updates: updates.updates, comment: comment)
    begin(since: before)
  }

  /// Initialises without blocking the calling thread, as ``initializeAndWait(_:updates:comment:)`` does.
  public func initialize(
    _ initialConfig: String, updates: Updates = .none, comment: String? = nil
  ) async throws(SetupError) {
    let before = attestor.sessionNumber
    try await attestor.initialize(initialConfig, updates: updates.updates, comment: comment)
    begin(since: before)
  }

  private func begin(since before: UInt64?) {
    guard attestor.sessionNumber != before else { return }
    let serial = attestor.pins.serial
    state.withLock { state in
      state = State(configSerial: serial, pins: nil, isInitialized: true)
    }
  }

  // MARK: Fetches

  /// Fetches a token. With `?measurement` at the end of `domain` the app is measured, and the result has
  /// the configuration to keep.
  public func fetchToken(for domain: String) async throws(CancellationError) -> FetchResult {
    result(try await attestor.fetchToken(for: domain))
  }

  /// Fetches a token, blocking the calling thread for at most `time`.
  public func fetchTokenAndWait(
    for domain: String, within time: Duration = AttestorTimes.wait
  ) -> FetchResult {
    result(attestor.fetchTokenAndWait(for: domain, within: time))
  }

  /// Fetches a token, and calls back on another thread.
  public func fetchToken(
    for domain: String, completion: @escaping @Sendable (FetchResult) -> Void
  ) {
    attestor.fetchToken(for: domain) { completion(self.result($0)) }
  }

  /// Fetches a secure string of the account, or defines one at the service. A definition of nil leaves
  /// it, an empty one removes it.
  public func fetchSecureString(
    _ key: String, newDefinition: String? = nil
  ) async throws(CancellationError) -> FetchResult {
    result(try await attestor.fetchSecureString(key, newDefinition: newDefinition))
  }

  /// Fetches or defines a secure string, blocking the calling thread for at most `time`.
  public func fetchSecureStringAndWait(
    _ key: String, newDefinition: String? = nil, within time: Duration = AttestorTimes.wait
  ) -> FetchResult {
    result(attestor.fetchSecureStringAndWait(key, newDefinition: newDefinition, within: time))
  }

  /// Fetches or defines a secure string, and calls back on another thread.
  public func fetchSecureString(
    _ key: String, newDefinition: String? = nil,
    completion: @escaping @Sendable (FetchResult) -> Void
  ) {
    attestor.fetchSecureString(key, newDefinition: newDefinition) {
      completion(self.result($0))
    }
  }

  /// Fetches a token with claims of the app's own.
  public func fetchCustomJWT(_ payload: String) async throws(CancellationError) -> FetchResult {
    result(try await attestor.fetchCustomJWT(payload))
  }

  /// Fetches a token with claims of the app's own, blocking the calling thread for at most `time`.
  public func fetchCustomJWTAndWait(
    _ payload: String, within time: Duration = AttestorTimes.wait
  ) -> FetchResult {
    result(attestor.fetchCustomJWTAndWait(payload, within: time))
  }

  /// Fetches a token with claims of the app's own, and calls back on another thread.
  public func fetchCustomJWT(
    _ payload: String, completion: @escaping @Sendable (FetchResult) -> Void
  ) {
    attestor.fetchCustomJWT(payload) { completion(self.result($0)) }
  }

  private func result(_ fetched: ProofKit.FetchResult) -> FetchResult {
    let newest = attestor.pins
    return state.withLock { state in
      FetchResult(
        fetched, isConfigChanged: state.isInitialized && newest.serial > state.configSerial,
        isForceApplyPins: state.pins.map(newest.mustReplace) ?? false)
    }
  }

  // MARK: Configuration and pins

  /// Returns the newest configuration, for the app to store, and clears
  /// ``FetchResult/isConfigChanged``. Asks the service first if it was not asked for anything yet, for at
  /// most 3 s. Nil if the calls are not initialised.
  public func fetchConfigAndWait() -> String? {
    guard attestor.sessionNumber != nil else { return nil }
    if !attestor.hasAsked { attestor.updateAndWait(within: AttestorTimes.configuration) }
    let serial = attestor.pins.serial
    state.withLock { $0.configSerial = serial }
    return attestor.accountConfiguration
  }

  /// Returns the newest configuration as ``fetchConfigAndWait()`` does, without blocking the calling
  /// thread.
  public func fetchConfig() async -> String? {
    guard attestor.sessionNumber != nil else { return nil }
    if !attestor.hasAsked { try? await attestor.update() }
    let serial = attestor.pins.serial
    state.withLock { $0.configSerial = serial }
    return attestor.accountConfiguration
  }

  /// The way a pin is computed from a certificate.
  public enum PinType: String, Sendable, CaseIterable {
    /// Base64 of SHA-256 of the certificate's SubjectPublicKeyInfo.
    case publicKeySHA256 = "public-key-sha256"
  }

  /// The newest pins; clears ``FetchResult/isForceApplyPins``. Nil if the calls are not initialised.
  public func pins(_ type: PinType = .publicKeySHA256) -> Pins? {
    guard attestor.sessionNumber != nil else { return nil }
    let pins = attestor.pins
    state.withLock { $0.pins = pins }
    return pins
  }

  /// The newest pins as a JSON object of arrays, as ``pins(_:)`` gives them.
  public func pinsJSON(_ type: PinType = .publicKeySHA256) -> String? { pins(type)?.json }

  // MARK: Statements of the app

  /// The installation's name in base64; nil if it cannot be read.
  public var deviceID: String? {
    (try? attestor.readInstance()).map { Base64.encode($0.bytes) }
  }

  /// Sets the development key; nil for none. More than 1,024 bytes are ignored.
  public func setDevelopmentKey(_ key: String?) { attestor.setDevelopmentKey(key) }

  /// Binds the tokens that follow to data; nil ends that.
  public func setDataHash(of data: String?) { attestor.setDataHash(of: data) }

  /// Sets a note for the operators. `$error` marks a measurement that did not match. Characters beyond
  /// ASCII are left out; more than 128 are ignored.
  public func setUserProperty(_ property: String?) { attestor.setUserProperty(property) }

  /// Sets the screen or link that the app was started for. More than 1,024 bytes are ignored.
  public func setActivity(_ activity: String?) { try? attestor.setActivity(activity) }

  /// HMAC-SHA-256 of a message in base64; nil if there is no key.
  public func messageSignature(of message: String) -> String? {
    (try? attestor.signature(of: Array(message.utf8)))?.description
  }

  // MARK: Proofs

  /// Proves app and device to hardware with a protocol of its own.
  public func integrityMeasurementProof(
    nonce: [UInt8], config: [UInt8]
  ) throws(ProofError) -> Proof {
    try attestor.integrityMeasurementProof(nonce: nonce, config: config)
  }

  /// Proves the device alone to hardware with a protocol of its own.
  public func deviceMeasurementProof(
    nonce: [UInt8], config: [UInt8]
  ) throws(ProofError) -> Proof {
    try attestor.deviceMeasurementProof(nonce: nonce, config: config)
  }
}
