// SPDX-License-Identifier: Apache-2.0

/// The claims of a measurement: integrity measurement (`imh`), device measurement (`dmh`),
/// measurement proof key (`mpk`) and, if the service sent it, device proof key (`dpk`). Secret.
///
/// They are stored in one block of memory for secrets. Copies of the value share the block, which
/// is wiped with the last of them.
public struct MeasurementClaims: Sendable {
  private let secret: SharedSecret

  private static let integrity = 0..<32
  private static let device = 32..<64
  private static let key = 64..<80
  private static let deviceKey = 80..<96

  /// The length of an integrity or device measurement, in bytes.
  public static var measurementByteCount: Int { integrity.count }
  /// The length of a measurement proof key, in bytes.
  public static var proofKeyByteCount: Int { key.count }

  /// Names, places and order of the claims.
  static let parts = [("imh", integrity), ("dmh", device), ("mpk", key)]
  /// The claim that may be missing.
  static let optionalPart = ("dpk", deviceKey)

  init(_ secret: consuming JOSESecret) {
    precondition([Self.key.upperBound, Self.deviceKey.upperBound].contains(secret.count))
    self.secret = SharedSecret(secret)
  }

  /// Copies a measurement.
  ///
  /// - Parameters:
  ///   - integrityMeasurement: 32 bytes.
  ///   - deviceMeasurement: 32 bytes.
  ///   - proofKey: 16 bytes.
  /// - Throws: ``JOSEError/claimInvalid(_:_:)``.
  public init(
    integrityMeasurement: Span<UInt8>, deviceMeasurement: Span<UInt8>, proofKey: Span<UInt8>
  ) throws(JOSEError) {
    let counts = [integrityMeasurement.count, deviceMeasurement.count, proofKey.count]
    for (count, (name, range)) in zip(counts, Self.parts) where count != range.count {
      throw .claimInvalid(name, .bytes(range.count))
    }
    self.init(
      JOSESecret(count: Self.key.upperBound) { bytes in
        Self.copy(integrityMeasurement, into: &bytes, at: Self.integrity)
        Self.copy(deviceMeasurement, into: &bytes, at: Self.device)
        Self.copy(proofKey, into: &bytes, at: Self.key)
      })
  }

  /// Copies a measurement with its device proof key.
  ///
  /// - Parameters:
  ///   - integrityMeasurement: 32 bytes.
  ///   - deviceMeasurement: 32 bytes.
  ///   - proofKey: 16 bytes.
  ///   - deviceKey: 16 bytes.
  /// - Throws: ``JOSEError/claimInvalid(_:_:)``.
  public init(
    integrityMeasurement: Span<UInt8>, deviceMeasurement: Span<UInt8>, proofKey: Span<UInt8>,
    deviceKey: Span<UInt8>
  ) throws(JOSEError) {
    let counts = [
      integrityMeasurement.count, deviceMeasurement.count, proofKey.count, deviceKey.count,
    ]
    for (count, (name, range)) in zip(counts, Self.parts + [Self.optionalPart])
    where count != range.count {
      throw .claimInvalid(name, .bytes(range.count))
    }
    self.init(
      JOSESecret(count: Self.deviceKey.upperBound) { bytes in
        Self.copy(integrityMeasurement, into: &bytes, at: Self.integrity)
        Self.copy(deviceMeasurement, into: &bytes, at: Self.device)
        Self.copy(proofKey, into: &bytes, at: Self.key)
        Self.copy(deviceKey, into: &bytes, at: Self.deviceKey)
      })
  }

  private static func copy(
    _ source: Span<UInt8>, into bytes: inout MutableSpan<UInt8>, at range: Range<Int>
  ) {
    for index in source.indices { bytes[range.lowerBound + index] = source[index] }
  }

  /// Whether the device proof key is among the claims.
  public var hasDeviceKey: Bool { secret.count == Self.deviceKey.upperBound }

  /// Lends the integrity measurement: 32 bytes.
  ///
  /// - Parameter body: Reads the bytes. It must not keep copies of them.
  /// - Returns: The result of `body`.
  /// - Throws: The error of `body`.
  public func withIntegrityMeasurement<R: ~Copyable, E: Error>(
    _ body: (Span<UInt8>) throws(E) -> R
  ) throws(E) -> R {
    try with(Self.integrity, body)
  }

  /// Lends the device measurement: 32 bytes.
  ///
  /// - Parameter body: Reads the bytes. It must not keep copies of them.
  /// - Returns: The result of `body`.
  /// - Throws: The error of `body`.
  public func withDeviceMeasurement<R: ~Copyable, E: Error>(
    _ body: (Span<UInt8>) throws(E) -> R
  ) throws(E) -> R {
    try with(Self.device, body)
  }

  /// Lends the measurement proof key: 16 bytes.
  ///
  /// - Parameter body: Reads the bytes. It must not keep copies of them.
  /// - Returns: The result of `body`.
  /// - Throws: The error of `body`.
  public func withProofKey<R: ~Copyable, E: Error>(
    _ body: (Span<UInt8>) throws(E) -> R
  ) throws(E) -> R {
    try with(Self.key, body)
  }

  /// Lends the device proof key: 16 bytes.
  ///
  /// - Parameter body: Reads the bytes. It must not keep copies of them.
  /// - Returns: The result of `body`.
  /// - Throws: ``JOSEError/claimMissing(_:)`` if the service did not send it.
  public func withDeviceKey<R: ~Copyable>(
    _ body: (Span<UInt8>) -> R
  ) throws(JOSEError) -> R {
    guard hasDeviceKey else { throw .claimMissing("dpk") }
    return with(Self.deviceKey, body)
  }

  private func with<R: ~Copyable, E: Error>(
    _ range: Range<Int>, _ body: (Span<UInt8>) throws(E) -> R
  ) throws(E) -> R {
    try secret.withBytes { bytes throws(E) in try body(bytes.extracting(range)) }
  }

  /// The claims, for writing them directly from the block.
  var members: [(name: String, member: JSONMember)] {
    (Self.parts + (hasDeviceKey ? [Self.optionalPart] : [])).map { name, range in
      (name, .secret(secret, range, .standard))
    }
  }
}

extension MeasurementClaims: CustomStringConvertible, CustomReflectable {
  /// A text that contains nothing of the measurement.
  public var description: String { "measurement (secret)" }

  /// Shows nothing of the measurement.
  public var customMirror: Mirror { Mirror(self, children: [:]) }
}
