// SPDX-License-Identifier: Apache-2.0

internal import ProofCore

/// HMAC-SHA-256 under a key that a measurement proof key gives: loaded, derived, used and wiped in one
/// block.
struct CoreDerivedMAC: BitwiseCopyable {
  private var mac: pfc_mac
  private var proofKey: [16 of UInt8]
  private var derived: [32 of UInt8]

  static func tag(
    label: String, key: MeasurementProofKey, info: Span<UInt8>, _ bytes: Span<UInt8>
  ) -> Digest {
    precondition(label.utf8.count == Int(PFC_LABEL_BYTES), "A label has 16 bytes, not \(label).")
    var work = CoreWork<CoreDerivedMAC>()
    return Digest(
      storage: unsafe InlineBytes { tag in
        unsafe work.withMutablePointer { work in
          let base = UnsafeMutableRawPointer(work)
          let proofKey = unsafe (base + keyField.offset).assumingMemoryBound(to: UInt8.self)
          let derived = unsafe (base + derivedField.offset).assumingMemoryBound(to: UInt8.self)
          unsafe key.core.load(into: proofKey)
          unsafe info.withUnsafeBufferPointer { info in
            unsafe pfc_derive(
              derived, label, proofKey, keyField.count, info.baseAddress, info.count)
          }
          unsafe pfc_mac_init(&work.pointee.mac, derived, derivedField.count)
          unsafe bytes.withUnsafeBufferPointer { bytes in
            unsafe pfc_mac_update(&work.pointee.mac, bytes.baseAddress, bytes.count)
          }
          unsafe pfc_mac_final(tag, &work.pointee.mac)
        }
      })
  }

  private static let keyField = Field(\Self.proofKey)
  private static let derivedField = Field(\Self.derived)
}
