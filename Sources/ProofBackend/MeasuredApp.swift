// SPDX-License-Identifier: Apache-2.0

public import ProofJOSE
public import ProofModel

/// The service's statement about an app that it has measured: the claims of a checked measurement
/// token. Secret.
public struct MeasuredApp: Sendable {
  /// The installation.
  public let instance: InstanceID
  /// Production or development.
  public let mode: Mode
  /// The configuration's generation.
  public let generation: UInt32
  /// The generation of the present pair in the same fetch, at most ``generation``.
  public let base: UInt32
  /// Whether this is a measurement to come: a prediction of the service, made of a registered build.
  public let isUpcoming: Bool
  /// All claims of the token.
  public let claims: Claims

  private let measurement: Measurement
  private let key: MeasurementProofKey

  /// Reads the claims `imh`, `dmh`, `mpk`, `dpk`, `did`, `mgn`, `mmd`, and `mgb` and `mup` of a
  /// measurement to come.
  ///
  /// - Parameter claims: The claims of a token that a ``TokenVerifier`` has checked.
  /// - Throws: ``TokenRefusal`` with ``TokenRefusal/Reason/claims``.
  public init(_ claims: Claims) throws(TokenRefusal) {
    guard let secrets = claims.measurement else { throw TokenRefusal(.claims) }
    self.claims = claims
    instance = try Self.instance(in: claims)
    generation = try Self.generation(in: claims)
    (base, isUpcoming) = try Self.base(in: claims, of: generation)
    let mode = try Self.mode(in: claims)
    self.mode = mode
    let integrity = secrets.withIntegrityMeasurement { SecretBytes(copying: $0) }
    let device = secrets.withDeviceMeasurement { SecretBytes(copying: $0) }
    do throws(JOSEError) {
      let deviceKey = try secrets.withDeviceKey { SecretBytes(copying: $0) }
      measurement = try Self.ofLength("imh") { () throws(ProofError) in
        try Measurement(integrity: integrity, device: device, deviceKey: deviceKey)
      }
      key = try Self.ofLength("mpk") { () throws(ProofError) in
        try MeasurementProofKey(
          secrets.withProofKey { SecretBytes(copying: $0) }, mode: mode)
      }
    } catch {
      throw TokenRefusal(error)
    }
  }

  /// The secrets that a piece of hardware and the app share.
  func secrets(for hardware: HardwareID, form: TokenForm) -> HardwareSecrets {
    measurement.secrets(for: hardware, with: key, form: form)
  }

  private static func instance(in claims: Claims) throws(TokenRefusal) -> InstanceID {
    guard let bytes = claims.instance else { throw TokenRefusal(.claimMissing("did")) }
    guard let instance = try? InstanceID(bytes) else {
      throw TokenRefusal(.claimInvalid("did", .bytes(InstanceID.byteCount)))
    }
    return instance
  }

  private static func generation(in claims: Claims) throws(TokenRefusal) -> UInt32 {
    guard case .number(let number)? = claims.others["mgn"] else {
      throw TokenRefusal(.claimMissing("mgn"))
    }
    guard let value = number.integer, let generation = UInt32(exactly: value),
      generation > 0, generation < .max
    else { throw TokenRefusal(.claims) }
    return generation
  }

  /// The two claims stand together, or neither does.
  private static func base(
    in claims: Claims, of generation: UInt32
  ) throws(TokenRefusal) -> (UInt32, Bool) {
    switch (claims.others["mgb"], claims.others["mup"]) {
    case (nil, nil): return (generation, false)
    case (.number(let number)?, .bool(true)?):
      guard let value = number.integer, let base = UInt32(exactly: value), base > 0,
        base < generation
      else { throw TokenRefusal(.claims) }
      return (base, true)
    default: throw TokenRefusal(.claims)
    }
  }

  private static func mode(in claims: Claims) throws(TokenRefusal) -> Mode {
    switch claims.others["mmd"] {
    case .string("production"): return .production
    case .string("development"): return .development
    case nil: throw TokenRefusal(.claimMissing("mmd"))
    default: throw TokenRefusal(.claims)
    }
  }

  private static func ofLength<Value>(
    _ claim: String, _ body: () throws(ProofError) -> Value
  ) throws(JOSEError) -> Value {
    do throws(ProofError) { return try body() } catch { throw .claimInvalid(claim, .together) }
  }
}

extension MeasuredApp: CustomStringConvertible, CustomReflectable {
  /// The public part.
  public var description: String {
    "measured app: instance \(instance), \(mode), generation \(generation)"
      + (isUpcoming ? ", upcoming" : "")
  }

  /// Shows the public part.
  public var customMirror: Mirror { Mirror(self, children: ["description": description]) }
}
