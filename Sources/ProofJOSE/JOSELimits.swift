// SPDX-License-Identifier: Apache-2.0

/// Every bound of this library, in one view.
///
/// Larger input is refused before it is parsed. The bounds are not tuned to a use. They are well
/// above what tokens of measured apps need (under 1 KiB), and well below what would exhaust memory
/// or time.
enum JOSELimits {
  /// Characters of a token. Payloads of 18 KiB fit, twice encoded.
  static let tokenCharacters = 65_536
  /// Bytes of a token's decoded header.
  static let headerBytes = 4_096
  /// Bytes of a payload that is made into a token: encoded, it stays under `tokenCharacters`.
  static let payloadBytes = 40_960
  /// Bytes of any JSON text.
  static let jsonBytes = 262_144
  /// Arrays and objects inside one another.
  static let jsonDepth = 16
  /// Values in a JSON text, names of members included.
  static let jsonValues = 16_384
  /// Characters of one number.
  static let numberCharacters = 64

  /// Bytes of a key identifier.
  static let keyIDBytes = 128
  /// Bytes of a claim that is text.
  static let claimTextBytes = 1_024
  /// Strings in `aud` or `anno`.
  static let claimTexts = 64
  /// Keys in a set.
  static let keysInSet = 256

  /// RFC 7518, 3.2: an HMAC key is at least as long as the hash.
  static let macKeyBytes = 32...512

  /// The sizes of RSA keys. RFC 7518, 3.3 and 4.3, requires 2048 bits at least; more than 4096 only
  /// cost time.
  static let rsaBits = [2_048, 3_072, 4_096]
  /// Bits of a new RSA key: as strong as AES-128 (NIST SP 800-57).
  static let freshRSABits = 3_072
  /// Bytes of a public key in PEM; one of 4096 bits has 800.
  static let pemBytes = 8_192
  /// Bytes of `apu` and `apv`.
  static let partyBytes = 128

  /// NIST SP 800-38D, 8.3: with random 96-bit IVs, a key seals no more messages than this.
  static let messagesPerKey: UInt64 = 1 << 32

  /// The last second of the year 9999. A later time is in milliseconds, or an attack on arithmetic.
  static let lastSecond: Int64 = 253_402_300_799
  /// Seconds by which clocks may differ.
  static let leeway = 0...300
}
