// SPDX-License-Identifier: Apache-2.0

/// The part of an address that rates and bindings count.
package enum AddressPrefix {
  /// The part of an address that one sender has: all of IPv4, the first four groups of IPv6.
  package static func of(_ address: String) -> String {
    guard address.utf8.contains(UInt8(ascii: ":")) else { return address }
    let halves = address.lowercased().split(
      separator: "::", maxSplits: 1, omittingEmptySubsequences: false)
    if halves.count == 2, halves[0].isEmpty, halves[1].hasPrefix("ffff:"), halves[1].contains(".") {
      return String(halves[1].dropFirst(5))
    }
    var groups = halves[0].split(separator: ":").map(String.init)
    if halves.count == 2 {
      let rest = halves[1].split(separator: ":").map(String.init)
      groups += [String](repeating: "0", count: max(0, 8 - groups.count - rest.count)) + rest
    }
    return groups.prefix(4).map { group in
      let digits = group.drop { $0 == "0" }
      return digits.isEmpty ? "0" : String(digits)
    }.joined(separator: ":")
  }
}
