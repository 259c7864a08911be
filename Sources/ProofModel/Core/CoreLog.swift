// SPDX-License-Identifier: Apache-2.0

internal import ProofCore

/// Parses the readable fields of a LOG.
enum CoreLog {
  static let least = Int(PFC_LOG_FIELDS_BYTES + PFC_LOG_TAG_BYTES)
  static let entry = Int(PFC_LOG_CONTENT_BYTES + PFC_LOG_TAG_BYTES)
  static let most = least + entry * Int(PFC_LOG_ENTRIES_MAX)
  static let stepsMax = UInt64(PFC_LOG_STEPS_MAX)

  struct Fields {
    let entries: Range<UInt64>
    let oldest: UInt64
    let next: UInt64
    let pending: HardwareLogNote
  }

  static func ask(from first: UInt64, _ nonce: HardwareLogNonce) -> [UInt8] {
    let count = Int(PFC_LOG_ASK_BYTES)
    return unsafe [UInt8](unsafeUninitializedCapacity: count) { buffer, initialized in
      unsafe nonce.storage.withPointer {
        unsafe pfc_log_ask_encode(buffer.baseAddress!, first, $0)
      }
      initialized = count
    }
  }

  static func fields(of message: [UInt8]) throws(ProofError) -> Fields {
    var raw = pfc_log_fields()
    let result = unsafe message.withUnsafeBufferPointer {
      unsafe CoreResult(pfc_log_message_decode(&raw, $0.baseAddress, $0.count))
    }
    try result.orThrow(opening: "part of a log", byteCount: message.count)
    return Fields(
      entries: raw.first..<raw.first + UInt64(raw.count), oldest: raw.oldest, next: raw.next,
      pending: HardwareLogNote(undone: raw.undone, flags: raw.flags, refused: raw.refused))
  }
}

/// A key of the log, in a block that is wiped when the last reference goes.
struct CoreLogKey: Sendable {
  private let secret: CoreSecret<(UInt64, UInt64, UInt64, UInt64)>

  init(of hardware: HardwareID, drawn: borrowing SecretBytes) throws(ProofError) {
    try drawn.checkCount(CoreFactorySecret.byteCount, of: "factory secret")
    let isZero = unsafe drawn.withPointer { unsafe pfc_is_zero($0, CoreFactorySecret.byteCount) }
    guard isZero == 0 else { throw .allZeros(of: "factory secret") }
    secret = unsafe Self.filled { target in
      unsafe drawn.withPointer { drawn in
        unsafe hardware.storage.withPointer { unsafe pfc_log_first_key(target, drawn, $0) }
      }
    }
  }

  init(copying key: borrowing SecretBytes) {
    precondition(key.count == Int(PFC_LOG_KEY_BYTES), "A log's key has 32 bytes.")
    secret = unsafe Self.filled { target in
      unsafe key.withPointer { unsafe target.update(from: $0, count: Int(PFC_LOG_KEY_BYTES)) }
    }
  }

  private init(_ secret: CoreSecret<(UInt64, UInt64, UInt64, UInt64)>) { self.secret = secret }

  func advanced(by steps: UInt64) -> CoreLogKey {
    CoreLogKey(
      unsafe Self.filled { target in
        unsafe withPointer { unsafe target.update(from: $0, count: Int(PFC_LOG_KEY_BYTES)) }
        for _ in 0..<steps { unsafe pfc_log_step(target) }
      })
  }

  func isEqual(to other: CoreLogKey) -> Bool {
    unsafe withPointer { mine in
      unsafe other.withPointer { unsafe pfc_equal(mine, $0, Int(PFC_LOG_KEY_BYTES)) == 1 }
    }
  }

  func opened(_ entry: [UInt8], _ number: UInt64, _ hardware: HardwareID) -> HardwareLogEntry? {
    guard entry.count == CoreLog.entry else { return nil }
    var raw = pfc_log_content()
    let result = unsafe withPointer { key in
      unsafe hardware.storage.withPointer { hardware in
        unsafe entry.withUnsafeBufferPointer {
          unsafe CoreResult(pfc_log_open(&raw, $0.baseAddress, key, number, hardware))
        }
      }
    }
    return result == .ok ? HardwareLogEntry(number, raw) : nil
  }

  func withPointer<R: ~Copyable, E: Error>(
    _ body: (UnsafePointer<UInt8>) throws(E) -> R
  ) throws(E) -> R {
    try unsafe secret.withPointer { secret throws(E) in
      try unsafe body(UnsafeRawPointer(secret).assumingMemoryBound(to: UInt8.self))
    }
  }

  private static func filled(
    _ fill: (UnsafeMutablePointer<UInt8>) -> Void
  ) -> CoreSecret<(UInt64, UInt64, UInt64, UInt64)> {
    unsafe CoreSecret { target in
      unsafe fill(UnsafeMutableRawPointer(target).assumingMemoryBound(to: UInt8.self))
    }
  }
}

extension HardwareLogNote {
  fileprivate init(
    undone: UInt8, flags: UInt8, refused: (UInt8, UInt8, UInt8, UInt8)
  ) {
    self.init(
      undone: Int(undone), hasStarted: flags & UInt8(PFC_LOG_STARTED.rawValue) != 0,
      refused: Refusals(
        commands: refused.0, tokens: refused.1, messages: refused.2, busy: refused.3))
  }
}

