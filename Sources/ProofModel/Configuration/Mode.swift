// SPDX-License-Identifier: Apache-2.0

/// Whether a key, and everything made with it, is meant for production or for development.
///
/// Production hardware refuses everything made in development mode, and the other way round.
public enum Mode: UInt8, Sendable, CaseIterable {
  /// For production.
  case production = 1
  /// For development: its keys may be public.
  case development = 2
}
