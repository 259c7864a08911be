public import ProofModel

/// The app's side of the token fetch: attests the app to its account's service, and hands out the
/// tokens, secure strings and pins it gets.
///
/// Fetches never throw for what happens outside the app: a ``FetchResult`` says how it went and what
/// to do. Proofs need neither network nor initialisation.
/// <doc:AppDeveloper> shows one at work.
public final class Attestor: Sendable {
  let state = CoreLock(AttestorState())
  let transport: any Transport
  let surroundings: AttestationExchange.Surroundings
  /// One initialisation at a time.
  private let initializing = CoreLock(())
  /// One configuration is written at a time.
  private let writing = CoreLock(())

  /// Makes an attestor that is not initialised yet.
  ///
  /// - Parameters:
  ///   - observer: Observes the app; a ``Probe``.
  ///   - transport: The way to the service.
  ///   - appName: The app's name in reports; nil for the executable's.
  ///   - installationKey: The key that signs this installation's reports; nil for none. An account can
  ///     demand one (`policy set installation-key=signed` or `hardware`).
  ///   - key: This build's key, unless a test has its own.
  ///   - clock: The system's, unless a test has its own.
  public init(
    observer: any EvidenceObserver, over transport: any Transport, appName: String? = nil,
    installationKey: (any InstallationKey)? = nil,
    key: MeasurementProofKey = .sdk, clock: AttestorClock = .system
  ) {
    self.transport = transport
    surroundings = AttestationExchange.Surroundings(
      observer: observer, key: key, installationKey: installationKey,
      appName: appName ?? CoreSystem.executableName, clock: clock)
  }

  /// The way newer configurations are stored and found again.
  public enum ConfigurationUpdates: Sendable, Hashable {
    /// The SDK keeps the newest one itself.
    case automatic(ConfigurationStore)
    /// The app kept what ``Attestor/fetchConfig()`` gave it and hands it in. One that is older than
    /// the initial configuration is not used.
    case given(String)
    /// Newer configurations are not stored.
    case none

    fileprivate var store: ConfigurationStore? {
      if case .automatic(let store) = self { store } else { nil }
    }
  }

  /// Initialises the SDK.
  ///
  /// At the very first start with ``ConfigurationUpdates/automatic(_:)`` it asks the service for a
  /// configuration, for at most ``AttestorTimes/startUp``; that the service cannot be reached is no
  /// error. Otherwise it does not wait for any network.
  ///
  /// It is done once. A second time the same configuration with the same comment is accepted and
  /// changes nothing; anything else needs a comment that begins with `reinit`, and that no fetch is
  /// in flight. If it fails, everything stays as it was.
  ///
  /// - Parameters:
  ///   - initialConfig: `#ACCOUNT@HOST:PORT#FINGERPRINT`, or a signed configuration.
  ///   - updates: Where newer configurations come from.
  ///   - comment: Begins with `reinit` to initialise anew, perhaps for another account.
  /// - Throws: Why it is not initialised.
  public func initializeAndWait(
    _ initialConfig: String, updates: ConfigurationUpdates = .none, comment: String? = nil
  ) throws(AttestorError) {
    let result = initializing.withLock { _ -> Result<Void, AttestorError> in
      do throws(AttestorError) {
        return .success(try setUp(initialConfig, updates, comment))
      } catch {
        return .failure(error)
      }
    }
    try result.get()
  }

  /// Initialises the SDK, without blocking a thread of the caller's:
  /// ``initializeAndWait(_:updates:comment:)`` says how.
  public func initialize(
    _ initialConfig: String, updates: ConfigurationUpdates = .none, comment: String? = nil
  ) async throws(AttestorError) {
    let result = await withCheckedContinuation { continuation in
      CoreThread.run {
        do throws(AttestorError) {
          try self.initializeAndWait(initialConfig, updates: updates, comment: comment)
          continuation.resume(returning: Result<Void, AttestorError>.success(()))
        } catch {
          continuation.resume(returning: Result<Void, AttestorError>.failure(error))
        }
      }
    }
    try result.get()
  }