extension HardwareLogEntry {
  /// The core has checked the event and the values that a later version may add.
  fileprivate init(_ number: UInt64, _ raw: pfc_log_content) {
    let event = known(Event(rawValue: raw.event))
    self.init(
      number: number, event: event, verdictNumber: raw.verdict, commandClass: raw.command_class,
      kind: raw.kind, instanceBegins: [raw.who.0, raw.who.1, raw.who.2, raw.who.3],
      time: raw.epoch == 0 ? nil : UnixTime(clamping: raw.epoch), counter: raw.counter,
      note: event == .note
        ? HardwareLogNote(undone: raw.undone, flags: raw.flags, refused: raw.refused) : nil)
  }
}

/// A `pfc_log_reader`, which has keys of the log, in one block, and the entries that it has read.
struct CoreLogReader: ~Copyable {
  private var work = CoreWork<pfc_log_reader>()
  private let shelf = CoreLogShelf()

  init(_ key: HardwareLogKey) {
    unsafe work.withMutablePointer { reader in
      unsafe key.core.withPointer { first in
        unsafe key.hardware.storage.withPointer { hardware in
          unsafe pfc_log_reader_begin(reader, first, key.number, hardware)
        }
      }
    }
  }

  mutating func read(
    _ part: HardwareLogPart, _ steps: UInt64
  ) throws(ProofError) -> [HardwareLogFinding] {
    let message = part.message
    var listener = unsafe shelf.listener
    let result = unsafe work.withMutablePointer { reader in
      unsafe part.nonce.storage.withPointer { nonce in
        unsafe message.withUnsafeBufferPointer { message in
          unsafe CoreResult(
            pfc_log_reader_take(
              reader, nonce, message.baseAddress, message.count, steps, &listener))
        }
      }
    }
    if result == .tooFar { throw .logTooFar(steps: steps) }
    try result.orThrow(opening: "head of a log", byteCount: message.count)
    shelf.store(part)
    return shelf.takeFindings()
  }

  consuming func end() -> ([HardwareLogFinding], HardwareLogOutcome) {
    var listener = unsafe shelf.listener
    let outcome = unsafe work.withMutablePointer { reader in
      unsafe pfc_log_reader_end(reader, &listener)
    }
    return (shelf.takeFindings(), HardwareLogOutcome(core: outcome))
  }
}

extension HardwareLogOutcome {
  fileprivate init(core outcome: Int32) {
    self =
      switch outcome {
      case Int32(PFC_LOG_WHOLE.rawValue): .whole
      case Int32(PFC_LOG_INCOMPLETE.rawValue): .incomplete
      default: .altered
      }
  }
}

/// The listener of a reader's core: it keeps the stored entries, and takes the findings.
@safe
private final class CoreLogShelf {
  /// The core reads an entry here. It asks for one at a time.
  private let lent: UnsafeMutablePointer<UInt8>
  private var entries: [UInt64: InlineBytes<32>] = [:]
  private var findings: [HardwareLogFinding] = []

  init() { unsafe lent = .allocate(capacity: CoreLog.entry) }

  deinit { unsafe lent.deallocate() }

  /// Borrows this object: it must outlive the call.
  var listener: pfc_log_listener {
    unsafe pfc_log_listener(
      context: Unmanaged.passUnretained(self).toOpaque(),
      stored: { context, number in unsafe CoreLogShelf.of(context).lend(number) },
      found: { context, finding in
        unsafe CoreLogShelf.of(context).findings.append(HardwareLogFinding(finding!.pointee))
      })
  }

  /// Keeps the entries that are not stored yet: of two with one number the first.
  func store(_ part: HardwareLogPart) {
    unsafe part.message.withUnsafeBufferPointer { message in
      var entry = unsafe message.baseAddress! + Int(PFC_LOG_FIELDS_BYTES)
      for number in part.entries {
        if entries[number] == nil { entries[number] = unsafe InlineBytes(copying: entry) }
        unsafe entry += CoreLog.entry
      }
    }
  }

  func takeFindings() -> [HardwareLogFinding] {
    defer { findings = [] }
    return findings
  }

  private func lend(_ number: UInt64) -> UnsafePointer<UInt8>? {
    guard let entry = entries[number] else { return nil }
    unsafe entry.withPointer { unsafe lent.update(from: $0, count: CoreLog.entry) }
    return unsafe UnsafePointer(lent)
  }

  private static func of(_ context: UnsafeMutableRawPointer?) -> CoreLogShelf {
    unsafe Unmanaged<CoreLogShelf>.fromOpaque(context!).takeUnretainedValue()
  }
}

extension HardwareLogFinding {
  fileprivate init(_ raw: pfc_log_finding) {
    let first = unsafe raw.first
    self.init(
      kind: Kind(core: unsafe raw.kind), entries: first..<first + (unsafe raw.count),
      entry: unsafe raw.content.map { unsafe HardwareLogEntry(first, $0.pointee) })
  }
}

extension HardwareLogFinding.Kind {
  fileprivate init(core kind: UInt32) {
    let kinds: [(pfc_log_finding_kind, Self)] = [
      (PFC_LOG_ENTRY, .entry), (PFC_LOG_UNKNOWN, .unknown), (PFC_LOG_UNDONE, .undone),
      (PFC_LOG_TORN, .torn), (PFC_LOG_MISSING, .missing), (PFC_LOG_OVERWRITTEN, .overwritten),
      (PFC_LOG_UNCLEAR, .unclear), (PFC_LOG_CHANGED, .changed), (PFC_LOG_FORKED, .forked),
      (PFC_LOG_SHORTER, .shorter),
    ]
    self = known(kinds.first { $0.0.rawValue == kind }?.1)
  }
}
