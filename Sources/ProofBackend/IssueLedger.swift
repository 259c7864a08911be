// SPDX-License-Identifier: Apache-2.0

public import ProofModel

/// An app installation at one piece of hardware. Generations and revocations are counted for each
/// pair.
public struct IssuePair: Sendable, Hashable {
  /// The app's installation.
  public let instance: InstanceID
  /// The hardware.
  public let hardware: HardwareID

  /// The pair of an installation and a piece of hardware.
  public init(_ instance: InstanceID, at hardware: HardwareID) {
    self.instance = instance
    self.hardware = hardware
  }
}

/// The suite by which a token was sealed.
public enum TokenSuite: UInt8, Sendable, Hashable {
  /// By X25519 alone.
  case one = 1
  /// By X25519 and the hardware's factory secret.
  case two = 2
}

/// Stores the issued and revoked generations, so that a generation never goes back. Called from
/// several threads.
///
/// A note outlasts the process, and is made before anything is handed out.
public protocol IssueLedger: Sendable {
  /// The latest time that was noted; nil if none was.
  ///
  /// An issuer compares its clock with it.
  ///
  /// - Throws: ``BackendError/storage(path:reason:)``.
  func latestTime() throws(BackendError) -> UnixTime?

  /// Notes that a token of a generation will be issued.
  ///
  /// The same fetch may be issued again, because an answer can be lost: any generation from the
  /// highest noted base on. After a token of suite
  /// two, the same hardware never gets one of suite one: an attacker who took the features out of a
  /// registration would have its tokens sealed without the factory secret.
  ///
  /// - Parameters:
  ///   - generation: The measurement's generation.
  ///   - base: The generation of the present pair in the same fetch: at most `generation`, and at
  ///     most 65,535 below it.
  ///   - pair: The installation and the hardware.
  ///   - suite: The suite by which the token is sealed.
  ///   - time: The time of the note.
  /// - Throws: ``BackendError/superseded(issued:offered:)``,
  ///   ``BackendError/revokedInstance(_:through:)``, ``BackendError/downgraded(_:)``,
  ///   ``BackendError/storage(path:reason:)``.
  func noteIssue(
    of generation: UInt32, base: UInt32, to pair: IssuePair, by suite: TokenSuite, at time: UnixTime
  ) throws(BackendError)

  /// Notes that tokens up to a generation will be revoked.
  ///
  /// - Parameters:
  ///   - generation: The last one; `UInt32.max` for all, for good.
  ///   - pair: The installation and the hardware.
  ///   - time: The time of the note.
  /// - Throws: ``BackendError/storage(path:reason:)``.
  func noteRevocation(
    through generation: UInt32, of pair: IssuePair, at time: UnixTime
  ) throws(BackendError)
}

/// The issued and revoked generations of one app instance at one piece of hardware.
struct IssueHistory: Sendable, Hashable {
  /// The highest base: every generation of an older fetch is below it.
  var issued: UInt32 = 0
  var revokedThrough: UInt32 = 0

  func checkIssue(of generation: UInt32, to pair: IssuePair) throws(BackendError) {
    guard generation > revokedThrough else {
      throw .revokedInstance(pair.instance, through: revokedThrough)
    }
    guard generation >= issued else {
      throw .superseded(issued: issued, offered: generation)
    }
  }
}
