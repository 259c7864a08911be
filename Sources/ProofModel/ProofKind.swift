/// The subject of a proof.
public enum ProofKind: UInt8, Sendable, CaseIterable {
  /// The app, its environment and its device are as they were measured.
  case integrity = 1
  /// The device is as it was measured; the app may have been updated since.
  case device = 2
}
