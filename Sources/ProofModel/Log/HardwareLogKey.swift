// SPDX-License-Identifier: Apache-2.0

/// The key that the log of one piece of hardware begins with. Secret.
///
/// It opens each entry of the log. It is derived from the factory secret as it was drawn, which the
/// backend keeps and the hardware never has. The hardware forgets its keys as the log grows.
public struct HardwareLogKey: Sendable {
  /// The hardware whose log it is.
  public let hardware: HardwareID
  /// The number of the entry that the key belongs to: a reader reads nothing before it.
  public let number: UInt64

  let core: CoreLogKey

  /// Derives the key of entry 0.
  ///
  /// - Parameters:
  ///   - hardware: The hardware's name.
  ///   - drawn: What the factory drew for it: 32 bytes, not all zeros.
  /// - Throws: ``ProofError/wrongLength(of:expected:actual:)``, ``ProofError/allZeros(of:)``.
  public init(of hardware: HardwareID, drawn: borrowing SecretBytes) throws(ProofError) {
    core = try CoreLogKey(of: hardware, drawn: drawn)
    self.hardware = hardware
    number = 0
  }

  /// The key of a later entry, for a reader whose earlier entries were read before.
  ///
  /// It takes one key step for each entry between: a second for some 300,000.
  ///
  /// - Parameter later: The number of the entry. A number below ``number`` is taken for that.
  /// - Returns: The key.
  public func advanced(to later: UInt64) -> HardwareLogKey {
    let later = max(later, number)
    return HardwareLogKey(
      hardware: hardware, number: later, core: core.advanced(by: later - number))
  }

  /// Takes a key that a vector names.
  package init(of hardware: HardwareID, number: UInt64, key: borrowing SecretBytes) {
    self.init(hardware: hardware, number: number, core: CoreLogKey(copying: key))
  }

  /// Whether two keys are equal, in constant time.
  package func hasSameKey(as other: HardwareLogKey) -> Bool { core.isEqual(to: other.core) }

  /// Opens the key's own entry; nil if it is none.
  package func opened(_ entry: [UInt8]) -> HardwareLogEntry? {
    core.opened(entry, number, hardware)
  }

  private init(hardware: HardwareID, number: UInt64, core: CoreLogKey) {
    self.hardware = hardware
    self.number = number
    self.core = core
  }
}

extension HardwareLogKey: CustomStringConvertible, CustomReflectable {
  /// The hardware's public name and the number. It never contains the key.
  public var description: String { "HardwareLogKey(\(hardware), \(number))" }

  /// Shows the public parts.
  public var customMirror: Mirror {
    Mirror(self, children: ["hardware": hardware, "number": number])
  }
}
