// SPDX-License-Identifier: Apache-2.0

import ProofModel

/// A test's secret from bytes that are public anyway.
func secret(_ bytes: [UInt8]) -> SecretBytes {
  SecretBytes(copying: bytes.span)
}

/// A test's secret of one repeated byte.
func secret(_ byte: UInt8, _ count: Int) -> SecretBytes {
  secret([UInt8](repeating: byte, count: count))
}

/// A copy of what a secret lends. Only tests do this.
func copy(_ span: RawSpan) -> [UInt8] {
  unsafe span.withUnsafeBytes { unsafe Array($0) }
}

func copy(_ secret: borrowing SecretBytes) -> [UInt8] {
  secret.withBytes(copy)
}

func copy(_ measurement: Measurement, _ part: Measurement.Part) -> [UInt8] {
  measurement.withBytes(of: part, copy)
}

func copy(_ secrets: HardwareSecrets, _ part: HardwareSecrets.Part) -> [UInt8] {
  secrets.withBytes(of: part, copy)
}

/// The same bytes with one bit changed.
func flipped(_ bytes: [UInt8], bit: Int) -> [UInt8] {
  var bytes = bytes
  bytes[bit / 8] ^= 1 << UInt8(bit % 8)
  return bytes
}

/// The bytes of a number, the least significant first.
func little(_ number: some FixedWidthInteger) -> [UInt8] {
  stride(from: 0, to: number.bitWidth, by: 8).map { UInt8(truncatingIfNeeded: number >> $0) }
}
