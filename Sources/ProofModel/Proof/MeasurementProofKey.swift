// SPDX-License-Identifier: Apache-2.0

/// The measurement proof key (MPK) of one build of the SDK. Secret.
///
/// A value holds a way to load the key rather than its bytes. The app's key is split up in
/// generated code; the service's stands in a ``SecretBytes``. Either way the whole key exists only
/// while a call of the core runs, in memory that is wiped before the call returns.
public struct MeasurementProofKey: Sendable {
  /// The length of a key, in bytes.
  public static var byteCount: Int { 16 }

  let core: CoreKey

  /// Takes a key's bytes over.
  ///
  /// - Parameters:
  ///   - bytes: 16 random bytes.
  ///   - mode: Whether the key is for production or for development.
  /// - Throws: ``ProofError/wrongLength(of:expected:actual:)``.
  public init(_ bytes: consuming SecretBytes, mode: Mode) throws(ProofError) {
    core = try CoreKey(bytes, mode: mode)
  }

  init(core: CoreKey) { self.core = core }

  /// Whether the key is for production or for development.
  public var mode: Mode { core.mode }

  /// The key's public name.
  public var id: KeyID { core.id }

  /// Lends the key's bytes, for as long as the closure runs. The service sends them to the backend.
  package func withBytes<R: ~Copyable>(_ body: (RawSpan) -> R) -> R {
    core.withBytes(body)
  }

  /// The device proof key (DPK) that this key gives under a configuration's salt.
  ///
  /// - Parameter salt: A configuration's salt.
  /// - Returns: 16 bytes.
  public func deviceKey(under salt: Salt) -> SecretBytes { core.deviceKey(under: salt) }
}

extension MeasurementProofKey: CustomStringConvertible {
  /// The key's public name. It never contains the key.
  public var description: String { "measurement proof key \(id)" }
}
