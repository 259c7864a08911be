// SPDX-License-Identifier: Apache-2.0

/// The verifier's decision about a received message.
public struct Decision: Sendable, Hashable {
  /// A command that is to be done now.
  public struct Execution: Sendable, Hashable {
    /// The command to do.
    public let command: Command
    /// The kind of proof that the command carried.
    public let kind: ProofKind
  }

  /// The reply to send. It is never missing.
  public let reply: Message
  /// The verdict; nil where the reply is a challenge or the status.
  public let verdict: Verdict?
  /// The command to do now; nil for nothing.
  public let execution: Execution?
  /// The instance that the message names, if it names one; for logs.
  public let instance: InstanceID?

  init(reply: Message, verdict: Verdict?, execution: Execution?, instance: InstanceID?) {
    self.reply = reply
    self.verdict = verdict
    self.execution = execution
    self.instance = instance
  }
}
