// SPDX-License-Identifier: Apache-2.0

/// One finding of a ``HardwareLogReader`` about entries of the log.
public struct HardwareLogFinding: Sendable, Hashable {
  /// The kinds of findings. `docs/SPEC.md`, section 17, has the rules.
  public enum Kind: String, Sendable, CaseIterable {
    /// The entry opens. Told once for each.
    case entry
    /// The entry opens, and a later version wrote it.
    case unknown
    /// These entries did not happen, says the hardware. It may say so again.
    case undone
    /// The hardware says that the writes of these entries were cut.
    case torn
    /// The hardware has these entries, and no part brought them: a gap or a truncated log.
    case missing
    /// The hardware has overwritten these entries, and no part brought them in time.
    case overwritten
    /// These entries do not open, and the entry that may tell why has not come.
    case unclear
    /// These entries do not open, and the hardware does not say that their writes were cut.
    case changed
    /// Two different entries have this number: the hardware's flash was put back.
    case forked
    /// The log ends before these entries, which it had: the hardware's flash was put back, or the part
    /// is an old one.
    case shorter
  }

  /// The kind of finding.
  public let kind: Kind
  /// The numbers of the entries.
  public let entries: Range<UInt64>
  /// The entry, if the kind is ``Kind/entry``.
  public let entry: HardwareLogEntry?

  init(kind: Kind, entries: Range<UInt64>, entry: HardwareLogEntry?) {
    self.kind = kind
    self.entries = entries
    self.entry = entry
  }

  /// A finding about some of another one's entries.
  package init(_ kind: Kind, _ entries: Range<UInt64>) {
    self.init(kind: kind, entries: entries, entry: nil)
  }
}

/// The judgement of a whole log: the worst that applies.
public enum HardwareLogOutcome: String, Sendable, CaseIterable {
  /// Each entry is there, and opens or is told of as torn.
  case whole
  /// Entries are missing, overwritten or unclear.
  case incomplete
  /// An entry is changed, the log is forked, or it became shorter.
  case altered
}
