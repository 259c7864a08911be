/// One link to a verifier: its live challenge, and how much it was refused.
///
/// It cannot be copied: a copy would bring a spent challenge back to life.
public struct VerifierSession: ~Copyable, Sendable {
  var core = CoreSession()

  /// A link that was just made.
  public init() {}

  /// Ends the link: the live challenge dies, and the counts of refusals start anew.
  public mutating func disconnect() { core.close() }
}
