import ProofKit
import ProofModel

/// The app on its phone: keeps a configuration and tokens, measures itself, makes proofs.
struct Phone {
  let prover: Prover<EvidenceSet>
  let instance: InstanceID
  let hardware: HardwareID

  init(
    _ evidence: EvidenceSet, _ config: MeasurementConfig, _ service: Service,
    instance: InstanceID, hardware: HardwareID
  ) {
    // In an app the key is the SDK's own, dissolved in its code. Here one process plays every part,
    // so the app's key is the service's.
    prover = Prover(config: config, collector: evidence, key: service.key)
    self.instance = instance
    self.hardware = hardware
  }

  /// The same app on the same phone, after something changed.
  func seeing(_ evidence: EvidenceSet, _ service: Service) -> Phone {
    Phone(evidence, prover.config, service, instance: instance, hardware: hardware)
  }

  func prove(
    _ command: Command, _ kind: ProofKind = .integrity, answering challenge: Challenge
  ) throws -> ProvedCommand {
    try prover.prove(command, kind, from: instance, to: hardware, answering: challenge)
  }

  /// What the app sees of itself; `changing` one name, or with a debugger, or on another phone.
  static func evidence(
    changing name: String? = nil, debugger: Bool = false, machine: String = "phone 1"
  ) throws -> EvidenceSet {
    func digest(_ text: String) -> Digest { Digest(hashing: Array(text.utf8)) }
    var records = [
      try EvidenceRecord(SourceID(.device, 1), name: "machine-id", digest: digest(machine)),
      try EvidenceRecord(SourceID(.device, 2), name: "processor", digest: digest("arm64")),
      try EvidenceRecord(SourceID(.app, 2), name: "sdk", digest: digest("1.0")),
      try EvidenceRecord(
        SourceID(.environment, 1), name: "tracer", digest: debugger ? digest("gdb") : nil),
    ]
    for file in ["door", "libdoor.so", "libui.so", "strings", "icon"] {
      let content = file == name ? "\(file), one byte changed" : file
      records.append(
        try EvidenceRecord(SourceID(.app, 1), name: "bundle/\(file)", digest: digest(content)))
    }
    return try EvidenceSet(records)
  }
}
