// SPDX-License-Identifier: Apache-2.0

internal import ProofCore

/// A `pfc_measurement` at work, for a measurement or a baseline, in a block of its own.
struct CoreFold: ~Copyable, Sendable {
  private var work = CoreWork<pfc_measurement>()
  private let sources: [Source]
  private var config: CoreConfig?
  /// The record before, to tell one that is repeated.
  private var before: EvidenceRecord?
  /// One bit for each source that had a record, to name those that had none.
  private var seen: UInt32 = 0
  private var isOver = false

  init(measuring config: MeasurementConfig, with key: MeasurementProofKey, comparing: Bool) {
    sources = config.sources
    self.config = config.core
    let flags: UInt32 = comparing ? PFC_MEASURE_LEAVES : 0
    let result = unsafe work.withMutablePointer { fold in
      unsafe config.bytes.withUnsafeBufferPointer { bytes in
        unsafe key.core.withKey { key in
          unsafe CoreResult(
            pfc_measurement_init(fold, bytes.baseAddress, bytes.count, key, flags))
        }
      }
    }
    result.mustBeOK()
  }

  init(baseline draft: BaselineDraft, with key: MeasurementProofKey) {
    sources = draft.sources
    config = nil
    var raw = pfc_config()
    raw.policy = draft.policy.rawValue
    raw.limit_log2 = draft.limitLog2
    raw.generation = draft.generation
    raw.source_count = UInt8(draft.sources.count)
    draft.salt.storage.copy(to: &raw.salt)
    unsafe withUnsafeMutableBytes(of: &raw.sources) { bytes in
      for (index, source) in draft.sources.enumerated() {
        let entry = pfc_source(
          class_: source.id.evidenceClass.rawValue, number: source.id.number,
          version: source.version, groups_log2: source.groupsLog2)
        unsafe bytes.storeBytes(
          of: entry, toByteOffset: index * MemoryLayout<pfc_source>.stride, as: pfc_source.self)
      }
    }
    let result = unsafe work.withMutablePointer { fold in
      unsafe key.core.withKey { key in
        unsafe CoreResult(pfc_measurement_baseline_init(fold, &raw, key))
      }
    }
    result.mustBeOK()
  }

  /// Takes all records of a set.
  mutating func update(_ evidence: EvidenceSet) throws(ProofError) {
    let records = evidence.records.span
    for index in records.indices { try update(records[index]) }
  }

  mutating func update(_ record: EvidenceRecord) throws(ProofError) {
    guard !isOver else { throw .measurementEnded }
    let id = record.source
    let result = unsafe work.withMutablePointer { fold in
      unsafe record.nameBytes.withUnsafeBufferPointer { name in
        guard let digest = record.digest else {
          return unsafe CoreResult(
            pfc_measurement_update(
              fold, id.evidenceClass.rawValue, id.number, name.baseAddress, name.count, nil))
        }
        return unsafe digest.storage.withPointer { digest in
          unsafe CoreResult(
            pfc_measurement_update(
              fold, id.evidenceClass.rawValue, id.number, name.baseAddress, name.count, digest))
        }
      }
    }
    if result == .ok {
      if before?.source != id, let index = sources.firstIndex(where: { $0.id == id }) {
        seen |= 1 << UInt32(index)
      }
      before = record
      return
    }
    isOver = true
    let name = EvidenceName(record)
    switch result {
    case .source: throw .evidenceNotAskedFor(name)
    case .order where before.map { EvidenceName($0) } == name: throw .evidenceRepeated(name)
    case .order: throw .evidenceOutOfOrder(name)
    default: throw .measurementEnded
    }
  }

