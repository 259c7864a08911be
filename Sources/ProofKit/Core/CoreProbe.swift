// SPDX-License-Identifier: Apache-2.0

internal import ProofCore
internal import ProofModel
internal import ProofProbe

/// Owns the C probe. One thread at a time uses it; ``Probe`` ensures that.
@safe
struct CoreProbe: ~Copyable, @unchecked Sendable {
  // Sendable because the probe belongs to no thread: its C code only demands one user at a time.
  private let probe: OpaquePointer
  private let pacer: Pacer

  init(_ options: Probe.Options) throws(ProofError) {
    if let storage = options.storage {
      let result = unsafe storage.withCString { unsafe pfp_storage_prepare($0) }
      guard result == PFP_OK.rawValue else {
        throw Self.failure(
          result,
          "storage folder \(storage): " + Self.words(of: result)
            + (result == PFP_E_RESOURCE.rawValue
              ? "" : "; create it with mode 0700 as the user that the app runs as"))
      }
    }
    let pacer = Pacer()
    var made: OpaquePointer?
    let result = unsafe Self.withStrings(
      [options.bundle, options.storage, options.executable]
        + options.folders.flatMap { [$0.name, $0.path] } + options.plugins
    ) { strings in
      let folders = unsafe (0..<options.folders.count).map { index in
        unsafe pfp_probe_folder(name: strings[3 + 2 * index], path: strings[4 + 2 * index])
      }
      let plugins = unsafe Array(strings.dropFirst(3 + 2 * options.folders.count))
      return unsafe folders.withUnsafeBufferPointer { folders in
        unsafe plugins.withUnsafeBufferPointer { plugins in
          var own = unsafe pfp_probe_options()
          unsafe own.bundle = strings[0]
          unsafe own.storage = strings[1]
          unsafe own.executable = strings[2]
          unsafe own.plugins = plugins.baseAddress
          unsafe own.plugin_count = plugins.count
          unsafe own.harden = options.hardens ? 1 : 0
          unsafe own.descriptors = options.keptDescriptorCount
          // The core's 0 means its default; 1 is less than the smallest entry, so it keeps nothing.
          unsafe own.cache_bytes = options.cacheByteLimit.map { max($0, 1) } ?? 0
          unsafe own.progress = reportProgress
          unsafe own.user = Unmanaged.passUnretained(pacer).toOpaque()
          unsafe own.folders = folders.baseAddress
          unsafe own.folder_count = folders.count
          return unsafe pfp_probe_create(&made, &own)
        }
      }
    }
    guard let made = unsafe made else { throw Self.failure(result, Self.words(of: result)) }
    unsafe self.probe = made
    self.pacer = pacer
  }

  deinit { unsafe pfp_probe_free(probe) }

  borrowing func forget() { unsafe pfp_probe_forget(probe) }

  /// The SDK's version, as the source `app 4` reports it.
  static var version: String { PFP_SDK_VERSION }

  /// Every source in its newest version, for a new baseline.
  static var sources: [Source] {
    var count = 0
    let first = unsafe pfp_sources(&count)!
    return (0..<count).map { index in
      let told = unsafe first[index]
      guard let evidenceClass = unsafe EvidenceClass(rawValue: told.class_),
        let id = try? unsafe SourceID(evidenceClass, told.number),
        let source = try? unsafe Source(id, version: told.version, groupsLog2: told.groups_log2)
      else { preconditionFailure("The probe has a source that no configuration can ask for.") }
      return source
    }
  }

  borrowing func collect(
    for config: MeasurementConfig, pace: Pace
  ) throws(ProofError) -> EvidenceSet {
    try collect(
      config.sources, policy: config.policy, byteCountLimit: config.byteCountLimit, pace: pace)
  }

  borrowing func collect(
    _ sources: [Source], policy: MeasurementPolicy, byteCountLimit: UInt64, pace: Pace
  ) throws(ProofError) -> EvidenceSet {
    try observe(sources, policy: policy, byteCountLimit: byteCountLimit, pace: pace).evidence
  }

  borrowing func observe(
    _ sources: [Source], policy: MeasurementPolicy, byteCountLimit: UInt64, pace: Pace
  ) throws(ProofError) -> Observation {
    guard sources.count <= Int(PFC_CONFIG_SOURCES_MAX) else {
      throw .outOfRange(
        field: "number of sources", value: "\(sources.count)", allowed: "at most 24")
    }
    let records = Records()
    pacer.pace = pace
    defer { pacer.pace = nil }
    var asked = pfc_config()
    asked.policy = policy.rawValue
    asked.limit_log2 = UInt8(63 - byteCountLimit.leadingZeroBitCount)
    asked.source_count = UInt8(sources.count)
    unsafe withUnsafeMutableBytes(of: &asked.sources) { bytes in
      let own = unsafe bytes.bindMemory(to: pfc_source.self)
      for (index, source) in sources.enumerated() {
        unsafe own[index] = pfc_source(
          class_: source.id.evidenceClass.rawValue, number: source.id.number,
          version: source.version, groups_log2: source.groupsLog2)
      }
    }
    let result = unsafe withUnsafePointer(to: asked) { decoded in
      unsafe pfp_probe_observe(
        probe, decoded, takeRecord, takeAlarm, Unmanaged.passUnretained(records).toOpaque())
    }
    try check(result)
    return Observation(try EvidenceSet(records.all), alarms: records.alarms)
  }

