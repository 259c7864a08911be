/// The three claims of a measurement: integrity measurement (`imh`), device measurement (`dmh`) and
/// measurement proof key (`mpk`). Secret.
///
/// They stand in one block of memory for secrets, which copies of the value share, and which is wiped
/// with the last of them.
public struct MeasurementClaims: Sendable {
  private let secret: SharedSecret

  private static let integrity = 0..<32
  private static let device = 32..<64
  private static let key = 64..<80

  /// How many bytes an integrity or device measurement has.
  public static var measurementByteCount: Int { integrity.count }
  /// How many bytes a measurement proof key has.
  public static var proofKeyByteCount: Int { key.count }

  /// Names, places and order of the claims.
  static let parts = [("imh", integrity), ("dmh", device), ("mpk", key)]

  init(_ secret: consuming JOSESecret) {
    precondition(secret.count == Self.key.upperBound)
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
        for index in integrityMeasurement.indices {
          bytes[Self.integrity.lowerBound + index] = integrityMeasurement[index]
        }
        for index in deviceMeasurement.indices {
          bytes[Self.device.lowerBound + index] = deviceMeasurement[index]
        }
        for index in proofKey.indices { bytes[Self.key.lowerBound + index] = proofKey[index] }
      })
  }

  /// Lends the integrity measurement: 32 bytes.
  ///
  /// - Parameter body: Reads the bytes. It must not keep copies of them.
  /// - Returns: What `body` returns.
  /// - Throws: What `body` throws.
  public func withIntegrityMeasurement<R: ~Copyable, E: Error>(
    _ body: (Span<UInt8>) throws(E) -> R
  ) throws(E) -> R {
    try with(Self.integrity, body)
  }

  /// Lends the device measurement: 32 bytes.
  ///
  /// - Parameter body: Reads the bytes. It must not keep copies of them.
  /// - Returns: What `body` returns.
  /// - Throws: What `body` throws.
  public func withDeviceMeasurement<R: ~Copyable, E: Error>(
    _ body: (Span<UInt8>) throws(E) -> R
  ) throws(E) -> R {
    try with(Self.device, body)
  }

  /// Lends the measurement proof key: 16 bytes.
  ///
  /// - Parameter body: Reads the bytes. It must not keep copies of them.
  /// - Returns: What `body` returns.
  /// - Throws: What `body` throws.
  public func withProofKey<R: ~Copyable, E: Error>(
    _ body: (Span<UInt8>) throws(E) -> R
  ) throws(E) -> R {
    try with(Self.key, body)
  }

  private func with<R: ~Copyable, E: Error>(
    _ range: Range<Int>, _ body: (Span<UInt8>) throws(E) -> R
  ) throws(E) -> R {
    try secret.withBytes { bytes throws(E) in try body(bytes.extracting(range)) }
  }

  /// The claims, to be written from where they stand.
  var members: [(name: String, member: JSONMember)] {
    Self.parts.map { name, range in (name, .secret(secret, range, .standard)) }
  }
}

extension MeasurementClaims: CustomStringConvertible, CustomReflectable {
  /// Nothing of the measurement.
  public var description: String { "measurement (secret)" }

  /// Shows nothing of the measurement.
  public var customMirror: Mirror { Mirror(self, children: [:]) }
}
