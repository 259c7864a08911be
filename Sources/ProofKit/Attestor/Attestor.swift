// SPDX-License-Identifier: Apache-2.0

package import ProofModel

/// Attests this app to an account's service, and proves it to hardware and protected APIs.
///
/// Make one for each account and keep it. It is safe to use from any thread, and no global state exists.
/// <doc:AppTutorial> shows one in use.
public final class Attestor: Sendable {
  let state: CoreLock<AttestorState>
  let way: ServiceChannel.Way
  let surroundings: AttestationExchange.Surroundings
  /// The folder of everything that the SDK keeps; nil if there is none.
  package let storage: String?
  let watchers: Watchers
  let gates = Gates()
  let pairStore = CoreLock<MeasurementStore?>(nil)
  let enrolments = Turns()

  /// Measures the app.
  package var observer: any EvidenceObserver { surroundings.observer }

  /// Held during an initialisation.
  private let initializing: CoreLock<Void>
  /// Held while a configuration is written.
  private let writing: CoreLock<Void>

  /// Makes an attestor that has no account yet: for ProofMigration, and for tests.
  ///
  /// - Parameters:
  ///   - observer: Observes the app; a ``Probe``.
  ///   - transport: The way to the service.
  ///   - route: The region, the IP versions, or the endpoint of the app's own choice.
  ///   - appName: The app's name in reports; nil for the executable's.
  ///   - installationKey: The key that signs this installation's reports; nil for none.
  ///   - key: This build's key, unless a test has its own.
  ///   - clock: The system's, unless a test has its own.
  ///   - storage: The folder of what the SDK keeps.
  package init(
    observer: any EvidenceObserver, over transport: any Transport,
    route: ServiceRoute = ServiceRoute(), appName: String? = nil,
    installationKey: (any InstallationKey)? = nil,
    key: MeasurementProofKey = .sdk, clock: AttestorClock = .system, storage: String? = nil
  ) {
    way = ServiceChannel.Way(transport: transport, route: route)
    surroundings = AttestationExchange.Surroundings(
      observer: observer, key: key, installationKey: installationKey,
      appName: appName ?? CoreSystem.executableName, clock: clock)
    self.storage = storage
    state = CoreLock(AttestorState())
    watchers = Watchers()
    initializing = CoreLock(())
    writing = CoreLock(())
  }

  /// The same attestor for its own gate sessions, which must not keep the app's object alive: it would
  /// keep them.
  init(sharing other: Attestor) {
    state = other.state
    way = other.way
    surroundings = other.surroundings
    storage = other.storage
    watchers = other.watchers
    initializing = other.initializing
    writing = other.writing
  }

  /// The way newer configurations are stored and found again.
  package enum ConfigurationUpdates: Sendable, Hashable {
    /// The SDK keeps the newest one itself.
    case automatic(ConfigurationStore)
    /// The app stored the text of ``Attestor/accountConfiguration`` and passes it in. A configuration
    /// older than the initial one is not used.
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
  /// configuration, for at most ``AttestorTimes/startUp``. It is no error if the service cannot be
  /// reached. Later starts do not wait for any network.
  ///
  /// Initialise once. A second call with the same configuration and the same comment changes
  /// nothing. Any other call needs a comment that begins with `reinit`, and no fetch in flight. If
  /// it fails, everything stays as it was.
  ///
  /// - Parameters:
  ///   - initialConfig: `#ACCOUNT@HOST:PORT#FINGERPRINT`, or a signed configuration.
  ///   - updates: Where newer configurations come from.
  ///   - comment: Begins with `reinit` to initialise anew, perhaps for another account.
  /// - Throws: ``SetupError``, if it could not be initialised.
  package func initializeAndWait(
    _ initialConfig: String, updates: ConfigurationUpdates = .none, comment: String? = nil
  ) throws(SetupError) {
    let result = initializing.withLock { _ -> Result<Void, SetupError> in
      do throws(SetupError) {
        return .success(try setUp(initialConfig, updates, comment))
      } catch {
        return .failure(error)
      }
    }
    try result.get()
  }

  /// Initialises the SDK without blocking the calling thread, otherwise as
  /// ``initializeAndWait(_:updates:comment:)``.
  package func initialize(
    _ initialConfig: String, updates: ConfigurationUpdates = .none, comment: String? = nil
  ) async throws(SetupError) {
    let result = await withCheckedContinuation { continuation in
      CorePool.requests.run {
        do throws(SetupError) {
          try self.initializeAndWait(initialConfig, updates: updates, comment: comment)
          continuation.resume(returning: Result<Void, SetupError>.success(()))
        } catch {
          continuation.resume(returning: Result<Void, SetupError>.failure(error))
        }
      }
    }
    try result.get()
  }

  private func setUp(
    _ text: String, _ updates: ConfigurationUpdates, _ comment: String?
  ) throws(SetupError) {
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
      // Store that this was the first start, so that the next one does not wait.
      try? self.store(
        session.configuration?.text ?? text, serial: session.configuration?.serial ?? 0,
        of: initial, in: store)
    }
  }

