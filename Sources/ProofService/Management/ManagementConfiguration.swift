// SPDX-License-Identifier: Apache-2.0

public import ProofJOSE
public import ProofModel

// Pins, the configuration and builds of the SDK.

extension Management {
  // MARK: Pins and configuration

  /// The pins by host; `*` for trusted roots.
  public func pins() throws(ServiceError) -> [HostPins] { try store.all(HostPins.self) }

  /// Sets the pins of a host. With no pins the host is known, and not pinned.
  public func set(_ pins: HostPins) throws(ServiceError) {
    try changeConfiguration([.put(.pin, pins.host, pins.bytes)])
  }

  /// Removes a host's pins.
  ///
  /// - Throws: ``ServiceError/unknown(_:name:)``.
  public func removePins(_ host: String) throws(ServiceError) {
    _ = try one(host.lowercased(), HostPins.self)
    try changeConfiguration([.remove(.pin, host.lowercased())])
  }

  /// Makes apps that hold older pins apply the present ones at once.
  ///
  /// - Parameter confirmation: `YES`: running apps may have to restart for it.
  /// - Throws: ``ServiceError/notConfirmed``.
  public func forcePins(confirmation: String) throws(ServiceError) {
    guard confirmation == "YES" else { throw .notConfirmed }
    try changeConfiguration { settings in settings.forcedPinsSerial = settings.serial }
  }

  /// Serial, address and pins of the service.
  public func configuration() throws(ServiceError) -> ConfigurationSettings {
    try account.snapshot().configuration
  }

  /// Sets the service's address.
  ///
  /// - Throws: ``ServiceError/invalid(_:value:allowed:)``.
  public func setURL(_ url: String) throws(ServiceError) {
    let url = try ServiceURL.checked(url)
    try changeConfiguration(keyed: { settings, _ throws(ServiceError) in
      try RegionAddresses.checkDifferent(url, settings.failover)
      settings.url = url
    })
  }

  /// Sets the address that apps use while the first one does not answer.
  ///
  /// - Parameter url: The address, or nil for none.
  /// - Throws: ``ServiceError/invalid(_:value:allowed:)``.
  public func setFailover(_ url: String?) throws(ServiceError) {
    let url = try url.map { url throws(ServiceError) in try ServiceURL.checked(url) }
    try changeConfiguration(keyed: { settings, _ throws(ServiceError) in
      try RegionAddresses.checkDifferent(settings.url, url)
      settings.failover = url
    })
  }

  /// Sets the addresses of a region. The pins of the service hold for each of them.
  ///
  /// - Parameters:
  ///   - name: 1 to 32 characters of a-z, 0-9 and `-`, not `home`.
  ///   - addresses: The addresses; nil removes the region, whose apps then fetch nothing.
  /// - Throws: ``ServiceError/invalid(_:value:allowed:)``, ``ServiceError/unknown(_:name:)``.
  public func setRegion(
    _ name: String, to addresses: RegionAddresses?
  ) throws(ServiceError) {
    try RegionAddresses.check(name: name)
    try changeConfiguration(keyed: { settings, _ throws(ServiceError) in
      guard addresses != nil || settings.regions[name] != nil else {
        throw .unknown("region", name: name)
      }
      settings.regions[name] = addresses
      guard settings.regions.count <= RegionAddresses.countMax else {
        throw .invalid("region", value: name, allowed: "at most \(RegionAddresses.countMax)")
      }
    })
  }

  /// Sets the pins of the service itself; an empty list for no pins.
  ///
  /// - Throws: ``ServiceError/invalid(_:value:allowed:)``.
  public func setServicePins(_ pins: [String]) throws(ServiceError) {
    for pin in pins { try HostPins.check(pin) }
    try changeConfiguration { $0.servicePins = pins }
  }

  /// The short initial configuration, `#ACCOUNT@HOST:PORT#FINGERPRINT`.
  public func initialConfiguration() throws(ServiceError) -> String {
    let snapshot = try account.snapshot()
    return AccountConfiguration.initial(
      account.name, snapshot.configuration, snapshot.configurationKey.key)
  }

  /// The signed configuration, as the service gives it to apps.
  public func signedConfiguration() throws(ServiceError) -> String {
    try account.snapshot().signedConfiguration
  }

  func changeConfiguration(_ changes: [StoreChange]) throws(ServiceError) {
    try changeConfiguration(with: changes) { _ in }
  }

  /// Makes changes that apps must know of, under the next serial. Concurrent changes run one after
  /// the other: the second finds a newer document, and starts over with it.
  ///
  /// - Throws: ``ServiceError/invalid(_:value:allowed:)`` if the configuration would exceed its
  ///   limits.
  func changeConfiguration(
    with changes: [StoreChange] = [], _ change: (inout ConfigurationSettings) -> Void
  ) throws(ServiceError) {
    try changeConfiguration(with: changes) { settings, _ in change(&settings) }
  }

