import ProofModel

/// The API backend: turns what the service measured into tokens for one piece of hardware.
struct Backend {
  let issuer = IssuerKey.random()

  static let now: UInt64 = 1_800_000_000
  /// Ringing the bell is class 0, opening the door is class 1.
  static let bell = CommandClass(rawValue: 0)!
  static let door = CommandClass(rawValue: 1)!

  func token(
    for hardware: HardwareIdentity, instance: InstanceID, _ measurement: Measurement,
    by service: Service, generation: UInt32, mode: Mode = .production,
    signedBy other: IssuerKey? = nil
  ) throws -> MeasurementToken {
    let grant = try MeasurementGrant(
      for: hardware.id, instance: instance, mode: mode,
      integrityClasses: CommandClasses([Self.bell, Self.door]),
      deviceClasses: CommandClasses(Self.bell), attempts: 3, uses: .limited(50),
      generation: generation, issued: Self.now, notAfter: Self.now + 86_400,
      secrets: measurement.secrets(for: hardware.id, with: service.key))
    return try grant.sealed(to: hardware, signedBy: other ?? issuer)
  }
}
