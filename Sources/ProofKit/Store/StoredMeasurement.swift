// SPDX-License-Identifier: Apache-2.0

package import ProofModel

/// A measurement token as the app stores it: with its hardware and its form.
package struct StoredToken: Sendable, Hashable {
  /// The hardware that can open it.
  package let hardware: HardwareID
  /// The form of its secrets, which the app needs to make matching proofs.
  package let form: TokenForm
  /// The token.
  package let token: MeasurementToken

  /// Makes a stored token of a backend's answer.
  ///
  /// - Parameters:
  ///   - token: The token.
  ///   - hardware: The hardware that it was asked for.
  ///   - form: ``/ProofModel/TokenForm/literal`` only if the app asked for that form.
  /// - Throws: ``MeasurementStoreError/tokenForOther(_:)``.
  package init(
    _ token: MeasurementToken, for hardware: HardwareID, form: TokenForm = .diversified
  ) throws(MeasurementStoreError) {
    guard token.mayBe(for: hardware) else { throw .tokenForOther(hardware) }
    self.hardware = hardware
    self.form = form
    self.token = token
  }
}

/// A measurement configuration and the tokens made from its measurement: one pair, because neither
/// is of use with another generation of the other.
package struct StoredMeasurement: Sendable, Hashable {
  /// The most tokens that one pair holds.
  package static let tokenCountMax = 256

  /// The instance that the service measured.
  package let instance: InstanceID
  /// The configuration to measure under.
  package let config: MeasurementConfig
  /// One token for each piece of hardware, in order of the hardware's id.
  package internal(set) var tokens: [StoredToken]

  /// The configuration's generation, which is that of the tokens too.
  package var generation: UInt32 { config.generation }

  /// Puts a pair together.
  ///
  /// - Parameters:
  ///   - config: The configuration.
  ///   - instance: The instance that the service measured.
  ///   - tokens: The tokens that backends made from this very measurement.
  /// - Throws: ``MeasurementStoreError/repeatedHardware(_:)``,
  ///   ``MeasurementStoreError/tooManyTokens(count:allowed:)``.
  package init(
    _ config: MeasurementConfig, of instance: InstanceID, tokens: [StoredToken] = []
  ) throws(MeasurementStoreError) {
    self.config = config
    self.instance = instance
    let sorted = tokens.sorted { $0.hardware.precedes($1.hardware) }
    for (one, other) in zip(sorted, sorted.dropFirst()) where one.hardware == other.hardware {
      throw .repeatedHardware(one.hardware)
    }
    self.tokens = sorted
    try check()
  }

  /// Makes a pair from the result of a `?measurement` fetch, and the tokens that backends made from
  /// it.
  ///
  /// Store only the pair. A new configuration without its token would replace an older pair that
  /// still opens doors.
  ///
  /// - Parameters:
  ///   - result: A result with a ``FetchResult/measurementConfig``.
  ///   - tokens: The tokens that backends made from this very measurement.
  /// - Throws: ``MeasurementStoreError/noMeasurement(_:)``, and the errors of
  ///   ``init(_:of:tokens:)``.
  package init(
    _ result: FetchResult, tokens: [StoredToken] = []
  ) throws(MeasurementStoreError) {
    guard let config = result.measurementConfig, let instance = result.instance else {
      throw .noMeasurement(AttestationError(result))
    }
    try self.init(config, of: instance, tokens: tokens)
  }

  /// The token for a piece of hardware, if there is one.
  ///
  /// - Parameter hardware: The hardware.
  /// - Returns: The token, or nil.
  package func token(for hardware: HardwareID) -> StoredToken? {
    tokens.first { $0.hardware == hardware }
  }

  /// A copy with one token more, or with another one for its hardware.
  func adding(_ token: StoredToken) throws(MeasurementStoreError) -> StoredMeasurement {
    var changed = removing(token.hardware)
    let place = changed.tokens.firstIndex { token.hardware.precedes($0.hardware) }
    changed.tokens.insert(token, at: place ?? changed.tokens.endIndex)
    try changed.check()
    return changed
  }

  /// A copy that lacks a hardware's token.
  func removing(_ hardware: HardwareID) -> StoredMeasurement {
    var changed = self
    changed.tokens.removeAll { $0.hardware == hardware }
    return changed
  }

  private func check() throws(MeasurementStoreError) {
    guard tokens.count <= Self.tokenCountMax else {
      throw .tooManyTokens(count: tokens.count, allowed: Self.tokenCountMax)
    }
  }
}

extension HardwareID {
  /// The order of ids in a stored measurement: as byte strings.
  func precedes(_ other: HardwareID) -> Bool {
    bytes.lexicographicallyPrecedes(other.bytes)
  }
}