  borrowing func measure(
    _ config: MeasurementConfig, key: MeasurementProofKey, pace: Pace
  ) throws(ProofError) -> Measurement {
    pacer.pace = pace
    defer { pacer.pace = nil }
    let bytes = config.bytes
    return try unsafe Measurement(filledBy: { measured throws(ProofError) in
      let result = unsafe bytes.withUnsafeBufferPointer { bytes in
        unsafe key.withCoreKey { key in
          unsafe pfp_probe_measure(
            measured.assumingMemoryBound(to: pfc_measured.self), probe, bytes.baseAddress,
            bytes.count, key.assumingMemoryBound(to: pfc_key.self))
        }
      }
      try check(result)
    })
  }

  borrowing func release(_ proof: Proof, isFirst: Bool) throws(ProofError) -> Proof {
    var bytes = proof.bytes
    let result = unsafe bytes.withUnsafeMutableBufferPointer { bytes in
      unsafe isFirst
        ? pfp_probe_release(probe, bytes.baseAddress)
        : pfp_probe_release_next(probe, bytes.baseAddress)
    }
    try check(result)
    return try Proof(bytes)
  }

  static func hold() { pfp_probe_hold() }

  static func letGo() { pfp_probe_let_go() }

  borrowing func diagnose(
    _ config: MeasurementConfig, key: MeasurementProofKey, pace: Pace
  ) throws(ProofError) -> Diagnosis {
    let told = UnsafeMutablePointer<pfp_diagnosis>.allocate(capacity: 1)
    defer { unsafe told.deallocate() }
    pacer.pace = pace
    defer { pacer.pace = nil }
    let bytes = config.bytes
    let result = unsafe bytes.withUnsafeBufferPointer { bytes in
      unsafe key.withCoreKey { key in
        unsafe pfp_probe_diagnose(
          told, probe, bytes.baseAddress, bytes.count,
          key.assumingMemoryBound(to: pfc_key.self))
      }
    }
    try check(result)
    return unsafe Diagnosis(told)
  }

  borrowing func index(
    _ config: MeasurementConfig, key: MeasurementProofKey, pace: Pace
  ) throws(ProofError) {
    pacer.pace = pace
    defer { pacer.pace = nil }
    let bytes = config.bytes
    let result = unsafe bytes.withUnsafeBufferPointer { bytes in
      unsafe key.withCoreKey { key in
        unsafe pfp_probe_index(
          probe, bytes.baseAddress, bytes.count, key.assumingMemoryBound(to: pfc_key.self))
      }
    }
    try check(result)
  }

  private borrowing func check(_ result: Int32) throws(ProofError) {
    guard result != PFP_OK.rawValue else { return }
    let failure = unsafe pfp_probe_failure(probe)!.pointee
    let path = unsafe String(cString: failure.path)
    var reason = Self.words(of: result)
    if !path.isEmpty { reason = path + ": " + reason }
    throw Self.failure(result, reason)
  }

  /// Tells resources that ran out from evidence that cannot be collected.
  private static func failure(_ result: Int32, _ reason: String) -> ProofError {
    result == PFP_E_RESOURCE.rawValue
      ? .resourcesExhausted(reason: reason) : .evidenceUnavailable(reason: reason)
  }

  /// Lends C strings for some optional Swift strings.
  private static func withStrings<Value>(
    _ strings: [String?], _ body: ([UnsafePointer<CChar>?]) -> Value
  ) -> Value {
    func next(_ index: Int, _ lent: [UnsafePointer<CChar>?]) -> Value {
      guard index < strings.count else { return unsafe body(lent) }
      guard let string = strings[index] else { return unsafe next(index + 1, lent + [nil]) }
      return unsafe string.withCString { unsafe next(index + 1, lent + [$0]) }
    }
    return unsafe next(0, [])
  }

