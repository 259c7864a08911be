// SPDX-License-Identifier: Apache-2.0

// Layouts of docs/SPEC.md, section 16. Gates write these texts, and apps read some of their fields. Inlinable, because a
// gate reads several fields in each request.

/// The layout of a clearance.
package enum ClearanceWire {
  /// How many bytes a clearance has.
  @inlinable package static var byteCount: Int { 66 }
  /// How many characters it has in base64url.
  @inlinable package static var characterCount: Int { 88 }
  /// The first byte: type and version.
  @inlinable package static var head: UInt8 { 0x1A }
  /// The bits of the level of work (a); the level of work (b) is above them.
  @inlinable package static var workLevelMask: UInt8 { 0x1F }
  /// The bits that the level of work (a) has.
  @inlinable package static var workLevelBits: UInt8 { 5 }
  /// The flag of a clearance that an app holds.
  @inlinable package static var appFlag: UInt8 { 1 }

  // Where each field begins.
  @inlinable package static var keyAt: Int { 1 }
  @inlinable package static var kindsAt: Int { 2 }
  @inlinable package static var levelsAt: Int { 3 }
  @inlinable package static var flagsAt: Int { 4 }
  @inlinable package static var expiryAt: Int { 6 }
  @inlinable package static var startAt: Int { 10 }
  @inlinable package static var serialAt: Int { 14 }
  @inlinable package static var hostAt: Int { 18 }
  @inlinable package static var holderAt: Int { 34 }
  @inlinable package static var tagAt: Int { 50 }

  /// The field of a host: the first bytes of a digest.
  package static func host(_ host: String) -> ArraySlice<UInt8> {
    Digest(hashing: Array(("pfc1.host......." + host).utf8)).bytes.prefix(holderAt - hostAt)
  }
}

/// The layout of a challenge's id.
package enum ChallengeWire {
  /// How many bytes an id has.
  @inlinable package static var byteCount: Int { 60 }
  /// How many characters it has in base64url.
  @inlinable package static var characterCount: Int { 80 }
  /// The version, in the upper half of the first byte; the kind is in the lower half.
  @inlinable package static var version: UInt8 { 1 }

  // Where each field begins.
  @inlinable package static var keyAt: Int { 1 }
  @inlinable package static var levelAt: Int { 2 }
  @inlinable package static var expiryAt: Int { 4 }
  @inlinable package static var routeAt: Int { 8 }
  @inlinable package static var nonceAt: Int { 12 }
  @inlinable package static var bindingAt: Int { 28 }
  @inlinable package static var tagAt: Int { 44 }
}
