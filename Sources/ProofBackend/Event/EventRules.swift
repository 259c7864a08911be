// SPDX-License-Identifier: Apache-2.0

public import ProofModel

/// The rules of a range of event numbers, as a redeemer judges by them.
struct EventRules: Sendable, Hashable {
  let numbers: ClosedRange<UInt16>
  /// Seconds before and after a token's moment.
  let window: UInt32
  var needsAccount = false
  var needsData = false
  let allowsUnanchored: Bool
  let measuredMax: UInt8

  /// One rule for every number.
  init(_ settings: EventVerifier.Settings) {
    numbers = 0...UInt16.max
    window = settings.window
    allowsUnanchored = settings.allowsUnanchored
    measuredMax = settings.measuredMax
  }

  /// The rule of a range that the account lists.
  init(_ events: GateConfiguration.Events) {
    numbers = events.numbers
    window = events.life
    needsAccount = events.needsAccount
    needsData = events.needsData
    allowsUnanchored = events.allowsUnanchored
    measuredMax = events.measuredMax
  }
}

extension EventVerifier {
  /// A redeemer that judges as the account says: the numbers that it lists for the audience, and their rules.
  ///
  /// - Parameters:
  ///   - configuration: The gate's configuration, or the part of it for the redeemers of this audience.
  ///   - audience: The audience's name; nil for the one that the configuration is for.
  ///   - name: The redeemer's name: idempotency keys of two redeemers with one store are told apart by it.
  ///   - beacons: The gate's beacon key.
  ///   - replay: A store of this audience alone.
  ///   - settings: Clock and bounds. The account's rules stand in the place of `window`, `allowsUnanchored` and
  ///     `measuredMax`.
  /// - Throws: ``GateConfigurationError/noEvents(_:)``, ``ReplayStoreFailure``.
  public convenience init(
    by configuration: GateConfiguration, for audience: String? = nil, name: String,
    beacons: BeaconKey, replay: any RedemptionStore, settings: Settings = Settings()
  ) throws {
    let events = try configuration.events(for: audience)
    try self.init(
      for: events[0].audience, name: name, beacons: beacons,
      accountKeys: configuration.accountKeys, replay: replay, settings: settings,
      rules: events.map { EventRules($0) }, risks: configuration.risks)
  }
}
