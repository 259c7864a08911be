internal import ProofModel

/// What the service asks apps to measure: every source of PROBE.md, version 1, with as many groups as
/// tell a difference well.
enum SourcesAsked {
  static let all: [Source] = {
    let rows: [(EvidenceClass, UInt8, UInt8)] = [
      (.device, 1, 0), (.device, 2, 0), (.device, 3, 2), (.device, 4, 0), (.device, 5, 0),
      (.app, 1, 4), (.app, 2, 0), (.app, 3, 6), (.app, 4, 0),
      (.environment, 1, 0), (.environment, 2, 2), (.environment, 3, 0), (.environment, 4, 3),
      (.environment, 5, 0), (.environment, 6, 3), (.environment, 7, 1), (.environment, 8, 0),
      (.environment, 9, 0),
    ]
    do throws(ProofError) {
      var sources: [Source] = []
      for (evidenceClass, number, groups) in rows {
        sources.append(try Source(SourceID(evidenceClass, number), groupsLog2: groups))
      }
      return sources
    } catch {
      preconditionFailure("The numbers are in range. \(error)")
    }
  }()
}
