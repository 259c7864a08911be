internal import ProofModel

/// Secure strings that one installation of an app defined for itself.
enum DeviceStrings {
  /// The longest value: what an answer can carry.
  static let valueMax = 65_535
  /// How many one installation may define.
  static let countMax = 32

  static func key(_ name: String, of device: DeviceID) -> String { "\(device)/\(name)" }
}
