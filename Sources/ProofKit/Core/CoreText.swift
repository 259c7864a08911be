// SPDX-License-Identifier: Apache-2.0

extension RawSpan {
  /// The bytes as text, in ordinary memory.
  var text: String {
    unsafe withUnsafeBytes { unsafe String(decoding: $0, as: UTF8.self) }
  }
}