  private static func words(of result: Int32) -> String {
    switch result {
    case PFP_E_RESOURCE.rawValue: "out of memory, threads or descriptors"
    case PFP_E_CANCELLED.rawValue: "cancelled"
    case PFP_E_MISSING.rawValue: "does not exist"
    case PFP_E_TYPE.rawValue: "is not a folder"
    case PFP_E_UNREADABLE.rawValue: "cannot be read or written"
    case PFP_E_LIMIT.rawValue: "has more bytes than the configuration allows to read"
    case PFP_E_CHANGING.rawValue: "changed while it was read, twice"
    case PFP_E_DEEP.rawValue: "is nested too deep, or its path is too long"
    case PFP_E_UNSUPPORTED.rawValue: "this SDK cannot collect this source in the version asked for"
    case PFP_E_EXPOSED.rawValue: "is open to other users"
    default: "failed with \(result)"
    }
  }
}

/// Holds the pace of the measurement that runs. Only the owner of the probe changes it.
private final class Pacer {
  var pace: Pace?
}

private final class Records {
  var all: [EvidenceRecord] = []
  var alarms: [Observation.Alarm] = []
}

private func reportProgress(
  _ user: UnsafeMutableRawPointer?, _ progress: UnsafePointer<pfp_progress>?
) -> Int32 {
  guard let user = unsafe user, let progress = unsafe progress else { return 0 }
  let pacer = unsafe Unmanaged<Pacer>.fromOpaque(user).takeUnretainedValue()
  let now = unsafe Probe.Progress(
    fileCount: progress.pointee.files, byteCount: progress.pointee.bytes)
  return pacer.pace?.step(now) ?? true ? 0 : 1
}

private func takeRecord(
  _ context: UnsafeMutableRawPointer?, _ evidenceClass: UInt8, _ number: UInt8,
  _ name: UnsafePointer<UInt8>?, _ nameSize: Int, _ digest: UnsafePointer<UInt8>?
) -> Int32 {
  guard let context = unsafe context, let evidenceClass = EvidenceClass(rawValue: evidenceClass)
  else { return -1 }
  let records = unsafe Unmanaged<Records>.fromOpaque(context).takeUnretainedValue()
  let nameBytes = unsafe [UInt8](UnsafeBufferPointer(start: name, count: nameSize))
  do {
    let value = try unsafe digest.map {
      try unsafe Digest([UInt8](UnsafeBufferPointer(start: $0, count: Digest.byteCount)))
    }
    let source = try SourceID(evidenceClass, number)
    records.all.append(try EvidenceRecord(source, name: nameBytes, digest: value))
    return 0
  } catch {
    return -1
  }
}

private func takeAlarm(
  _ context: UnsafeMutableRawPointer?, _ evidenceClass: UInt8, _ number: UInt8,
  _ name: UnsafePointer<CChar>?, _ words: UnsafePointer<CChar>?
) {
  guard let context = unsafe context, let name = unsafe name, let words = unsafe words,
    let evidenceClass = EvidenceClass(rawValue: evidenceClass),
    let source = try? SourceID(evidenceClass, number)
  else { return }
  let records = unsafe Unmanaged<Records>.fromOpaque(context).takeUnretainedValue()
  records.alarms.append(
    Observation.Alarm(
      source, name: unsafe String(cString: name), words: unsafe String(cString: words)))
}

extension Diagnosis {
  fileprivate init(_ told: UnsafePointer<pfp_diagnosis>) {
    let count = unsafe told.pointee.count
    let first = unsafe UnsafeRawPointer(told)
      .advanced(by: MemoryLayout<pfp_diagnosis>.offset(of: \.findings)!)
      .assumingMemoryBound(to: pfp_finding.self)
    unsafe self.init(
      isOfThisBuild: told.pointee.device_comparable != 0,
      isOfThisDevice: told.pointee.app_comparable != 0,
      findings: (0..<count).map { unsafe Finding(first + $0) },
      leftOutCount: Int(told.pointee.left_out))
  }
}

extension Diagnosis.Finding {
  fileprivate init(_ told: UnsafePointer<pfp_finding>) {
    guard let evidenceClass = unsafe EvidenceClass(rawValue: told.pointee.class_),
      let source = try? unsafe SourceID(evidenceClass, told.pointee.number),
      let kind = unsafe Kind(rawValue: told.pointee.kind)
    else { preconditionFailure("The probe told of a source that does not exist.") }
    unsafe self.init(
      source: source,
      sourceName: String(decoding: Self.bytes(of: told.pointee.source), as: UTF8.self), kind: kind,
      isCertain: told.pointee.certain != 0, name: Self.bytes(of: told.pointee.name),
      text: String(decoding: Self.bytes(of: told.pointee.text), as: UTF8.self))
  }

  /// A C array of characters up to its terminator.
  private static func bytes<Tuple>(of tuple: Tuple) -> [UInt8] {
    unsafe withUnsafeBytes(of: tuple) { bytes in unsafe Array(bytes.prefix { $0 != 0 }) }
  }
}
