// SPDX-License-Identifier: Apache-2.0

public import ProofModel

/// All settings of an ``Attestor``: a value, changed before use or given to
/// ``Attestor/reconfigure(_:)``.
///
///     var configuration = Configuration(account: account, bundle: "files", storage: "state")
///     configuration.network.addressFamily = .v6
///     let attestor = try Attestor(configuration)
public struct Configuration: Sendable {
  /// `#ACCOUNT@HOST:PORT#FINGERPRINT` as `proofctl sdk config-string` prints it, or a signed text.
  public var account: String
  /// The folder that was shipped with the app; nil if the app is one executable.
  public var bundle: String?
  /// Further folders that belong to the app, such as an interpreter's libraries.
  public var folders: [Probe.Folder] = []
  /// The folder of everything that the SDK keeps. It is made with mode 0700 if it is missing.
  public var storage: String
  /// Names (SONAMEs) of the libraries that the app opens at run time.
  public var plugins: [String] = []
  /// The facts that the app withholds. Decided at enrolment: a change needs a renewal.
  public var collection: CollectionMode = []
  /// The way to the service.
  public var network = Network()
  /// Signs this installation's reports; nil for none. An account can demand one.
  public var installationKey: (any InstallationKey)?
  /// Lets builds pass that are not registered. For development only; 1 to 1,024 bytes.
  public var developmentKey: String?
  /// The app's name in reports; nil for the executable's.
  public var appName: String?
  /// Takes log lines.
  public var log = Log.none
  /// Shows a page to a person; nil: such challenges end with an error.
  public var presenter: (any ChallengePresenter)?
  /// The bounds of challenges, and how their pages look.
  public var challenges = ChallengeSettings()

  /// Describes an app.
  ///
  /// - Parameters:
  ///   - account: `#ACCOUNT@HOST:PORT#FINGERPRINT`, or a signed text.
  ///   - bundle: The folder that was shipped with the app.
  ///   - storage: The folder of everything that the SDK keeps.
  public init(account: String, bundle: String? = nil, storage: String) {
    self.account = account
    self.bundle = bundle
    self.storage = storage
  }

  /// The way to the service.
  public struct Network: Sendable, Hashable {
    /// A PEM file whose certificates alone are trusted; nil for those of the system.
    public var authorities: String?
    /// Whether `http` is allowed to this machine itself.
    public var allowsPlainLoopback = false
    /// The IP versions that connections to the service may use.
    public var addressFamily = AddressFamily.any
    /// The addresses that the account lists for a region. Without effect beside an ``endpoint``.
    public var region = ServiceRegion.home
    /// Replaces the account's service address, such as a private endpoint.
    public var endpoint: ServiceEndpoint?

    /// The account's own addresses, over any IP version, under the system's authorities.
    public init() {}

    package var route: ServiceRoute {
      endpoint.map { ServiceRoute(endpoint: $0, addressFamily: addressFamily) }
        ?? ServiceRoute(region: region, addressFamily: addressFamily)
    }
  }

  var isWithinLimits: Result<Void, SetupError> {
    guard let count = developmentKey?.utf8.count else { return .success(()) }
    guard (1...AttestationWire.textMax).contains(count) else {
      return .failure(
        .outOfRange(
          field: "development key", value: "\(count) bytes",
          allowed: "1 to \(AttestationWire.textMax) bytes"))
    }
    return .success(())
  }
}

/// Everything that an ``Attestor`` takes from outside. Tests replace members.
public struct Parts: Sendable {
  /// Observes the app.
  public var probe: any EvidenceObserver
  /// Carries requests to the service and to APIs.
  public var transport: any Transport
  /// Measures lives and deadlines, and has the calendar time.
  public var clock: AttestorClock
  /// This build's key, unless a test has its own.
  package var key = MeasurementProofKey.sdk

  /// Takes parts.
  ///
  /// - Parameters:
  ///   - probe: Observes the app; a ``Probe``.
  ///   - transport: Carries requests.
  ///   - clock: The system's, unless a test has its own.
  public init(
    probe: any EvidenceObserver, transport: any Transport, clock: AttestorClock = .system
  ) {
    self.probe = probe
    self.transport = transport
    self.clock = clock
  }

  /// The parts of an app that uses no network: pairs, proofs and connections to hardware work, and
  /// every fetch ends with “no network”.
  ///
  /// - Parameter configuration: The app's settings.
  /// - Returns: The parts.
  /// - Throws: ``SetupError``.
  public static func offline(_ configuration: Configuration) throws(SetupError) -> Parts {
    Parts(probe: try Probe(configuration), transport: NoNetwork())
  }

  private struct NoNetwork: Transport {
    func send(_ request: TransportRequest) throws(TransportError) -> TransportResponse {
      throw .unreachable("this attestor was made without a network")
    }
  }
}

extension Probe {
  /// Makes the probe of an app, and the storage folder if it is missing.
  ///
  /// - Parameter configuration: The app's settings.
  /// - Throws: ``SetupError``.
  public convenience init(_ configuration: Configuration) throws(SetupError) {
    try StorageFolder.make(configuration.storage)
    do throws(ProofError) {
      try self.init(
        Options(
          bundle: configuration.bundle, folders: configuration.folders,
          storage: configuration.storage, plugins: configuration.plugins,
          collection: configuration.collection))
    } catch {
      throw .notMeasured(error)
    }
  }
}

extension Attestor {
  /// Checks the configuration and opens the storage folder. Uses no network and measures nothing.
  ///
  /// - Parameters:
  ///   - configuration: The app's settings.
  ///   - parts: What the attestor takes from outside. `ProofKitHTTP` has an initialiser that makes them.
  /// - Throws: ``SetupError``.
  public convenience init(
    _ configuration: Configuration, using parts: Parts
  ) throws(SetupError) {
    self.init(
      observer: parts.probe, over: parts.transport, route: configuration.network.route,
      appName: configuration.appName, installationKey: configuration.installationKey,
      key: parts.key, clock: parts.clock, storage: configuration.storage)
    try StorageFolder.make(configuration.storage)
    try begin(configuration)
  }

  /// Replaces the configuration, perhaps by one of another account. Calls begun before end under the
  /// old one. On an error nothing changes.
  ///
  /// Account, development key, log, presenter and challenges can change. Another bundle, storage,
  /// plugin, collection mode, network, name or installation key needs another attestor.
  ///
  /// - Parameter configuration: The new settings.
  /// - Throws: ``SetupError``; ``SetupError/needsNewAttestor(setting:)`` names a setting that cannot
  ///   change.
  public func reconfigure(_ configuration: Configuration) throws(SetupError) {
    if let now = gates.configuration, let setting = configuration.fixed(differingFrom: now) {
      throw .needsNewAttestor(setting: setting)
    }
    try begin(configuration)
  }
}

extension Configuration {
  /// A setting that differs and cannot change; nil for none. Two installation keys cannot be compared:
  /// there is one in both or in none.
  func fixed(differingFrom other: Configuration) -> String? {
    if bundle != other.bundle { return "bundle" }
    if folders != other.folders { return "folders" }
    if storage != other.storage { return "storage" }
    if plugins != other.plugins { return "plugins" }
    if collection != other.collection { return "collection" }
    if network != other.network { return "network" }
    if appName != other.appName { return "appName" }
    if (installationKey == nil) != (other.installationKey == nil) { return "installationKey" }
    return nil
  }
}
