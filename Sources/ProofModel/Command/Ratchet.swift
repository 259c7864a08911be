// SPDX-License-Identifier: Apache-2.0

/// The hardware's answer to a command of another copy of the app.
public enum RatchetPolicy: UInt8, Sendable, Hashable, CaseIterable {
  /// The command is done, and the verdict tells that another copy of the app has sent commands.
  case report = 1
  /// The same for a class that a device match permits. A command of any other class is refused.
  case refuse = 2
}

/// The app's side of a ratchet, for one token. Secret.
///
/// App and hardware step it together with each accepted command. A copy of the app's storage has the
/// same value, until one of the two sends a command. Store it durably before a command is sent, and
/// after its outcome is known (SPEC.md, section 7).
public struct Ratchet: Sendable, Hashable {
  /// A value of the ratchet: 16 bytes.
  package static var byteCount: Int { 16 }

  /// The policy that the hardware told.
  public let policy: RatchetPolicy
  /// The token that the ratchet belongs to.
  public let token: TokenDigest
  /// The counter of the last command that the app knows as accepted; 0 for none.
  public let lastAccepted: UInt64
  /// The present value; nil for the one that the token begins with.
  package let value: [UInt8]?
  /// The values that may follow the open command.
  package let after: Following?

  /// The values that may follow an open command.
  package struct Following: Sendable, Hashable {
    /// After a command in step.
    package let next: [UInt8]
    /// After a command out of step, where copies are reported.
    package let fork: [UInt8]

    package init(next: [UInt8], fork: [UInt8]) {
      self.next = next
      self.fork = fork
    }
  }

  /// The ratchet that a token begins with.
  ///
  /// - Parameters:
  ///   - policy: The policy that the hardware told.
  ///   - token: The token.
  ///   - lastAccepted: The counter of the last accepted command; 0 for none.
  public init(_ policy: RatchetPolicy, of token: TokenDigest, lastAccepted: UInt64 = 0) {
    self.init(policy, of: token, lastAccepted: lastAccepted, value: nil, after: nil)
  }

  /// A stored ratchet.
  package init(
    _ policy: RatchetPolicy, of token: TokenDigest, lastAccepted: UInt64, value: [UInt8]?,
    after: Following?
  ) {
    self.policy = policy
    self.token = token
    self.lastAccepted = lastAccepted
    self.value = value
    self.after = after
  }

  /// The ratchet once the open command's outcome is known.
  ///
  /// - Parameters:
  ///   - verdict: The verdict of a receipt for the open command, to itself or to a recall.
  ///   - counter: The counter of the open command.
  /// - Returns: The ratchet for the next command.
  public func following(_ verdict: Verdict, counter: UInt64) -> Ratchet {
    let moved: [UInt8]?
    switch verdict {
    case .accepted, .acceptedDeviceOnly: moved = after?.next
    case .acceptedCopy, .acceptedDeviceOnlyCopy: moved = policy == .report ? after?.fork : nil
    default:
      return Ratchet(policy, of: token, lastAccepted: lastAccepted, value: value, after: nil)
    }
    return Ratchet(policy, of: token, lastAccepted: counter, value: moved ?? value, after: nil)
  }
}

extension Ratchet {
  /// The property by which a report tells the service of copies: the number of pieces of hardware
  /// that have told of one since the last report.
  package static var copyProperty: String { "copy-seen" }
}

extension Ratchet: CustomStringConvertible, CustomReflectable {
  /// The public part, without the values.
  public var description: String { "ratchet: \(policy), last accepted \(lastAccepted)" }

  /// Shows the public part.
  public var customMirror: Mirror { Mirror(self, children: ["description": description]) }
}
