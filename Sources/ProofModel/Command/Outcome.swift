// SPDX-License-Identifier: Apache-2.0

/// The result of a command whose receipt was lost, authenticated by the hardware.
public enum Outcome: Sendable, Hashable {
  /// It was accepted, and is done at most once.
  case accepted(Receipt)
  /// It was refused or never arrived. It was not executed and never will be.
  case notExecuted
  /// It was too long ago: the hardware no longer knows. A person must look before the command is
  /// sent again.
  case unknown

  /// Whether the command was accepted.
  public var isAccepted: Bool { if case .accepted = self { true } else { false } }

  /// Reads a receipt that answers a recall.
  package init(_ receipt: Receipt) {
    self =
      switch receipt.verdict {
      case .accepted, .acceptedDeviceOnly, .acceptedCopy, .acceptedDeviceOnlyCopy:
        .accepted(receipt)
      case .stale: .unknown
      default: .notExecuted
      }
  }
}
