// SPDX-License-Identifier: Apache-2.0

// Version 2 of questions, challenges and reports: the fields about the installation's key. Version 3
// of questions and reports has the mode before them.

extension AttestationWire {
  static func version(hasKey: Bool, withholding mode: CollectionMode = []) -> UInt8 {
    mode.isEmpty ? hasKey ? keyVersion : version : collectionVersion
  }

  fileprivate enum Demand {
    static let nothing: UInt8 = 0
    static let evidence: UInt8 = 1
    static let credential: UInt8 = 2
  }
}

extension AttestationReader {
  mutating func readEndorsement() throws(ProofError) -> Endorsement? {
    guard try readFlag() else { return nil }
    return try Endorsement(
      read(InstallationPoint.self), certificate: readBlob(max: Endorsement.certificateMax))
  }

  mutating func readDemand() throws(ProofError) -> KeyDemand {
    switch try readByte() {
    case AttestationWire.Demand.nothing: return .nothing
    case AttestationWire.Demand.evidence: return .evidence
    case AttestationWire.Demand.credential:
      return try .credential(
        KeyCredential(
          object: readBlob(max: KeyCredential.partMax), seed: readBlob(max: KeyCredential.partMax)))
    default: throw malformed
    }
  }

  mutating func readClaim() throws(ProofError) -> InstallationClaim {
    guard let place = InstallationKeyPlace(rawValue: try readByte()) else { throw malformed }
    let point = try read(InstallationPoint.self)
    return try InstallationClaim(
      point, in: place, secret: readFlag() ? read(CredentialSecret.self) : nil)
  }
}

extension AttestationWriter {
  mutating func write(_ mode: CollectionMode, hasKey: Bool) {
    guard !mode.isEmpty else { return }
    write(mode.rawValue)
    write(hasKey ? 1 : 0 as UInt8)
  }

  mutating func write(_ endorsement: Endorsement?) {
    write(endorsement == nil ? 0 : 1 as UInt8)
    guard let endorsement else { return }
    write(endorsement.point)
    write(blob: endorsement.certificate)
  }

  mutating func write(_ demand: KeyDemand) {
    switch demand {
    case .nothing: write(AttestationWire.Demand.nothing)
    case .evidence: write(AttestationWire.Demand.evidence)
    case .credential(let credential):
      write(AttestationWire.Demand.credential)
      write(blob: credential.object)
      write(blob: credential.seed)
    }
  }

  mutating func write(_ claim: InstallationClaim) {
    write(claim.place.rawValue)
    write(claim.point)
    write(claim.secret == nil ? 0 : 1 as UInt8)
    if let secret = claim.secret { write(secret) }
  }
}
