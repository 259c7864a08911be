// SPDX-License-Identifier: Apache-2.0

/// The features of hardware beyond version 1, as its capabilities name them (SPEC.md, section 10).
///
/// A bit keeps its meaning for ever. Bits that this version does not know stay in the set.
public struct HardwareFeatures: OptionSet, Sendable, Hashable {
  /// It takes tokens of version two.
  public static let tokenVersionTwo = HardwareFeatures(rawValue: CoreWire.featureTokenTwo)
  /// It takes tokens with a ratchet, which tells of copies of the app.
  public static let ratchet = HardwareFeatures(rawValue: CoreWire.featureRatchet)
  /// It answers sealed commands, of which an eavesdropper reads nothing.
  public static let sealedCommands = HardwareFeatures(rawValue: CoreWire.featureSealed)
  /// It keeps a log of what it did, which apps carry to the backend.
  public static let log = HardwareFeatures(rawValue: CoreWire.featureLog)
  /// It takes grants by which an owner lends command classes without a network.
  public static let grants = HardwareFeatures(rawValue: CoreWire.featureGrants)
  /// It has a factory secret: it takes tokens that are sealed with it, and no others.
  public static let factorySecret = HardwareFeatures(rawValue: CoreWire.featureFactorySecret)
  /// It takes a token for a measurement to come as a candidate, and commits it at its first proof.
  public static let upcoming = HardwareFeatures(rawValue: CoreWire.featureUpcoming)
  /// It opens channels behind sealed commands: further commands cost one round trip.
  public static let channels = HardwareFeatures(rawValue: CoreWire.featureChannel)
  /// The features that this version knows.
  public static let known: HardwareFeatures = [
    .tokenVersionTwo, .ratchet, .sealedCommands, .log, .grants, .factorySecret, .upcoming,
    .channels,
  ]

  /// The bits, as the capabilities carry them.
  public let rawValue: UInt32

  /// Takes bits.
  public init(rawValue: UInt32) { self.rawValue = rawValue }
}
