// SPDX-License-Identifier: Apache-2.0

/// One entry of the hardware's log.
public struct HardwareLogEntry: Sendable, Hashable {
  /// The kinds of entries.
  public enum Event: UInt8, Sendable, CaseIterable {
    /// A command whose device proof is right.
    case command = 1
    /// A token that took a slot.
    case token = 2
    /// An order that changed something.
    case order = 3
    /// A grant that an owner made.
    case grant = 4
    /// A note of everything without a proof since the entry before.
    case note = 5
  }

  /// The entry's number, from 0.
  public let number: UInt64
  /// The kind of entry.
  public let event: Event
  /// The number of the verdict; 0 in a note.
  public let verdictNumber: UInt8
  /// The class of a command; 0 otherwise.
  public let commandClass: UInt8
  /// The kind of a command or the type of an order, as on the wire; 1 for a grant that lends, 2 for
  /// one that takes back; 0 otherwise.
  public let kind: UInt8
  /// The first four bytes of the instance id; zeros where the event names no instance.
  public let instanceBegins: [UInt8]
  /// The hardware's time, whose seconds have 32 bits there: it was at least that late. Nil if it
  /// knew none.
  public let time: UnixTime?
  /// Low 32 bits of the counter of the command's challenge, or of the next challenge.
  public let counter: UInt32
  /// The content of a note; nil in other entries.
  public let note: HardwareLogNote?

  /// The verdict; nil in a note, and where this build does not know the number.
  public var verdict: Verdict? { Verdict(rawValue: verdictNumber) }
}

/// The content of a note: events at the hardware without a proof.
public struct HardwareLogNote: Sendable, Hashable {
  /// Counts of refusals by groups of verdicts. Each count stays at 255.
  public struct Refusals: Sendable, Hashable {
    /// Refused commands: verdicts 16 to 31.
    public let commands: UInt8
    /// Refused tokens and orders: verdicts 32 to 47.
    public let tokens: UInt8
    /// Messages that did not parse or were not stored: verdicts 48 to 63, without *busy*.
    public let messages: UInt8
    /// Messages over the limit of a link: *busy*.
    public let busy: UInt8
  }

  /// So many entries directly before the note did not happen.
  public let undone: Int
  /// Whether the hardware has started since the entry before, once or more.
  public let hasStarted: Bool
  /// Refusals since the note before.
  public let refused: Refusals
}