  /// Takes a configuration. Calls begun before keep the session that they began with.
  func begin(_ configuration: Configuration) throws(SetupError) {
    try configuration.isWithinLimits.get()
    let result = initializing.withLock { _ -> Result<Void, SetupError> in
      do throws(SetupError) {
        let initial = try InitialConfiguration(configuration.account)
        let store = ConfigurationStore(folder: configuration.storage)
        let (stored, _) = try held(initial, .automatic(store))
        state.withLock { state in
          if state.session?.initial != initial {
            let number = state.nextNumber()
            state.session = AttestorState.Session(
              initial: initial, comment: nil, store: store, number: number, configuration: stored)
            state.kept = [:]
          }
          let key = configuration.developmentKey ?? ""
          if state.settings.developmentKey != key {
            state.changeSettings { $0.developmentKey = key }
          }
        }
        gates.configure(configuration, account: initial.account)
        return .success(())
      } catch {
        return .failure(error)
      }
    }
    try result.get()
  }

  private func isSetUpNeeded(
    _ initial: InitialConfiguration, _ comment: String?
  ) throws(SetupError) -> Bool {
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

  /// The newest stored configuration, and whether this is the first start.
  private func held(
    _ initial: InitialConfiguration, _ updates: ConfigurationUpdates
  ) throws(SetupError) -> (AccountConfiguration?, isFirstStart: Bool) {
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
      // With no configuration yet, the app was given the initial text: recognise it here.
      if text == initial.text { return (initial.configuration, false) }
      return (newer(try initial.update(text, held: nil)), false)
    }
  }

  /// Asks for a configuration. It returns after the given time even if the transport does not.
  ///
  /// - Returns: Nil if there was no answer; otherwise the newer configuration, if there is one.
  func ask(
    _ session: AttestorState.Session, for time: Duration
  ) -> ServiceChannel.Update? {
    let cancellation = Cancellation()
    let channel = ServiceChannel(
      way, session.initial, held: session.configuration, timeLeft: time,
      clock: surroundings.clock, cancellation: cancellation)
    let answer = Handover<ServiceChannel.Update?>()
    CorePool.fetches.run {
      var channel = channel
      do throws(AttestationExchange.Failure) {
        try channel.reachConfiguration()
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

  /// Stores a configuration that came while the app runs.
  func store(_ configuration: AccountConfiguration, in session: AttestorState.Session) {
    guard let store = session.store else { return }
    // If storing fails, this run uses the configuration, and the next start asks for it again.
    try? self.store(
      configuration.text, serial: configuration.serial, of: session.initial, in: store)
  }

  private func store(
    _ text: String, serial: UInt32, of initial: InitialConfiguration, in store: ConfigurationStore
  ) throws(SetupError) {
    let result = writing.withLock { _ -> Result<Void, SetupError> in
      do throws(SetupError) {
        return .success(try store.write(text, serial: serial, of: initial))
      } catch {
        return .failure(error)
      }
    }
    try result.get()
  }
}
