/// Whether a key, and everything made with it, is meant for the field or for the bench.
///
/// Production hardware refuses whatever was made in development mode, and the other way round.
public enum Mode: UInt8, Sendable, CaseIterable {
  /// For the field.
  case production = 1
  /// For the bench: its keys may be public.
  case development = 2
}
