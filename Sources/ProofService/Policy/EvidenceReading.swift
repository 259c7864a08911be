// SPDX-License-Identifier: Apache-2.0

internal import ProofModel

/// The findings of a report's evidence that need no knowledge of the app. Each record of the
/// environment is compared with the digest of “nothing special” (PROBE.md). Where that constant
/// does not exist, the SDK's own findings count.
enum EvidenceReading {
  /// The properties that a report shows. Evidence that is left out does not count.
  static func properties(
    of report: AttestationReport, without leftOut: LeftOutEvidence = .none
  ) -> Properties {
    var properties: Properties = []
    for record in report.evidence.records
    where record.source.evidenceClass == .environment
      && !leftOut.contains(record.source, record.nameBytes)
    {
      guard let meaning = meaning(of: record.source.number, record.nameBytes) else { continue }
      if record.digest == unasked { continue }
      switch record.digest {
      case nil, meaning.untold: properties.insert(.unreadable)
      case meaning.nothing: break
      default: properties.insert(meaning.property)
      }
    }
    for property in report.subject.properties {
      if property.name == "root", property.value == "true" || property.value == "1" {
        properties.insert(.root)
      } else if property.name == "launch", property.value == "other" {
        properties.insert(.automatedLaunch)
      } else if let source = source(of: property.name), let found = findings[source],
        !leftOut.containsFinding(source)
      {
        properties.insert(found)
      }
    }
    if report.subject.userProperty == "$error" { properties.insert(.measurementError) }
    return properties
  }

  /// Whether a record of the environment has a digest of “nothing special”.
  static func hasConstant(_ source: SourceID, _ name: String) -> Bool {
    source.evidenceClass == .environment
      && meaning(of: source.number, name.utf8) != nil
  }

  /// The property that a record shows if it is not “nothing special”; the digest of “nothing
  /// special”; and the digest of “cannot be told here”, if the record has one.
  private typealias Meaning = (property: Property, nothing: Digest, untold: Digest?)

  /// The record `hardware breakpoints` where containers and some distributions forbid the query. It
  /// shows nothing about the app, and would mark every app there as unreadable.
  private static let unasked = fact("cannot be asked")

  private static func meaning(of number: UInt8, _ name: some Sequence<UInt8>) -> Meaning? {
    guard meanings.indices.contains(Int(number)) else { return nil }
    return meanings[Int(number)].first { $0.name.elementsEqual(name) }?.meaning
  }

  /// The records of each source, by its number, and their meanings. A source has few.
  private static let meanings: [[(name: [UInt8], meaning: Meaning)]] = {
    // Two flags of 8 bytes: unset at the start, and unset now.
    let unset = digest("pfp1.fact.......", [UInt8](repeating: 0, count: 16))
    // In a container, a debugger outside of it has no number.
    let contained = fact("none in this process namespace")
    // A finding consists of its names and their number.
    let none = digest("pfp1.finding....", [UInt8](repeating: 0, count: 8))
    let rows: [(UInt8, String, Property, Digest)] = [
      (1, "tracer", .debug, fact("none")), (1, "hardware breakpoints", .debug, fact("none")),
      (2, "LD_AUDIT", .preload, unset), (2, "LD_LIBRARY_PATH", .preload, unset),
      (2, "LD_PRELOAD", .preload, unset), (2, "ld.so.preload", .preload, fact("none")),
      (3, "unexplained", .injected, none),
      (4, "anonymous", .injected, none), (4, "deleted", .injected, none),
      (4, "foreign", .injected, none), (4, "memfd", .injected, none),
      (4, "misplaced", .patched, none), (4, "replaced", .patched, none),
      (4, "writable", .injected, none),
      (5, "private", .patched, none),
      (7, "translator", .emulator, fact("none")), (7, "valgrind", .emulator, fact("none")),
      (7, "views", .emulator, fact("agree")),
    ]
    return (0...(rows.map(\.0).max() ?? 0)).map { number in
      rows.filter { $0.0 == number }.map { _, name, property, nothing in
        (Array(name.utf8), (property, nothing, name == "tracer" ? contained : nil))
      }
    }
  }()

  /// The meaning of the SDK's findings.
  private static let findings: [SourceID: Property] = {
    let rows: [(EvidenceClass, UInt8, Property)] = [
      (.app, 1, .patched), (.environment, 1, .debug), (.environment, 2, .preload),
      (.environment, 3, .injected), (.environment, 4, .injected), (.environment, 5, .patched),
      (.environment, 6, .hooked), (.environment, 7, .emulator),
    ]
    return Dictionary(
      uniqueKeysWithValues: rows.map { evidenceClass, number, property in
        guard let source = try? SourceID(evidenceClass, number) else {
          preconditionFailure("The numbers are in range.")
        }
        return (source, property)
      })
  }()

  /// The source of `finding.C.N` or `finding.C.N.NAME`.
  private static func source(of name: String) -> SourceID? {
    let parts = name.split(separator: ".")
    guard parts.count >= 3, parts[0] == "finding" else { return nil }
    return findings.keys.first { source in
      parts[1] == "\(source.evidenceClass.rawValue)" && parts[2] == "\(source.number)"
    }
  }

  private static func fact(_ text: StaticString) -> Digest {
    let bytes = Array("\(text)".utf8)
    return digest("pfp1.fact.......", [UInt8(bytes.count), 0, 0, 0] + bytes)
  }

  private static func digest(_ label: StaticString, _ bytes: [UInt8]) -> Digest {
    guard let digest = try? Digest(CoreSodium.hash(label, bytes)) else {
      preconditionFailure("The count is right.")
    }
    return digest
  }
}
