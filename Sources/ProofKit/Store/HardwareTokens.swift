// SPDX-License-Identifier: Apache-2.0

package import ProofModel

/// The measurement tokens of one fetch for one piece of hardware: of the present pair, and of pairs for
/// measurements to come.
///
/// The app asks its backend once for all of them: ``requestBody(for:)`` goes with the measured token.
package struct HardwareTokens: Sendable, Hashable {
  /// The hardware.
  package let hardware: HardwareID
  /// The token of the present pair.
  package let present: StoredToken
  /// One for each pair to come; nil where the hardware takes none.
  package let upcoming: [StoredToken?]

  /// The body of the request that asks for the tokens of all pairs.
  ///
  /// - Parameter upcoming: The pairs to come of a fetch.
  /// - Returns: Their tokens, one a line; empty if there are none.
  package static func requestBody(for upcoming: [UpcomingPair]) -> [UInt8] {
    Array(upcoming.map(\.token).joined(separator: "\n").utf8)
  }

  /// Reads the backend's answer.
  ///
  /// - Parameters:
  ///   - answer: The whole body.
  ///   - pairs: The pairs to come that the request named.
  ///   - hardware: The hardware that the tokens are for.
  /// - Throws: ``MeasurementStoreError/tokenForOther(_:)`` if the answer has another number of tokens, or
  ///   one for other hardware.
  package init(
    _ answer: [UInt8], to pairs: [UpcomingPair], for hardware: HardwareID
  ) throws(MeasurementStoreError) {
    let size = MeasurementToken.byteCount
    // A backend that does not know pairs to come answers with the present token alone.
    guard answer.count == size || answer.count == size * (1 + pairs.count) else {
      throw .tokenForOther(hardware)
    }
    self.hardware = hardware
    present = try Self.token(answer[..<size], hardware)
    var upcoming: [StoredToken?] = []
    for start in stride(from: size, to: answer.count, by: size) {
      let bytes = answer[start..<start + size]
      upcoming.append(
        bytes.allSatisfy { $0 == 0 } ? nil : try Self.token(bytes, hardware))
    }
    self.upcoming = upcoming
  }

  /// The present token alone, of a backend with a protocol of its own.
  init(_ token: MeasurementToken, for hardware: HardwareID) throws(MeasurementStoreError) {
    self.hardware = hardware
    present = try StoredToken(token, for: hardware)
    upcoming = []
  }

  private static func token(
    _ bytes: ArraySlice<UInt8>, _ hardware: HardwareID
  ) throws(MeasurementStoreError) -> StoredToken {
    guard let token = try? MeasurementToken(Array(bytes)) else { throw .tokenForOther(hardware) }
    return try StoredToken(token, for: hardware)
  }
}

extension StoredMeasurement {
  /// The pairs of a fetch: the present one, then those to come that have a token.
  ///
  /// - Parameters:
  ///   - config: The present pair's configuration.
  ///   - instance: The installation that was measured.
  ///   - pairs: The pairs to come.
  ///   - tokens: The tokens of each piece of hardware.
  /// - Returns: The present pair, and the others in the order of their generations.
  /// - Throws: As ``init(_:tokens:)``.
  static func pairs(
    _ config: MeasurementConfig, of instance: InstanceID, with pairs: [UpcomingPair],
    _ tokens: [HardwareTokens]
  ) throws(MeasurementStoreError) -> (present: StoredMeasurement, upcoming: [StoredMeasurement]) {
    let present = try StoredMeasurement(
      config, of: instance, tokens: tokens.map(\.present))
    var upcoming: [StoredMeasurement] = []
    for (index, pair) in pairs.enumerated() {
      let own = tokens.compactMap { index < $0.upcoming.count ? $0.upcoming[index] : nil }
      guard !own.isEmpty else { continue }
      upcoming.append(try StoredMeasurement(pair.config, of: instance, tokens: own))
    }
    return (present, upcoming)
  }
}
