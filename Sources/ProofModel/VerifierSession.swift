/// One link to a verifier: its live challenge, and the number of its refusals.
///
/// It cannot be copied, because a copy would make a spent challenge live again.
public struct VerifierSession: ~Copyable, Sendable {
  var core = CoreSession()

  /// Begins a link.
  public init() {}

  /// Ends the link: the live challenge ends, and the counts of refusals restart.
  public mutating func disconnect() { core.close() }
}
