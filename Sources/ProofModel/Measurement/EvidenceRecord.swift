// SPDX-License-Identifier: Apache-2.0

/// The subject of a piece of evidence. Evidence is sorted by these classes.
public enum EvidenceClass: UInt8, Sendable, CaseIterable, Comparable {
  /// The machine, and a secret made at installation. The device measurement covers this class
  /// alone.
  case device = 1
  /// The app's code and files.
  case app = 2
  /// The running app's surroundings: debuggers, injected libraries, the operating system.
  case environment = 3

  /// By number, the order in which evidence is folded.
  public static func < (left: EvidenceClass, right: EvidenceClass) -> Bool {
    left.rawValue < right.rawValue
  }
}

/// The name of one source of evidence: a class, and a number within it.
public struct SourceID: Sendable, Hashable, Comparable, CustomStringConvertible {
  /// The subject of the source.
  public let evidenceClass: EvidenceClass
  /// 1 to 255, within the class.
  public let number: UInt8

  /// Checks and takes a source's name.
  ///
  /// - Parameters:
  ///   - evidenceClass: The subject of the source.
  ///   - number: 1 to 255.
  /// - Throws: ``ProofError/outOfRange(field:value:allowed:)``.
  public init(_ evidenceClass: EvidenceClass, _ number: UInt8) throws(ProofError) {
    guard number > 0 else {
      throw .outOfRange(field: "source number", value: "0", allowed: "1 to 255")
    }
    self.evidenceClass = evidenceClass
    self.number = number
  }

  /// By class, then by number.
  public static func < (left: SourceID, right: SourceID) -> Bool {
    (left.evidenceClass, left.number) < (right.evidenceClass, right.number)
  }

  /// Text such as `app 3`.
  public var description: String { "\(evidenceClass) \(number)" }
}

/// One observation of one source.
///
/// A source that cannot be read is recorded as absent, never left out: absence is an observation
/// too.
public struct EvidenceRecord: Sendable, Hashable {
  /// The longest name, in bytes.
  public static var nameByteCountMax: Int { CoreWire.nameMax }

  /// The source observed.
  public let source: SourceID
  /// The observed item within the source, 1 to 255 bytes: a path, a library, a variable.
  public var name: [UInt8] { Array(nameBytes) }
  /// The bytes of ``name``. All records of a message share its bytes: none has an array of its own.
  package let nameBytes: ArraySlice<UInt8>
  /// The digest of the item; nil if it could not be read.
  public let digest: Digest?

  /// Checks and takes an observation.
  ///
  /// - Parameters:
  ///   - source: The source observed.
  ///   - name: The observed item within the source, 1 to 255 bytes.
  ///   - digest: The digest of the item; nil if it could not be read.
  /// - Throws: ``ProofError/wrongLength(of:expected:actual:)``.
  public init(_ source: SourceID, name: [UInt8], digest: Digest?) throws(ProofError) {
    try self.init(source, nameBytes: name[...], digest: digest)
  }

  init(_ source: SourceID, nameBytes name: ArraySlice<UInt8>, digest: Digest?) throws(ProofError) {
    guard (1...Self.nameByteCountMax).contains(name.count) else {
      throw .wrongLength(
        of: "name of source \(source)", expected: 1...Self.nameByteCountMax, actual: name.count)
    }
    self.source = source
    nameBytes = name
    self.digest = digest
  }

  /// Checks and takes an observation whose name is text: its UTF-8 bytes.
  public init(_ source: SourceID, name: String, digest: Digest?) throws(ProofError) {
    try self.init(source, name: Array(name.utf8), digest: digest)
  }

  /// The canonical order: by source, then by name, byte by byte, a prefix before its extensions.
  ///
  /// - Parameter other: The record to compare with.
  /// - Returns: Whether this record stands strictly before the other. Digests do not matter.
  public func precedes(_ other: EvidenceRecord) -> Bool {
    if source != other.source { return source < other.source }
    return nameBytes.lexicographicallyPrecedes(other.nameBytes)
  }
}
