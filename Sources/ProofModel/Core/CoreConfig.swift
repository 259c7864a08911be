// SPDX-License-Identifier: Apache-2.0

internal import ProofCore

/// A decoded configuration and its bytes. Both are immutable, and neither is secret.
final class CoreConfig: Sendable {
  let bytes: [UInt8]
  let sources: [Source]
  private let decoded: pfc_config

  init(_ bytes: [UInt8]) throws(ProofError) {
    var decoded = pfc_config()
    let result = unsafe bytes.withUnsafeBufferPointer { buffer in
      unsafe CoreResult(pfc_config_decode(&decoded, buffer.baseAddress, buffer.count))
    }
    switch result {
    case .ok: break
    case .foreign: throw .configForeign(byteCount: bytes.count)
    case .tooNew: throw .configTooNew(version: bytes[4], suite: bytes[5])
    case .malformed: throw .configMalformed(byteCount: bytes.count)
    default: throw .configDamaged(byteCount: bytes.count)
    }
    self.bytes = bytes
    self.decoded = decoded
    sources = Self.sources(of: decoded)
  }

  /// Takes what the core has just encoded, and what it was encoded from.
  init(_ bytes: [UInt8], encodedFrom config: pfc_config) {
    self.bytes = bytes
    decoded = config
    sources = Self.sources(of: config)
  }

  /// Encodes the configuration that a baseline gave.
  convenience init(encoding config: pfc_config) {
    var config = config
    var size = 0
    let bytes = unsafe [UInt8](
      unsafeUninitializedCapacity: CoreWire.configMax
    ) { buffer, count in
      let result = unsafe CoreResult(
        pfc_config_encode(buffer.baseAddress, buffer.count, &size, &config))
      result.mustBeOK()
      count = size
    }
    self.init(bytes, encodedFrom: config)
  }

  var mode: Mode { known(Mode(rawValue: decoded.mode)) }
  var policy: MeasurementPolicy { known(MeasurementPolicy(rawValue: decoded.policy)) }
  var limitLog2: UInt8 { decoded.limit_log2 }
  var generation: UInt32 { decoded.generation }
  var leafCount: Int { Int(decoded.leaf_count) }
  var keyID: KeyID { KeyID(storage: InlineBytes(tuple: decoded.key_id)) }
  var salt: Salt { Salt(storage: InlineBytes(tuple: decoded.salt)) }

  func index(of id: SourceID) -> Int? {
    let index = unsafe withUnsafePointer(to: decoded) { config in
      unsafe pfc_config_find(config, id.evidenceClass.rawValue, id.number)
    }
    return index < 0 ? nil : Int(index)
  }

  func group(of record: EvidenceRecord) -> Int? {
    let id = record.source
    let group = unsafe withUnsafePointer(to: decoded) { config in
      unsafe record.nameBytes.withUnsafeBufferPointer { name in
        unsafe pfc_config_group(
          config, id.evidenceClass.rawValue, id.number, name.baseAddress, name.count)
      }
    }
    return group < 0 ? nil : Int(group)
  }

  func check(_ key: MeasurementProofKey) throws(ProofError) {
    let result = unsafe withUnsafePointer(to: decoded) { config in
      unsafe key.core.withKey { key in unsafe CoreResult(pfc_config_check_key(config, key)) }
    }
    switch result {
    case .ok: return
    case .mode: throw .configForOtherMode(config: mode, key: key.mode)
    default: throw .configForOtherKey(config: keyID, key: key.id)
    }
  }

  private static func sources(of config: pfc_config) -> [Source] {
    (0..<Int(config.source_count)).map { index in
      let source = unsafe withUnsafeBytes(of: config.sources) { bytes in
        unsafe bytes.loadUnaligned(
          fromByteOffset: index * MemoryLayout<pfc_source>.stride, as: pfc_source.self)
      }
      let evidenceClass = known(EvidenceClass(rawValue: source.class_))
      let id = known(try? SourceID(evidenceClass, source.number))
      return known(try? Source(id, version: source.version, groupsLog2: source.groups_log2))
    }
  }
}

/// A raw value that the core has checked.
func known<Value>(_ value: Value?, _ name: StaticString = #function) -> Value {
  guard let value else { preconditionFailure("The core let an unknown value through: \(name).") }
  return value
}
