// SPDX-License-Identifier: Apache-2.0

internal import ProofCore

/// A secret that many values share, in one block.
final class CoreSharedSecret: Sendable {
  let bytes: SecretBytes

  init(_ bytes: consuming SecretBytes) { self.bytes = bytes }
}

/// S, in a block of its own.
final class CoreGateSecret: Sendable {
  private let bytes: SecretBytes

  init(_ bytes: consuming SecretBytes) { self.bytes = bytes }

  convenience init(
    of measurement: CoreMeasurement, for gate: GateID, instance: InstanceID, generation: UInt32,
    with key: CoreKey
  ) {
    self.init(
      unsafe SecretBytes(count: GateSecret.byteCount) { target in
        unsafe key.withKey { key in
          unsafe measurement.withMeasurement(of: .integrity) { integrity in
            unsafe gate.storage.withPointer { gate in
              unsafe instance.storage.withPointer { instance in
                unsafe CoreResult(
                  pfc_gate_secret_make(
                    target.assumingMemoryBound(to: UInt8.self), key, integrity, gate, instance,
                    generation)
                ).mustBeOK()
              }
            }
          }
        }
      })
  }

  static func random() -> CoreGateSecret {
    CoreGateSecret(.random(count: GateSecret.byteCount))
  }

  func keys(_ generation: UInt32, in pool: SecretPool? = nil) -> CoreGateKeys {
    unsafe CoreGateKeys(in: pool) { keys in
      unsafe bytes.withPointer { unsafe pfc_gate_keys_make(keys, $0, generation) }
    }
  }

  func eventKeys(
    _ generation: UInt32, for audience: AudienceID, in pool: SecretPool? = nil
  ) -> CoreCompactKeys {
    unsafe CoreCompactKeys(in: pool) { keys in
      unsafe bytes.withPointer { secret in
        unsafe audience.storage.withPointer { audience in
          unsafe pfc_gate_event_keys_make(keys, secret, generation, audience)
        }
      }
    }
  }

  func copy<Tuple: BitwiseCopyable>(to tuple: inout Tuple) { bytes.copy(to: &tuple) }

  /// Lends S.
  func withBytes<R: ~Copyable, E: Error>(_ body: (RawSpan) throws(E) -> R) throws(E) -> R {
    try bytes.withBytes(body)
  }
}

/// A `pfc_gate_keys`, in one block or in the room of a pool.
final class CoreGateKeys: Sendable {
  let handle: GateHandle
  private let secret: CoreHolder<pfc_gate_keys>

  init(in pool: SecretPool?, filledBy fill: (UnsafeMutablePointer<pfc_gate_keys>) -> Void) {
    secret = unsafe CoreHolder(in: pool, filledBy: fill)
    handle = unsafe secret.withPointer { keys in
      GateHandle(storage: unsafe InlineBytes(tuple: keys.pointee.compact.handle))
    }
  }

  func withRequestKey<R: ~Copyable, E: Error>(
    _ body: (RawSpan) throws(E) -> R
  ) throws(E) -> R {
    try unsafe secret.withPointer { keys throws(E) in
      let key = unsafe UnsafeRawPointer(keys) + Self.request.offset
      return try body(unsafe RawSpan(_unsafeStart: key, byteCount: Self.request.count))
    }
  }

  /// Lends all keys.
  func withKeys<R: ~Copyable, E: Error>(
    _ body: (UnsafePointer<pfc_gate_keys>) throws(E) -> R
  ) throws(E) -> R {
    try unsafe secret.withPointer(body)
  }

  /// Lends the keys of the compact form, where they stand.
  fileprivate func withCompact<R: ~Copyable, E: Error>(
    _ body: (UnsafePointer<pfc_compact_keys>) throws(E) -> R
  ) throws(E) -> R {
    try unsafe secret.withPointer { keys throws(E) in
      let compact = unsafe UnsafeRawPointer(keys) + Self.compactOffset
      return try unsafe body(compact.assumingMemoryBound(to: pfc_compact_keys.self))
    }
  }

  func compact() -> CoreCompactKeys { CoreCompactKeys(of: self) }

  private static let request = Field(\pfc_gate_keys.request)
  private static let compactOffset = MemoryLayout<pfc_gate_keys>.offset(of: \.compact)!
}

/// A `pfc_compact_keys`: in a block of its own, in the room of a pool, or within a `pfc_gate_keys`.
final class CoreCompactKeys: Sendable {
  private enum Place {
    case own(CoreHolder<pfc_compact_keys>)
    case within(CoreGateKeys)
  }

  let handle: GateHandle
  let isForEvents: Bool
  private let place: Place

  init(in pool: SecretPool?, filledBy fill: (UnsafeMutablePointer<pfc_compact_keys>) -> Void) {
    let holder = unsafe CoreHolder(in: pool, filledBy: fill)
    (handle, isForEvents) = unsafe holder.withPointer { keys in
      (
        GateHandle(storage: unsafe InlineBytes(tuple: keys.pointee.handle)),
        unsafe keys.pointee.event == 1
      )
    }
    place = .own(holder)
  }

  fileprivate init(of keys: CoreGateKeys) {
    handle = keys.handle
    isForEvents = false
    place = .within(keys)
  }

  func withKeys<R: ~Copyable, E: Error>(
    _ body: (UnsafePointer<pfc_compact_keys>) throws(E) -> R
  ) throws(E) -> R {
    switch place {
    case .own(let holder): try unsafe holder.withPointer(body)
    case .within(let keys): try unsafe keys.withCompact(body)
    }
  }
}
