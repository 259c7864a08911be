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
    // The records of one source stand together, so each source is a part of the transcript.
    var transcript: [UInt8] = []
    transcript.reserveCapacity(1_024)
    var places = [Range<Int>](repeating: 0..<0, count: Self.sources.count)
    for record in report.evidence.records {
      let number = record.source.number
      guard record.source.evidenceClass == .device, number != InstanceID.secretSource else {
        continue
      }
      let start = transcript.count
      transcript.append(number)
      transcript.append(UInt8(record.nameBytes.count))
      transcript += record.nameBytes
      transcript.append(record.digest == nil ? 0 : 1)
      record.digest?.append(to: &transcript)
      guard Self.sources.contains(number) else { continue }
      let index = Int(number - Self.sources.lowerBound)
      if places[index].isEmpty { places[index] = start..<start }
      places[index] = places[index].lowerBound..<transcript.count
    }
    digest = Array(CoreSodium.hash("pfs1.machine....", transcript).prefix(16))
    var parts: [UInt8] = []
    parts.reserveCapacity(Self.partSize * Self.sources.count)
    for place in places {
      guard !place.isEmpty else {
        parts += [UInt8](repeating: 0, count: Self.partSize)
        continue
      }
      parts += CoreSodium.hash("pfs1.machine-src", transcript.span.extracting(place))
        .prefix(Self.partSize)
    }
    self.parts = parts
  }

  /// Whether this is certainly another machine: a source that both show differs. Two sights that
  /// share no source say nothing about each other.
  func isOther(than machine: MachineSight) -> Bool {
    if digest == machine.digest { return false }
    guard let parts, let others = machine.parts else { return true }
    return stride(from: 0, to: parts.count, by: Self.partSize).contains { start in
      let mine = parts[start..<start + Self.partSize]
      let theirs = others[start..<start + Self.partSize]
      return !mine.allSatisfy { $0 == 0 } && !theirs.allSatisfy { $0 == 0 }
        && !mine.elementsEqual(theirs)
    }
  }
}
