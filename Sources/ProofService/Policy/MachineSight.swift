// SPDX-License-Identifier: Apache-2.0

internal import ProofModel

/// One machine as a report shows it, by the device sources but the storage secret. An app that
/// withholds facts shows less of it.
struct MachineSight: Sendable, Hashable {
  /// The digest of all that was shown.
  let digest: [UInt8]
  /// A digest of 8 bytes for each device source, zeros for one that was not reported; nil in notes of
  /// earlier versions.
  let parts: [UInt8]?

  private static let partSize = 8
  private static let sources: ClosedRange<UInt8> = 1...4

  init(digest: [UInt8], parts: [UInt8]?) {
    self.digest = digest
    let size = Self.partSize * Self.sources.count
    self.parts = parts.flatMap { $0.count == size ? $0 : nil }
  }

  init(of report: AttestationReport) {
    var transcript: [UInt8] = []
    var parts: [UInt8: [UInt8]] = [:]
    for record in report.evidence.records(of: .device)
    where record.source.number != InstanceID.secretSource {
      let number = record.source.number
      var bytes = [number, UInt8(record.name.count)] + record.name
      bytes += record.digest.map { [1] + $0.bytes } ?? [0]
      transcript += bytes
      parts[number, default: []] += bytes
    }
    digest = Array(CoreSodium.hash("pfs1.machine....", transcript).prefix(16))
    self.parts = Self.sources.flatMap { number -> [UInt8] in
      guard let bytes = parts[number] else {
        return [UInt8](repeating: 0, count: Self.partSize)
      }
      return Array(CoreSodium.hash("pfs1.machine-src", bytes).prefix(Self.partSize))
    }
  }

  /// Whether this is certainly another machine: a source that both show differs. Two sights that
  /// share no source say nothing about each other.
  func isOther(than machine: MachineSight) -> Bool {
    if digest == machine.digest { return false }
    guard let parts, let others = machine.parts else { return true }
    let nothing = [UInt8](repeating: 0, count: Self.partSize)[...]
    return stride(from: 0, to: parts.count, by: Self.partSize).contains { start in
      let mine = parts[start..<start + Self.partSize]
      let theirs = others[start..<start + Self.partSize]
      return !mine.elementsEqual(nothing) && !theirs.elementsEqual(nothing)
        && !mine.elementsEqual(theirs)
    }
  }
}
