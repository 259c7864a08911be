// SPDX-License-Identifier: Apache-2.0

internal import ProofCore

/// Something that holds an integrity and a device measurement.
protocol CoreMeasurements: Sendable {
  /// Lends IM or DM, 32 bytes, in place.
  func withMeasurement<R: ~Copyable, E: Error>(
    of kind: ProofKind, _ body: (UnsafePointer<UInt8>) throws(E) -> R
  ) throws(E) -> R
}

/// The secrets of one measurement, in one block.
final class CoreMeasurement: CoreMeasurements {
  private let secret: CoreSecret<pfc_measured>

  init<E: Error>(filledBy fill: (UnsafeMutablePointer<pfc_measured>) throws(E) -> Void) throws(E) {
    secret = try unsafe CoreSecret(filledBy: fill)
  }

  init(
    integrity: borrowing SecretBytes, device: borrowing SecretBytes,
    deviceKey: borrowing SecretBytes
  ) throws(ProofError) {
    try integrity.checkCount(Measurement.byteCount, of: "integrity measurement")
    try device.checkCount(Measurement.byteCount, of: "device measurement")
    try deviceKey.checkCount(MeasurementProofKey.byteCount, of: "device proof key")
    secret = unsafe CoreSecret { measured in
      unsafe integrity.copy(to: &measured.pointee.integrity)
      unsafe device.copy(to: &measured.pointee.device)
      unsafe deviceKey.copy(to: &measured.pointee.device_key)
    }
  }

  func withBytes<R: ~Copyable, E: Error>(
    of part: Measurement.Part, _ body: (RawSpan) throws(E) -> R
  ) throws(E) -> R {
    let field =
      switch part {
      case .integrity: Self.integrity
      case .device: Self.device
      case .deviceKey: Self.deviceKey
      }
    return try secret.withBytes(of: field, body)
  }

  func withMeasurement<R: ~Copyable, E: Error>(
    of kind: ProofKind, _ body: (UnsafePointer<UInt8>) throws(E) -> R
  ) throws(E) -> R {
    try unsafe secret.withField(kind == .integrity ? Self.integrity : Self.device, body)
  }

  func withDeviceKey<R: ~Copyable>(_ body: (UnsafePointer<UInt8>) -> R) -> R {
    unsafe secret.withField(Self.deviceKey, body)
  }

  private static let integrity = Field(\pfc_measured.integrity)
  private static let device = Field(\pfc_measured.device)
  private static let deviceKey = Field(\pfc_measured.device_key)

  func proof(of kind: ProofKind, for nonce: ProofNonce, with key: CoreKey) -> Proof {
    Proof(
      storage: unsafe InlineBytes { proof in
        unsafe key.withKey { key in
          unsafe secret.withPointer { measured in
            unsafe nonce.storage.withPointer { nonce in
              unsafe CoreResult(pfc_proof_literal(proof, kind.rawValue, key, measured, nonce))
                .mustBeOK()
            }
          }
        }
      })
  }

  func secrets(for hardware: HardwareID, with key: CoreKey, form: TokenForm) -> CoreSecrets {
    unsafe CoreSecrets { secrets in
      unsafe key.withKey { key in
        unsafe secret.withPointer { measured in
          unsafe hardware.storage.withPointer { hardware in
            unsafe CoreResult(pfc_secrets_make(secrets, key, measured, form.rawValue, hardware))
              .mustBeOK()
          }
        }
      }
    }
  }
}

/// The secrets that a token carries for one piece of hardware, in one block.
final class CoreSecrets: CoreMeasurements {
  private let secret: CoreSecret<pfc_secrets>

  init<E: Error>(filledBy fill: (UnsafeMutablePointer<pfc_secrets>) throws(E) -> Void) throws(E) {
    secret = try unsafe CoreSecret(filledBy: fill)
  }

  init(
    integrityKey: borrowing SecretBytes, integrity: borrowing SecretBytes,
    deviceKey: borrowing SecretBytes, device: borrowing SecretBytes
  ) throws(ProofError) {
    try integrityKey.checkCount(MeasurementProofKey.byteCount, of: "integrity proof key")
    try integrity.checkCount(Measurement.byteCount, of: "integrity measurement")
    try deviceKey.checkCount(MeasurementProofKey.byteCount, of: "device proof key")
    try device.checkCount(Measurement.byteCount, of: "device measurement")
    secret = unsafe CoreSecret { secrets in
      unsafe integrityKey.copy(to: &secrets.pointee.integrity_key)
      unsafe integrity.copy(to: &secrets.pointee.integrity)
      unsafe deviceKey.copy(to: &secrets.pointee.device_key)
      unsafe device.copy(to: &secrets.pointee.device)
    }
  }

  func withSecrets<R: ~Copyable, E: Error>(
    _ body: (UnsafePointer<pfc_secrets>) throws(E) -> R
  ) throws(E) -> R {
    try unsafe secret.withPointer(body)
  }

  func withBytes<R: ~Copyable, E: Error>(
    of part: HardwareSecrets.Part, _ body: (RawSpan) throws(E) -> R
  ) throws(E) -> R {
    let field =
      switch part {
      case .integrityKey: Self.integrityKey
      case .integrity: Self.integrity
      case .deviceKey: Self.deviceKey
      case .device: Self.device
      }
    return try secret.withBytes(of: field, body)
  }

  func withMeasurement<R: ~Copyable, E: Error>(
    of kind: ProofKind, _ body: (UnsafePointer<UInt8>) throws(E) -> R
  ) throws(E) -> R {
    try unsafe secret.withField(kind == .integrity ? Self.integrity : Self.device, body)
  }

  func withKey<R: ~Copyable>(of kind: ProofKind, _ body: (UnsafePointer<UInt8>) -> R) -> R {
    unsafe secret.withField(kind == .integrity ? Self.integrityKey : Self.deviceKey, body)
  }

  private static let integrityKey = Field(\pfc_secrets.integrity_key)
  private static let integrity = Field(\pfc_secrets.integrity)
  private static let deviceKey = Field(\pfc_secrets.device_key)
  private static let device = Field(\pfc_secrets.device)
}

extension SecretBytes {
  borrowing func checkCount(_ expected: Int, of noun: String) throws(ProofError) {
    guard count == expected else {
      throw .wrongLength(of: noun, expected: expected...expected, actual: count)
    }
  }

  /// Writes the bytes over a C array inside another block.
  borrowing func copy<Tuple: BitwiseCopyable>(to tuple: inout Tuple) {
    precondition(MemoryLayout<Tuple>.size == count)
    unsafe withPointer { source in
      unsafe withUnsafeMutableBytes(of: &tuple) { target in
        unsafe target.baseAddress!.copyMemory(from: source, byteCount: count)
      }
    }
  }
}

extension Measurement {
  /// Lets the closure fill a block with the core's `pfc_measured`, and takes the block.
  package init<E: Error>(filledBy fill: (UnsafeMutableRawPointer) throws(E) -> Void) throws(E) {
    self.init(
      core: try unsafe CoreMeasurement { measured throws(E) in
        try unsafe fill(UnsafeMutableRawPointer(measured))
      })
  }
}
