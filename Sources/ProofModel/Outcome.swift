/// What became of a message that the hardware received.
public struct Outcome: Sendable, Hashable {
  /// A command that is to be done now.
  public struct Execution: Sendable, Hashable {
    /// What to do.
    public let command: Command
    /// What was proved.
    public let kind: ProofKind
  }

  /// What to send back, always.
  public let reply: Message
  /// What was decided; nil where the reply is a challenge or the status.
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
