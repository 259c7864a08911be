// SPDX-License-Identifier: Apache-2.0

import ProofModel

/// The facts that a ledger remembers of a pair.
package struct IssueNote: Sendable, Hashable {
  /// The installation and the hardware.
  package let pair: IssuePair
  /// The highest base of a fetch that a token was issued for; 0 for none.
  package let issued: UInt32
  /// The last generation that is revoked; 0 for none.
  package let revokedThrough: UInt32
  /// Whether the hardware got a token of suite two, from this pair or another one.
  package let isSealedWithSecret: Bool

  /// Makes a note.
  package init(pair: IssuePair, issued: UInt32, revokedThrough: UInt32, isSealedWithSecret: Bool) {
    self.pair = pair
    self.issued = issued
    self.revokedThrough = revokedThrough
    self.isSealedWithSecret = isSealedWithSecret
  }
}

/// A ledger that can be copied to another place.
package protocol IssueNotes: IssueLedger {
  /// All notes, in the order of pairs.
  ///
  /// - Throws: ``BackendError``.
  func notes() throws(BackendError) -> [IssueNote]
}

extension IssueNotes {
  /// Copies all notes of this ledger into an empty one, and compares what both remember then.
  ///
  /// - Parameter other: The ledger to fill. No program uses it, or this one, meanwhile.
  /// - Returns: The number of pairs.
  /// - Throws: ``BackendError``; ``IssueCopyError`` for a ledger that is not empty, or was changed
  ///   meanwhile.
  package func copy(to other: any IssueNotes) throws -> Int {
    guard try other.notes().isEmpty else { throw IssueCopyError.notEmpty }
    let notes = try notes()
    // A ledger without a note has no time.
    let time = try latestTime() ?? 0
    for note in notes {
      // The issue first: a revocation may cover it. The order of both does not show afterwards.
      if note.issued > 0 || note.isSealedWithSecret {
        try other.noteIssue(
          of: max(note.issued, 1), base: note.issued, to: note.pair,
          by: note.isSealedWithSecret ? .two : .one, at: time)
      }
      if note.revokedThrough > 0 || note.issued == 0 {
        try other.noteRevocation(through: note.revokedThrough, of: note.pair, at: time)
      }
    }
    guard try other.notes() == self.notes() else { throw IssueCopyError.changed }
    return notes.count
  }
}

/// A ledger was not copied.
package enum IssueCopyError: Error, CustomStringConvertible {
  /// The target has notes.
  case notEmpty
  /// The two ledgers differ after the copy.
  case changed

  package var description: String {
    switch self {
    case .notEmpty:
      "The target has notes already. Copy to a ledger that is empty: another folder, or another name."
    case .changed:
      "The ledgers differ after the copy: a program used one of them. Stop the backends, and copy to "
        + "another empty ledger."
    }
  }
}
