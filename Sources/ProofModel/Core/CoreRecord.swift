// SPDX-License-Identifier: Apache-2.0

internal import ProofCore

/// The hardware's stored records, one by one: for tools that read a flash image, and for tests.
package struct CoreRecords: Sendable {
  private let platform: CorePlatform
  private let key: SecretBytesBox

  /// Opens the storage of the hardware with this secret key of 32 bytes.
  package init(
    on platform: some Platform, secretKey: borrowing SecretBytes
  ) throws(ProofError) {
    try secretKey.checkCount(Int(PFC_SECRET_KEY_BYTES), of: "hardware secret key")
    self.platform = CorePlatform(platform)
    key = SecretBytesBox(
      unsafe SecretBytes(count: 32) { key in
        unsafe secretKey.withPointer { secretKey in
          unsafe pfc_record_key(key.assumingMemoryBound(to: UInt8.self), secretKey)
        }
      })
  }

  /// The newest intact copy of a record.
  package func load(_ index: Int, byteCount: Int) throws(ProofError) -> CoreRecord {
    var raw = pfc_record()
    let storage = unsafe platform.storage
    let stored = try unsafe SecretBytes(count: byteCount + Self.around) {
      bytes throws(ProofError) in
      let result = unsafe key.bytes.withPointer { key in
        unsafe withUnsafePointer(to: storage) { storage in
          unsafe CoreResult(
            pfc_record_load(
              &raw, bytes.assumingMemoryBound(to: UInt8.self), byteCount, storage,
              UInt32(index), key))
        }
      }
      try result.orThrow(opening: "record", byteCount: byteCount)
    }
    let payload = unsafe SecretBytes(count: byteCount) { payload in
      unsafe stored.withPointer { stored in
        unsafe payload.copyMemory(from: stored + Self.head, byteCount: byteCount)
      }
    }
    return CoreRecord(index: index, raw: raw, payload: payload)
  }

  /// Saves a record's next content, to the copy that is not the current one.
  package func save(
    _ payload: consuming SecretBytes, over record: consuming CoreRecord
  ) throws(ProofError) -> CoreRecord {
    var raw = record.raw
    let index = record.index
    let result = unsafe write(payload, &raw, index, pfc_record_save)
    try result.orThrow(opening: "record", byteCount: payload.count)
    return CoreRecord(index: index, raw: raw, payload: payload)
  }

  /// Writes both copies, whatever they held.
  package func format(
    _ index: Int, _ payload: consuming SecretBytes
  ) throws(ProofError) -> CoreRecord {
    var raw = pfc_record()
    let result = unsafe write(payload, &raw, index, pfc_record_format)
    try result.orThrow(opening: "record", byteCount: payload.count)
    return CoreRecord(index: index, raw: raw, payload: payload)
  }

  /// A record's overhead: bytes before its payload, and bytes behind it.
  private static let head = Int(PFC_RECORD_HEAD_BYTES)
  private static let around = head + Int(PFC_RECORD_TAG_BYTES)

  private typealias Write = (
    UnsafeMutablePointer<pfc_record>?, UnsafeMutablePointer<UInt8>?, Int,
    UnsafePointer<pfc_storage>?, UInt32, UnsafePointer<UInt8>?
  ) -> Int32

  private func write(
    _ payload: borrowing SecretBytes, _ raw: inout pfc_record, _ index: Int, _ write: Write
  ) -> CoreResult {
    let storage = unsafe platform.storage
    let count = payload.count
    var result = CoreResult.ok
    _ = unsafe SecretBytes(count: count + Self.around) { bytes in
      unsafe payload.withPointer { payload in
        unsafe (bytes + Self.head).copyMemory(from: payload, byteCount: count)
      }
      result = unsafe key.bytes.withPointer { key in
        unsafe withUnsafePointer(to: storage) { storage in
          unsafe CoreResult(
            write(
              &raw, bytes.assumingMemoryBound(to: UInt8.self), count, storage, UInt32(index), key))
        }
      }
    }
    return result
  }
}

/// One record as it was loaded or saved.
package struct CoreRecord: ~Copyable, Sendable {
  /// 0 for the global record, then one for each slot.
  package let index: Int
  fileprivate let raw: pfc_record
  /// The record's content.
  package let payload: SecretBytes

  /// Counts the saves.
  package var sequence: UInt32 { raw.sequence }
}

/// Shares one secret among copies of a value.
final class SecretBytesBox: Sendable {
  let bytes: SecretBytes
  init(_ bytes: consuming SecretBytes) { self.bytes = bytes }
}