  /// The same, where the key may be another afterwards.
  func changeConfiguration(
    with changes: [StoreChange] = [],
    keyed change: (inout ConfigurationSettings, inout [UInt8]) throws(ServiceError) -> Void
  ) throws(ServiceError) {
    while true {
      let place = AccountDocument.configuration
      let present = try ServiceError.ofStore { () throws(StoreError) in
        try store.row(place.rawValue, of: .account)
      }
      guard let present else { throw place.damage }
      var document = try place.fields(in: present)
      guard let before = ConfigurationSettings(document), var key = document.bytes("key") else {
        throw place.damage
      }
      let expected = StoreChange.expect(.account, place.rawValue, present)
      var settings = before
      settings.serial += 1
      settings.changed = now
      try change(&settings, &key)
      try checkRoom(key, before, settings, changes)
      document = settings.fields
      document.set("key", key)
      do {
        try account.apply([expected] + changes + [place.put(document)])
        return
      } catch .store(.changedMeanwhile) {
        continue
      }
    }
  }

  /// Refuses a change that would leave the account without a configuration that can be signed, and
  /// so without service. Refuses nothing while the account has none already, so that an operator can
  /// repair it.
  private func checkRoom(
    _ key: [UInt8], _ before: ConfigurationSettings, _ after: ConfigurationSettings,
    _ changes: [StoreChange]
  ) throws(ServiceError) {
    let apis = try store.all(API.self)
    let pins = try store.all(HostPins.self)
    let signer = try account.key(
      key, at: AccountDocument.configuration.rawValue, .edDSA, id: nil
    ).key
    func isSigned(
      _ settings: ConfigurationSettings, _ apis: [API], _ pins: [HostPins]
    ) throws(ServiceError) -> Bool {
      do {
        _ = try AccountConfiguration.signed(
          account.name, settings, signer,
          apis: Dictionary(apis.map { ($0.host, $0) }) { first, _ in first }, pins: pins)
        return true
      } catch .jose(.tooLong) {
        return false
      }
    }
    guard try !isSigned(after, Self.made(apis, changes), Self.made(pins, changes)),
      try isSigned(before, apis, pins)
    else { return }
    throw .invalid(
      "configuration", value: "too long for apps", allowed: "40 KiB with all APIs and pins")
  }

  /// Applies changes to the records of a kind.
  private static func made<R: Record>(
    _ records: [R], _ changes: [StoreChange]
  ) throws(ServiceError) -> [R] {
    var records = records
    for change in changes {
      switch change {
      case .insert(R.table, let key, let value), .put(R.table, let key, let value):
        records.removeAll { $0.key == key }
        records.append(try R(StoreRow(key, value)))
      case .remove(R.table, let key): records.removeAll { $0.key == key }
      default: break
      }
    }
    return records
  }

  // MARK: Builds of the SDK

  /// The builds of the SDK.
  public func sdkBuilds() throws(ServiceError) -> [SDKBuild] { try store.all(SDKBuild.self) }

  /// Accepts reports of a build from now on.
  ///
  /// - Parameters:
  ///   - key: The measurement proof key of the build: 16 random bytes.
  ///   - name: The name that people use for the build.
  ///   - mode: Whether it is for production or for development.
  ///   - without: The sources that its apps are not asked for.
  /// - Returns: The build.
  /// - Throws: ``ServiceError/alreadyThere(_:name:)``, ``ServiceError/invalid(_:value:allowed:)``.
  @discardableResult
  public func addSDKBuild(
    key: borrowing JOSESecret, name: String, mode: Mode, without: LeftOutSources = .none
  ) throws(ServiceError) -> SDKBuild {
    guard key.count == MeasurementProofKey.byteCount else {
      throw .invalid(
        "size of the measurement proof key", value: "\(key.count) bytes",
        allowed: "\(MeasurementProofKey.byteCount)")
    }
    let id = key.withBytes { bytes in
      (try? MeasurementProofKey(SecretBytes(copying: bytes), mode: mode))?.id
    }
    guard let id else { throw .invalid("measurement proof key", value: "", allowed: "16 bytes") }
    var build = SDKBuild(
      id, mode, name: try Self.checked(name: name), added: now,
      sealedKey: account.vault.seal(key, for: SDKBuild.place(of: id)))
    build.sourcesWithout = without
    try add(build)
    return build
  }

  /// Sets the sources that apps with a build's key are not asked for, beside those of the policy.
  /// It applies from the next challenge on.
  ///
  /// - Throws: ``ServiceError/unknown(_:name:)``.
  public func setSources(
    without: LeftOutSources, ofSDKBuild id: KeyID
  ) throws(ServiceError) {
    try rewrite(id.description, SDKBuild.self) { $0.sourcesWithout = without }
  }

  /// Refuses a build's reports from now on.
  ///
  /// - Throws: ``ServiceError/unknown(_:name:)``.
  public func revokeSDKBuild(_ id: KeyID) throws(ServiceError) {
    try rewrite(id.description, SDKBuild.self) { $0.isRevoked = true }
  }

  /// The measurement proof key of a build, for tools that repeat the app's computation.
  ///
  /// - Throws: ``ServiceError/unknown(_:name:)``.
  public func measurementProofKey(_ id: KeyID) throws(ServiceError) -> MeasurementProofKey {
    try one(id.description, SDKBuild.self).open(with: account.vault)
  }
}
