// SPDX-License-Identifier: Apache-2.0

public import ProofKit

extension Parts {
  /// This app's probe, libcurl, and the system's clocks.
  ///
  /// - Parameter configuration: The app's settings.
  /// - Throws: ``/ProofKit/SetupError``.
  public init(_ configuration: Configuration) throws(SetupError) {
    self.init(
      probe: try Probe(configuration),
      transport: CurlTransport(
        .init(
          authorities: configuration.network.authorities,
          allowsPlainLoopback: configuration.network.allowsPlainLoopback)))
  }
}

extension Attestor {
  /// Checks the configuration and opens the storage folder. Uses no network and measures nothing.
  ///
  ///     let attestor = try Attestor(Configuration(account: account, storage: "state"))
  ///
  /// - Parameter configuration: The app's settings.
  /// - Throws: ``/ProofKit/SetupError``.
  public convenience init(_ configuration: Configuration) throws(SetupError) {
    try self.init(configuration, using: Parts(configuration))
  }
}