  private func setUp(
    _ text: String, _ updates: ConfigurationUpdates, _ comment: String?
  ) throws(AttestorError) {
    let initial = try InitialConfiguration(text)
    guard try isSetUpNeeded(initial, comment) else { return }
    let number = state.withLock { $0.nextNumber() }
    let (configuration, isFirstStart) = try held(initial, updates)
    var session = AttestorState.Session(
      initial: initial, comment: comment, store: updates.store, number: number,
      configuration: configuration)
    if isFirstStart {
      let update = ask(session, for: AttestorTimes.startUp)
      session.hasAsked = update != nil
      session.configuration = update?.configuration ?? configuration
    }
    let inFlight = state.withLock { state -> Int in
      guard state.flights.isEmpty || state.session == nil else { return state.flights.count }
      state.session = session
      state.kept = [:]
      return 0
    }
    guard inFlight == 0 else { throw .fetchesInFlight(count: inFlight) }
    if isFirstStart, let store = session.store {
      // That it was the first start is kept too: the next one does not wait.
      try? self.store(
        session.configuration?.text ?? text, serial: session.configuration?.serial ?? 0,
        of: initial, in: store)
    }
  }

  private func isSetUpNeeded(
    _ initial: InitialConfiguration, _ comment: String?
  ) throws(AttestorError) -> Bool {
    let (session, inFlight) = state.withLock { ($0.session, $0.flights.count) }
    guard let session else { return true }
    if comment?.hasPrefix("reinit") == true {
      guard inFlight == 0 else { throw .fetchesInFlight(count: inFlight) }
      return true
    }
    guard session.initial == initial && session.comment == comment else {
      throw .alreadyInitialized(account: session.initial.account)
    }
    return false
  }

  /// The newest configuration that is here, and whether nothing is known of a start before.
  private func held(
    _ initial: InitialConfiguration, _ updates: ConfigurationUpdates
  ) throws(AttestorError) -> (AccountConfiguration?, isFirstStart: Bool) {
    func newer(_ update: AccountConfiguration) -> AccountConfiguration? {
      update.serial < initial.configuration?.serial ?? 0 ? initial.configuration : update
    }
    switch updates {
    case .none: return (initial.configuration, false)
    case .automatic(let store):
      switch try store.read(initial) {
      case .nothing: return (initial.configuration, true)
      case .start: return (initial.configuration, false)
      case .configuration(let stored): return (newer(stored), false)
      }
    case .given(let text):
      // With no configuration yet, `fetchConfig` gave out the initial text: recognise it here.
      if text == initial.text { return (initial.configuration, false) }
      return (newer(try initial.update(text, held: nil)), false)
    }
  }

  /// Asks for a configuration, and waits no longer than told even if the transport does.
  ///
  /// - Returns: Nil if there was no answer; otherwise the newer configuration, if there is one.
  func ask(
    _ session: AttestorState.Session, for time: Duration
  ) -> ServiceChannel.Update? {
    let cancellation = Cancellation()
    let channel = ServiceChannel(
      transport, session.initial, held: session.configuration, timeLeft: time,
      clock: surroundings.clock, cancellation: cancellation)
    let answer = Handover<ServiceChannel.Update?>()
    CoreThread.run {
      var channel = channel
      do throws(AttestationExchange.Failure) {
        try channel.updateConfiguration()
        answer.give(ServiceChannel.Update(configuration: channel.newConfiguration))
      } catch {
        answer.give(nil)
      }
    }
    guard let update = answer.wait(for: time) else {
      cancellation.cancel()
      return nil
    }
    return update
  }

  /// Keeps a configuration that came while the app runs.
  func store(_ configuration: AccountConfiguration, in session: AttestorState.Session) {
    guard let store = session.store else { return }
    // If storing fails, this run uses the configuration, and the next start asks for it again.
    try? self.store(
      configuration.text, serial: configuration.serial, of: session.initial, in: store)
  }

  private func store(
    _ text: String, serial: UInt32, of initial: InitialConfiguration, in store: ConfigurationStore
  ) throws(AttestorError) {
    let result = writing.withLock { _ -> Result<Void, AttestorError> in
      do throws(AttestorError) {
        return .success(try store.write(text, serial: serial, of: initial))
      } catch {
        return .failure(error)
      }
    }
    try result.get()
  }
}
