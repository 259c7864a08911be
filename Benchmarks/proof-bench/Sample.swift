// SPDX-License-Identifier: Apache-2.0

import ProofModel
import Synchronization

/// One service, app, backend and piece of hardware to measure with.
struct Sample {
  let key: MeasurementProofKey
  let config: MeasurementConfig
  let measurement: Measurement
  let issuer: IssuerKey
  let hardware: HardwareKeys
  let instance = InstanceID.random()
  let command: Command

  init() throws {
    key = try MeasurementProofKey(.random(count: 16), mode: .production)
    let evidence = try EvidenceSet([
      EvidenceRecord(SourceID(.device, 1), name: "machine", digest: Digest(hashing: [1])),
      EvidenceRecord(SourceID(.app, 1), name: "code", digest: Digest(hashing: [2])),
    ])
    let sources = try [Source(SourceID(.device, 1)), Source(SourceID(.app, 1))]
    config = try MeasurementConfig(
      baseline: evidence, BaselineDraft(salt: .random(), sources: sources), with: key)
    measurement = try Measurement(of: evidence, under: config, with: key)
    issuer = .random()
    hardware = try HardwareKeys(
      id: .random(), secretKey: .random(count: 32), mode: .production, issuers: [issuer.publicKey])
    command = try Command([1, 2, 3, 4, 5, 6, 7, 8], class: 1)
  }

  var secrets: HardwareSecrets { measurement.secrets(for: hardware.identity.id, with: key) }

  func grant(generation: UInt32 = 1) throws -> MeasurementGrant {
    try MeasurementGrant(
      for: hardware.identity.id, instance: instance, mode: .production, integrityClasses: .all,
      attempts: 3, uses: .unlimited, generation: generation, issued: 1_800_000_000,
      secrets: secrets)
  }

  func token(generation: UInt32 = 1) throws -> MeasurementToken {
    try grant(generation: generation).sealed(to: hardware.identity, signedBy: issuer)
  }

  /// A token that only names other hardware: for a store, which opens none.
  func token(for id: HardwareID) throws -> MeasurementToken {
    let other = try HardwareKeys(
      id: id, secretKey: .random(count: 32), mode: .production, issuers: [issuer.publicKey])
    return try MeasurementGrant(
      for: id, instance: instance, mode: .production, integrityClasses: .all, attempts: 3,
      uses: .unlimited, generation: 1, issued: 1_800_000_000,
      secrets: measurement.secrets(for: id, with: key)
    ).sealed(to: other.identity, signedBy: issuer)
  }

  func verifier() throws -> Verifier {
    let platform = MemoryPlatform()
    try Verifier.provision(hardware, on: platform)
    return try Verifier(hardware, on: platform)
  }

  func proved(answering reply: Message, _ secrets: HardwareSecrets) throws -> ProvedCommand {
    ProvedCommand(
      command, proving: .integrity, from: instance, to: hardware.identity.id,
      answering: try Challenge(reply), with: secrets)
  }
}

/// Storage that costs next to nothing, and a counter for a generator: challenges differ, which is all
/// that is measured.
final class MemoryPlatform: Platform {
  private let areas = Mutex<[StorageArea: [UInt8]]>([:])
  private let drawn = Mutex<UInt64>(0)

  var seconds: (@Sendable () -> UInt32)? { nil }

  func fillRandom(_ bytes: inout MutableSpan<UInt8>) throws(PlatformFailure) {
    let number = drawn.withLock { drawn in
      drawn += 1
      return drawn
    }
    for index in bytes.indices {
      bytes[index] = UInt8(truncatingIfNeeded: number >> (8 * (UInt64(index) & 7)))
    }
  }

  func read(_ bytes: inout MutableSpan<UInt8>, from area: StorageArea) throws(PlatformFailure) {
    guard let stored = areas.withLock({ $0[area] }) else { throw PlatformFailure() }
    for index in bytes.indices { bytes[index] = stored[index] }
  }

  func write(_ bytes: Span<UInt8>, to area: StorageArea) throws(PlatformFailure) {
    let copied = bytes.indices.map { bytes[$0] }
    areas.withLock { $0[area] = copied }
  }
}
