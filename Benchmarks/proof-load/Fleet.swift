import ProofModel
import Synchronization

/// The simulated devices, each made when it is first used and kept: what a device sees does not change
/// from one attestation to the next, and its making is no part of what is measured.
final class Fleet: Sendable {
  /// A device's evidence, and the id that follows from it.
  struct Member: Sendable {
    let evidence: EvidenceSet
    let id: DeviceID
  }

  private let options: LoadOptions
  private let members: Mutex<[Member?]>

  init(_ options: LoadOptions) {
    self.options = options
    members = Mutex(Array(repeating: nil, count: options.devices))
  }

  /// A device.
  func member(_ number: Int) throws(ProofError) -> Member {
    if let known = members.withLock({ $0[number] }) { return known }
    let evidence = try SimulatedDevice(number: number, records: options.records).evidence()
    let member = Member(evidence: evidence, id: DeviceID(of: evidence, account: options.account))
    members.withLock { $0[number] = member }
    return member
  }
}
