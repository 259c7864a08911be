// SPDX-License-Identifier: Apache-2.0

extension String {
  /// The text of UTF-8; nil for other bytes. `String(validating:as:)` takes bytes one by one from any sequence, which
  /// was a fortieth of the service's work for an attestation.
  package init?(utf8 bytes: Span<UInt8>) {
    guard let text = try? UTF8Span(validating: bytes) else { return nil }
    self.init(copying: text)
  }
}
