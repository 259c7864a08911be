// SPDX-License-Identifier: Apache-2.0

/// The way the app may measure.
public enum MeasurementPolicy: UInt8, Sendable, CaseIterable {
  /// Every byte is read at each measurement.
  case full = 1
  /// A file is read again, and code in memory hashed again, unless the file did not change and no
  /// program of the app's user can change it. That holds for a file that has fs-verity, is on a
  /// read-only file system, or belongs to root while the app has no privileges.
  case incremental = 2
  /// A file is read again unless its times show no change. Code is hashed as under `incremental`.
  /// Trusts every program that runs as the owner of the files: such a program can change a file and
  /// keep its times.
  case trusting = 3
}

/// A source of evidence that a configuration asks for.
public struct Source: Sendable, Hashable {
  /// The source's name.
  public let id: SourceID
  /// The version of its collection, 1 to 255.
  public let version: UInt8
  /// The number of its groups is 2 to this power, 0 to 6. More groups locate a difference more
  /// exactly.
  public let groupsLog2: UInt8

  /// The number of the source's groups. Each has one leaf in the configuration.
  public var groupCount: Int { 1 << Int(groupsLog2) }

  /// Checks and takes a source.
  ///
  /// - Parameters:
  ///   - id: The source's name.
  ///   - version: The version of its collection, 1 to 255.
  ///   - groupsLog2: 0 to 6. Records spread over 2 to this power groups by their names.
  /// - Throws: ``ProofError/outOfRange(field:value:allowed:)``.
  public init(_ id: SourceID, version: UInt8 = 1, groupsLog2: UInt8 = 0) throws(ProofError) {
    guard version > 0 else {
      throw .outOfRange(field: "version of source \(id)", value: "0", allowed: "1 to 255")
    }
    guard groupsLog2 <= CoreWire.groupsLog2Max else {
      throw .outOfRange(
        field: "groups of source \(id)", value: "2^\(groupsLog2)", allowed: "2^0 to 2^6")
    }
    self.id = id
    self.version = version
    self.groupsLog2 = groupsLog2
  }
}
