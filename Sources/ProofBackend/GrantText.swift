// SPDX-License-Identifier: Apache-2.0

package import ProofModel

extension GrantPermissions {
  /// Reads permissions as tools take them on their command lines.
  ///
  /// - Parameters:
  ///   - classes: Numbers between commas, such as `0,1`.
  ///   - deviceClasses: Numbers between commas, or nil for none.
  ///   - attempts: A number, or nil for 5.
  ///   - uses: A number, `unlimited`, or nil for that.
  ///   - lifetime: Seconds, `endless`, or nil for 30 days.
  ///   - ratchet: `report`, `refuse`, or nil for none.
  ///   - delegable: Numbers between commas, or nil for none.
  ///   - demandsSealing: Whether the hardware takes sealed commands only.
  ///   - permitsChannel: Whether a sealed command may open a channel.
  /// - Throws: ``/ProofModel/ProofError/outOfRange(field:value:allowed:)``.
  package init(
    classes: String, deviceClasses: String?, attempts: String?, uses: String?, lifetime: String?,
    ratchet: String? = nil, delegable: String? = nil, demandsSealing: Bool = false,
    permitsChannel: Bool = false
  ) throws(ProofError) {
    self.init(
      try Self.classes(classes, "set of classes for an integrity match"),
      deviceClasses: try Self.classes(deviceClasses ?? "", "set of classes for a device match"))
    if let attempts {
      self.attempts = try Self.number(attempts, "number of attempts", 1...UInt16.max)
    }
    if let uses, uses != "unlimited" {
      self.uses = .limited(try Self.number(uses, "number of uses", 1...(UInt32.max - 1)))
    }
    if let lifetime {
      self.lifetime =
        lifetime == "endless"
        ? nil : try Self.number(lifetime, "lifetime", 1...UInt64(UInt32.max))
    }
    if let ratchet {
      guard let policy = RatchetPolicy.allCases.first(where: { "\($0)" == ratchet }) else {
        throw .outOfRange(
          field: "ratchet", value: String(ratchet.prefix(40)), allowed: "report or refuse")
      }
      self.ratchet = policy
    }
    self.demandsSealing = demandsSealing
    self.permitsChannel = permitsChannel
    delegableClasses = try Self.classes(delegable ?? "", "set of classes to delegate")
  }

  private static func classes(
    _ text: String, _ field: String
  ) throws(ProofError) -> CommandClasses {
    var classes: CommandClasses = []
    for part in text.split(separator: ",") {
      classes.formUnion(CommandClasses(try CommandClass(number(String(part), field, 0...15))))
    }
    return classes
  }

  private static func number<Value: FixedWidthInteger>(
    _ text: String, _ field: String, _ range: ClosedRange<Value>
  ) throws(ProofError) -> Value {
    guard let value = Value(text), range.contains(value) else {
      throw .outOfRange(
        field: field, value: String(text.prefix(40)),
        allowed: "\(range.lowerBound) to \(range.upperBound)")
    }
    return value
  }
}