  /// Ends a baseline, and goes on as the measurement under the configuration that it gives. Takes the same records
  /// again: all of them, in their order.
  mutating func measureBaseline(with key: MeasurementProofKey) throws(ProofError) -> CoreConfig {
    guard !isOver else { throw .measurementEnded }
    var result = CoreResult.ok
    var decoded = pfc_config()
    let bytes = unsafe [UInt8](unsafeUninitializedCapacity: CoreWire.configMax) { bytes, count in
      result = unsafe work.withMutablePointer { fold in
        unsafe key.core.withKey { key in
          let result = unsafe CoreResult(
            pfc_measurement_baseline_repeat(bytes.baseAddress, bytes.count, &count, fold, key))
          unsafe decoded = fold.pointee.config
          return result
        }
      }
    }
    if result != .ok { isOver = true }
    try check(result)
    let config = CoreConfig(bytes, encodedFrom: decoded)
    self.config = config
    before = nil
    seen = 0
    return config
  }

  consuming func finish() throws(ProofError) -> CoreMeasurement {
    guard !isOver else { throw .measurementEnded }
    return try unsafe CoreMeasurement { measured throws(ProofError) in
      let result = unsafe work.withMutablePointer { fold in
        unsafe CoreResult(pfc_measurement_final(measured, fold))
      }
      try check(result)
    }
  }

  /// Ends the measurement and lends its results, integrity first; no copy is kept.
  consuming func finish<R>(
    lending body: (_ integrity: RawSpan, _ device: RawSpan) -> R
  ) throws(ProofError) -> R {
    guard !isOver else { throw .measurementEnded }
    var measured = CoreWork<pfc_measured>()
    return try unsafe measured.withMutablePointer { measured throws(ProofError) in
      let result = unsafe work.withMutablePointer { fold in
        unsafe CoreResult(pfc_measurement_final(measured, fold))
      }
      try check(result)
      let base = UnsafeRawPointer(measured)
      return body(
        unsafe RawSpan(
          _unsafeStart: base + Self.integrity.offset, byteCount: Self.integrity.count),
        unsafe RawSpan(_unsafeStart: base + Self.device.offset, byteCount: Self.device.count))
    }
  }

  private static let integrity = Field(\pfc_measured.integrity)
  private static let device = Field(\pfc_measured.device)

  consuming func finishBaseline() throws(ProofError) -> CoreConfig {
    guard !isOver else { throw .measurementEnded }
    var config = pfc_config()
    let result = unsafe work.withMutablePointer { fold in
      unsafe CoreResult(pfc_measurement_baseline_final(&config, fold))
    }
    try check(result)
    return CoreConfig(encoding: config)
  }

  consuming func difference(among evidence: EvidenceSet) throws(ProofError) -> Difference {
    guard !isOver else { throw .measurementEnded }
    var raw = pfc_difference()
    let result = unsafe work.withMutablePointer { fold in
      unsafe CoreResult(pfc_measurement_compare(&raw, fold))
    }
    try check(result)
    return Difference(
      deviceComparable: raw.device_comparable == 1, appComparable: raw.app_comparable == 1,
      changes: changes(raw, among: evidence))
  }

  private var missingSources: [SourceID] {
    sources.indices.filter { seen & (1 << UInt32($0)) == 0 }.map { sources[$0].id }
  }

  private func check(_ result: CoreResult) throws(ProofError) {
    if result == .source { throw .evidenceMissing(missingSources) }
    result.mustBeOK()
  }

  /// Lists, for each changed leaf, the names that are in its group now.
  private func changes(_ raw: pfc_difference, among evidence: EvidenceSet) -> [Difference.Change] {
    guard let config else { return [] }
    let bits = InlineBytes<16>(tuple: raw.groups)
    var named: [Int: [EvidenceName]] = [:]
    for record in evidence.records {
      if let group = config.group(of: record), bits.bit(group) {
        named[group, default: []].append(EvidenceName(record))
      }
    }
    var changes: [Difference.Change] = []
    var first = 0
    for source in sources {
      for group in 0..<source.groupCount where bits.bit(first + group) {
        changes.append(
          Difference.Change(
            source: source.id, group: group, candidates: named[first + group] ?? []))
      }
      first += source.groupCount
    }
    return changes
  }
}

extension InlineBytes {
  /// Bits count from the least significant of the first byte.
  fileprivate func bit(_ index: Int) -> Bool {
    withSpan { $0[index / 8] & (1 << UInt8(index % 8)) != 0 }
  }
}
