// SPDX-License-Identifier: Apache-2.0

internal import ProofCore

/// The hardware's stored record of one app instance, for tools that read a flash image and for
/// tests. The secrets stay in a block of their own.
package struct CoreSlot: Sendable {
  /// The slot's use: free, held by an app instance, or revoked.
  package enum State: UInt8, Sendable {
    case free = 0
    case held = 1
    case revoked = 2
  }

  package let state: State
  /// The app instance; nil while the slot is free.
  package let instance: InstanceID?
  package let integrityClasses: CommandClasses
  package let deviceClasses: CommandClasses
  package let attempts: UInt16
  package let uses: Uses
  package let generation: UInt32
  /// Generations up to this one are revoked.
  package let revoked: UInt32
  package let issued: UnixTime
  /// The end of the token; nil for none.
  package let notAfter: UnixTime?
  package let tokenDigest: TokenDigest
  /// The verdict on the last accepted command; nil if there was none.
  package let lastVerdict: Verdict?
  package let lastCounter: UInt64
  /// The first 8 bytes of its nonce.
  package let lastNonce: [UInt8]
  private let secret: CoreSecret<pfc_slot>

  /// The length of a slot's record, in bytes.
  package static let byteCount = Int(PFC_SLOT_BYTES)

  /// Decodes the payload of a slot's record.
  package init(_ record: borrowing CoreRecord) throws(ProofError) {
    guard record.payload.count == Self.byteCount else { throw .storageDamaged }
    secret = try unsafe CoreSecret { slot throws(ProofError) in
      let result = unsafe record.payload.withPointer { bytes in
        unsafe CoreResult(pfc_slot_decode(slot, bytes))
      }
      try result.orThrow(opening: "slot", byteCount: Self.byteCount)
    }
    // Copy every field but the secrets, one by one: a copy of the whole would include them.
    (state, attempts, generation, revoked) = unsafe secret.withPointer { slot in
      unsafe (
        known(State(rawValue: slot.pointee.state)), slot.pointee.attempts,
        slot.pointee.generation, slot.pointee.revoked
      )
    }
    (integrityClasses, deviceClasses, uses) = unsafe secret.withPointer { slot in
      unsafe (
        CommandClasses(rawValue: slot.pointee.integrity_classes),
        CommandClasses(rawValue: slot.pointee.device_classes), Uses(rawValue: slot.pointee.uses)
      )
    }
    (issued, notAfter, lastCounter, lastVerdict) = unsafe secret.withPointer { slot in
      unsafe (
        UnixTime(clamping: slot.pointee.issued),
        slot.pointee.not_after == 0 ? nil : UnixTime(clamping: slot.pointee.not_after),
        slot.pointee.last.counter, Verdict(rawValue: slot.pointee.last.verdict)
      )
    }
    tokenDigest = TokenDigest(
      storage: unsafe secret.withPointer { unsafe InlineBytes(tuple: $0.pointee.token_digest) })
    lastNonce = unsafe secret.withPointer { slot in
      unsafe withUnsafeBytes(of: slot.pointee.last.nonce) { unsafe [UInt8]($0) }
    }
    let id = InstanceID(
      storage: unsafe secret.withPointer { unsafe InlineBytes(tuple: $0.pointee.instance_id) })
    instance = id.storage.isZero ? nil : id
  }

  /// Encodes the record's payload.
  package func encoded() -> SecretBytes {
    unsafe SecretBytes(count: Self.byteCount) { target in
      unsafe secret.withPointer { slot in
        unsafe pfc_slot_encode(target.assumingMemoryBound(to: UInt8.self), slot)
      }
    }
  }
}
