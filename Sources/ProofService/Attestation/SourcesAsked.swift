// SPDX-License-Identifier: Apache-2.0

internal import ProofModel

/// The sources that the service asks apps to measure unless an operator leaves some out: every
/// source of PROBE.md, in its newest version.
enum SourcesAsked {
  /// The sources for a purpose, less those that are left out.
  static func sources(
    for purpose: AttestationPurpose, without leftOut: LeftOutSources = .none,
    withheld: CollectionMode = []
  ) -> [Source] {
    let sources = purpose == .measurement ? all : ungrouped
    guard !leftOut.all.isEmpty || !withheld.isEmpty else { return sources }
    return sources.filter { !leftOut.all.contains($0.id) && !withheld.withholds($0.id) }
  }

  /// The sources with one group each. The app finds differences only under a configuration that it
  /// keeps, and it keeps none of these. The leaves of a hundred groups would be half of the
  /// hashing, on both sides.
  private static let ungrouped: [Source] = all.map { source in
    do throws(ProofError) {
      return try Source(source.id, version: source.version, groupsLog2: 0)
    } catch {
      preconditionFailure("No group at all is in range. \(error)")
    }
  }

  /// The sources with enough groups to locate a difference.
  static let all: [Source] = {
    // Class, number and groups; the version is 1 unless `versions` names another.
    let versions: [EvidenceClass: [UInt8: UInt8]] = [
      .device: [4: 2], .environment: [1: 2, 6: 2],
    ]
    let rows: [(EvidenceClass, UInt8, UInt8)] = [
      (.device, 1, 0), (.device, 2, 0), (.device, 3, 2), (.device, 4, 0), (.device, 5, 0),
      (.app, 1, 4), (.app, 2, 0), (.app, 3, 6), (.app, 4, 0),
      (.environment, 1, 2), (.environment, 2, 2), (.environment, 3, 0), (.environment, 4, 3),
      (.environment, 5, 0), (.environment, 6, 3), (.environment, 7, 1), (.environment, 8, 0),
      (.environment, 9, 0), (.environment, 10, 0),
    ]
    do throws(ProofError) {
      var sources: [Source] = []
      for (evidenceClass, number, groups) in rows {
        let version = versions[evidenceClass]?[number] ?? 1
        sources.append(
          try Source(SourceID(evidenceClass, number), version: version, groupsLog2: groups))
      }
      return sources
    } catch {
      preconditionFailure("The numbers are in range. \(error)")
    }
  }()
}
