// SPDX-License-Identifier: Apache-2.0

internal import CSodium
internal import ProofCore

/// Makes, checks and judges compact tokens.
enum CoreCompact {
  private static let byteCount =
    Int(PFC_COMPACT_PLAIN_BYTES + PFC_COMPACT_TAG_BYTES) + 2 + Int(PFC_HANDLE_BYTES)

  /// The fields of a token that was checked. Public.
  struct Checked: Sendable {
    let compact: pfc_compact

    var handle: GateHandle {
      GateHandle(storage: InlineBytes(tuple: compact.handle))
    }

    var isYoung: Bool { UInt32(compact.flags) & PFC_COMPACT_YOUNG.rawValue != 0 }

    var replayKey: ReplayKey {
      ReplayKey(
        storage: unsafe InlineBytes { key in
          unsafe withUnsafePointer(to: compact) { unsafe pfc_compact_replay_key(key, $0) }
        })
    }

    func isAnchored(by beacons: CoreBeacons) -> Bool {
      unsafe withUnsafePointer(to: compact) { compact in
        unsafe withUnsafePointer(to: beacons.beacons) { beacons in
          unsafe pfc_compact_is_anchored(compact, beacons) == 1
        }
      }
    }
  }

  static func text(
    of draft: CompactDraft, for subject: CompactSubject, with keys: CoreCompactKeys
  ) -> String {
    var compact = pfc_compact()
    compact.kind = subject.kind.rawValue
    compact.account_key = draft.accountKey
    compact.created = UInt32(clamping: draft.created.seconds)
    compact.event = draft.event
    compact.start = draft.start
    compact.count = draft.count
    compact.flags = UInt8(
      (draft.isInErrorState ? PFC_COMPACT_ERROR.rawValue : 0)
        | (draft.isYoung ? PFC_COMPACT_YOUNG.rawValue : 0))
    compact.measured = draft.measured
    draft.beacon?.storage.copy(to: &compact.beacon)
    var core = subject.core
    return unsafe keys.withKeys { keys in
      unsafe encoded { bytes in
        unsafe CoreResult(pfc_compact_make(bytes, &compact, &core, keys)).mustBeOK()
      }
    }
  }

  static func errorText(_ kind: CompactKind, _ cause: CompactCause) -> String {
    let random = CoreSodium.random(count: Int(PFC_COMPACT_PLAIN_BYTES + PFC_COMPACT_TAG_BYTES))
    return unsafe encoded { bytes in
      unsafe random.withUnsafeBufferPointer { random in
        unsafe CoreResult(
          pfc_compact_make_error(bytes, kind.rawValue, cause.rawValue, random.baseAddress)
        ).mustBeOK()
      }
    }
  }

  private static func encoded(_ make: (UnsafeMutablePointer<UInt8>) -> Void) -> String {
    unsafe withUnsafeTemporaryAllocation(of: UInt8.self, capacity: byteCount) { bytes in
      unsafe make(bytes.baseAddress!)
      let count = Int(PFC_COMPACT_TEXT_BYTES)
      return unsafe withUnsafeTemporaryAllocation(of: CChar.self, capacity: count + 1) { text in
        unsafe pfc_compact_encode(text.baseAddress, bytes.baseAddress)
        return unsafe String(unsafeUninitializedCapacity: count) { target in
          for index in 0..<count { unsafe target[index] = UInt8(bitPattern: text[index]) }
          return count
        }
      }
    }
  }

  static func head(
    of text: String, as kind: CompactKind
  ) throws(GateRefusal) -> CompactToken.Head {
    let (refusal, compact) = read(text, kind)
    try GateRefusal.check(refusal)
    return CompactToken.Head(
      handle: GateHandle(storage: InlineBytes(tuple: compact.handle)),
      accountKey: compact.account_key)
  }

  static func cause(in text: String, as kind: CompactKind) -> UInt8? {
    let (refusal, compact) = read(text, kind)
    return refusal == PFC_REFUSAL_ERROR_STATE ? compact.measured : nil
  }

  private static func read(_ text: String, _ kind: CompactKind) -> (pfc_refusal, pfc_compact) {
    var compact = pfc_compact()
    let refusal = unsafe withBytes(of: text) { bytes in
      unsafe pfc_compact_read_head(&compact, bytes, byteCount, kind.rawValue)
    }
    return (refusal, compact)
  }

  static func check(
    _ text: String, for subject: CompactSubject, with keys: CoreCompactKeys
  ) throws(GateRefusal) -> CompactToken {
    var compact = pfc_compact()
    var core = subject.core
    let refusal = unsafe withBytes(of: text) { bytes in
      unsafe keys.withKeys { keys in
        unsafe pfc_compact_check(&compact, bytes, byteCount, subject.kind.rawValue, &core, keys)
      }
    }
    try GateRefusal.check(refusal)
    return CompactToken(core: Checked(compact: compact), kind: subject.kind)
  }

  /// Lends the bytes of a text, or returns the refusal of a malformed one.
  private static func withBytes(
    of text: String, _ body: (UnsafeMutablePointer<UInt8>) -> pfc_refusal
  ) -> pfc_refusal {
    var text = text
    return unsafe withUnsafeTemporaryAllocation(of: UInt8.self, capacity: byteCount) { bytes in
      let refusal = unsafe text.withCharacters { text in
        unsafe pfc_compact_decode(bytes.baseAddress, text.baseAddress, text.count)
      }
      guard refusal == PFC_REFUSAL_NONE else { return refusal }
      return unsafe body(bytes.baseAddress!)
    }
  }

  static func judge(_ token: Checked, by rules: CompactToken.Rules) throws(GateRefusal) {
    var core = pfc_compact_rules()
    core.now = rules.now.unsigned
    core.window = rules.window
    core.newest = rules.newest
    core.event = rules.event
    core.measured_max = rules.measuredMax
    if let beacons = rules.beacons {
      core.beacons = beacons.core.beacons
    } else {
      core.unanchored = 1
    }
    let refusal = unsafe withUnsafePointer(to: token.compact) { compact in
      unsafe pfc_compact_judge(compact, &core)
    }
    try GateRefusal.check(refusal)
  }
}

/// The beacons of one moment. Public: each is in an answer's header.
struct CoreBeacons: Sendable {
  let beacons: pfc_beacons

  init(at now: UInt64, under key: CoreSharedSecret) {
    var beacons = pfc_beacons()
    unsafe key.bytes.withPointer { unsafe pfc_beacons_at(&beacons, $0, now) }
    self.beacons = beacons
  }
}

extension CompactSubject {
  fileprivate var core: pfc_compact_subject {
    var core = pfc_compact_subject()
    account?.storage.copy(to: &core.account)
    digest.storage.copy(to: &core.digest)
    body.storage.copy(to: &core.body)
    return core
  }
}
