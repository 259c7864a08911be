// SPDX-License-Identifier: Apache-2.0

internal import ProofCore

/// A `pfc_key`, and the block that holds its bytes, if a block does.
@safe
final class CoreKey {
  let mode: Mode
  private let key: pfc_key
  private let bytes: SecretBytes?

  init(_ bytes: consuming SecretBytes, mode: Mode) throws(ProofError) {
    let count = MeasurementProofKey.byteCount
    guard bytes.count == count else {
      throw .wrongLength(
        of: "measurement proof key", expected: count...count, actual: bytes.count)
    }
    self.mode = mode
    unsafe self.key = unsafe bytes.withPointer { unsafe pfc_key_plain($0, mode.rawValue) }
    self.bytes = consume bytes
  }

  init(
    mode: Mode, context: UnsafeRawPointer?,
    load: @escaping @convention(c) (UnsafeMutablePointer<UInt8>?, UnsafeRawPointer?) -> Void
  ) {
    self.mode = mode
    unsafe self.key = unsafe pfc_key(load: load, context: context, mode: mode.rawValue)
    bytes = nil
  }

  func withKey<R: ~Copyable, E: Error>(
    _ body: (UnsafePointer<pfc_key>) throws(E) -> R
  ) throws(E) -> R {
    // `bytes` lives as long as this object, and so longer than the call.
    try unsafe withUnsafePointer(to: key, body)
  }

  var id: KeyID {
    KeyID(
      storage: unsafe InlineBytes { id in
        unsafe withKey { key in unsafe pfc_key_id(id, key) }
      })
  }

  func deviceKey(under salt: Salt) -> SecretBytes {
    unsafe SecretBytes(count: MeasurementProofKey.byteCount) { target in
      unsafe withKey { key in
        unsafe salt.storage.withPointer { salt in
          unsafe pfc_key_device(target.assumingMemoryBound(to: UInt8.self), key, salt)
        }
      }
    }
  }

  /// Writes the key to 16 bytes that the caller wipes.
  func load(into target: UnsafeMutablePointer<UInt8>) { unsafe key.load(target, key.context) }

  /// Loads the key into a block of its own for as long as `body` runs.
  func withLoadedBytes<R: ~Copyable>(_ body: (UnsafePointer<UInt8>) -> R) -> R {
    let loaded = unsafe SecretBytes(count: MeasurementProofKey.byteCount) { target in
      unsafe key.load(target.assumingMemoryBound(to: UInt8.self), key.context)
    }
    return unsafe loaded.withPointer(body)
  }

  /// Lends the loaded bytes as a span.
  func withBytes<R: ~Copyable>(_ body: (RawSpan) -> R) -> R {
    unsafe withLoadedBytes { pointer in
      body(unsafe RawSpan(_unsafeStart: pointer, byteCount: MeasurementProofKey.byteCount))
    }
  }
}

extension CoreKey: @unchecked Sendable {
  // Sendable because everything is set once, the block is read-only, and `load` only reads, so any
  // thread may call it.
}

extension MeasurementProofKey {
  /// A key that a C module loads.
  ///
  /// - Parameters:
  ///   - mode: Whether the key is for the field or for the bench.
  ///   - context: The pointer passed to `load`; it must stay valid for ever.
  ///   - load: Writes 16 bytes to its first argument and keeps no copy; from any thread.
  @unsafe
  package init(
    mode: Mode, context: UnsafeRawPointer?,
    load: @escaping @convention(c) (UnsafeMutablePointer<UInt8>?, UnsafeRawPointer?) -> Void
  ) {
    self.init(core: unsafe CoreKey(mode: mode, context: context, load: load))
  }

  /// Lends the key as another C module of this package takes it.
  ///
  /// - Parameter body: Takes a `pfc_key`, which is valid until it returns.
  /// - Returns: The result of `body`.
  @unsafe
  package func withCoreKey<R>(_ body: (UnsafeRawPointer) -> R) -> R {
    unsafe core.withKey { key in unsafe body(UnsafeRawPointer(key)) }
  }
}
