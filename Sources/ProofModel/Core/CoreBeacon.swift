// SPDX-License-Identifier: Apache-2.0

internal import ProofCore

/// Beacons, and the digests of account names.
extension CoreGate {
  static func account(_ name: inout String, under key: CoreSharedSecret) -> Digest {
    Digest(
      storage: unsafe InlineBytes { digest in
        unsafe key.bytes.withPointer { key in
          unsafe name.withCharacters { name in
            unsafe CoreResult(pfc_gate_account(digest, key, name.baseAddress, name.count))
              .mustBeOK()
          }
        }
      })
  }

  static func beaconKey(
    from secret: borrowing SecretBytes, number: UInt8, of gate: GateID
  ) -> CoreSharedSecret {
    CoreSharedSecret(
      unsafe SecretBytes(count: Int(PFC_GATE_KEY_BYTES)) { target in
        unsafe secret.withPointer { secret in
          unsafe gate.storage.withPointer { gate in
            unsafe pfc_beacon_key(
              target.assumingMemoryBound(to: UInt8.self), secret, gate, number)
          }
        }
      })
  }

  static func beaconMessage(at now: UInt64, under key: CoreSharedSecret) -> [UInt8] {
    unsafe [UInt8](unsafeUninitializedCapacity: Int(PFC_BEACON_MESSAGE_BYTES)) { buffer, count in
      unsafe key.bytes.withPointer { unsafe pfc_beacon_make(buffer.baseAddress, $0, now) }
      count = Int(PFC_BEACON_MESSAGE_BYTES)
    }
  }

  static func beacon(_ message: Span<UInt8>) throws(ProofError) -> Beacon {
    var interval: UInt32 = 0
    var result = CoreResult.ok
    let storage = unsafe InlineBytes<4> { beacon in
      unsafe message.withUnsafeBufferPointer { message in
        result = unsafe CoreResult(
          pfc_beacon_read(beacon, &interval, message.baseAddress, message.count))
      }
    }
    try result.orThrow(opening: "beacon", byteCount: message.count)
    return Beacon(interval: interval, storage: storage)
  }
}
