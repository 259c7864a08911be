// SPDX-License-Identifier: Apache-2.0

import Console

/// Something that does not depend on the machine's speed: bytes, packets, allocations, instructions.
package struct Figure: Sendable, Hashable {
  package let name: String
  /// Nil if it could not be counted here.
  package let value: Double?
  /// Why it could not be counted, and what to do about it.
  package let reason: String?

  package init(_ name: String, _ value: Double) {
    self.name = name
    self.value = value
    reason = nil
  }

  package init(_ name: String, _ value: Int) { self.init(name, Double(value)) }

  package init(_ name: String, uncounted reason: String) {
    self.name = name
    value = nil
    self.reason = reason
  }

  /// The value as people write it: whole numbers whole, others with three decimals.
  package var text: String { value.map(Self.text) ?? "not counted" }

  static func text(_ value: Double) -> String {
    value == value.rounded() ? value.text(decimals: 0) : value.text(decimals: 3)
  }
}

/// One figure over another, by names, where both were counted.
extension [Figure] {
  package func ratio(_ name: String, _ over: String, _ under: String) -> Figure {
    guard let over = first(where: { $0.name == over }),
      let under = first(where: { $0.name == under })
    else { preconditionFailure("\(name) is of figures that are there") }
    guard let above = over.value, let below = under.value, below > 0 else {
      return Figure(name, uncounted: over.reason ?? under.reason ?? "\(under.name) is 0")
    }
    return Figure(name, above / below)
  }
}
