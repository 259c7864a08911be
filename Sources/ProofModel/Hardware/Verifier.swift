// SPDX-License-Identifier: Apache-2.0

/// The hardware's verifier: challenge, verdict, receipt.
///
/// A refusal is a verdict, never an error: ``receive(_:in:)`` always has a reply. One verifier
/// serves any number of links, one message at a time. A lock ensures that, because every message
/// may change the state for the next one.
public final class Verifier: Sendable {
  private let core: CoreLock<CoreVerifier>

  /// Starts from the stored state.
  ///
  /// - Parameters:
  ///   - keys: The hardware's identity and secret key.
  ///   - platform: Randomness, time and storage.
  /// - Throws: ``ProofError/storageDamaged`` if a record has no intact copy: the hardware must then
  ///   be provisioned again. ``ProofError/storageFailed``, ``ProofError/randomFailed``.
  public init(_ keys: HardwareKeys, on platform: some Platform) throws(ProofError) {
    core = CoreLock(try CoreVerifier(keys.core, platform))
  }

  /// Formats the storage, in the factory or after its loss.
  ///
  /// - Parameters:
  ///   - keys: The hardware's identity and secret key.
  ///   - platform: Randomness, time and storage.
  ///   - epoch: The time of provisioning. With neither epoch nor floor, the first signature sets
  ///     the time to any value.
  ///   - floor: Tokens issued before are refused; nil for none. When hardware that lost its storage
  ///     comes back, pass the time of provisioning, so that revoked tokens stay revoked.
  ///   - counter: The first challenge's counter; higher than any before, if one is known.
  /// - Throws: ``ProofError/storageFailed``.
  public static func provision(
    _ keys: HardwareKeys, on platform: some Platform, epoch: UnixTime? = nil,
    floor: UnixTime? = nil, counter: UInt64 = 0
  ) throws(ProofError) {
    try CoreVerifier.provision(
      keys.core, platform, epoch: epoch?.unsigned ?? 0, floor: floor?.unsigned ?? 0,
      counter: counter)
  }

  /// Checks one message and decides.
  ///
  /// - Parameters:
  ///   - message: The message that came over a link.
  ///   - session: The session of that link.
  /// - Returns: The reply to send, and the command to do.
  public func receive(_ message: Message, in session: inout VerifierSession) -> Decision {
    receive(type: message.type.rawValue, message.bytes, in: &session)
  }

  /// Checks one message of any type, length and content, and decides.
  ///
  /// - Parameters:
  ///   - type: The type that the link gave.
  ///   - bytes: The message's bytes.
  ///   - session: The session of that link.
  /// - Returns: The reply to send, and the command to do.
  public func receive(
    type: UInt8, _ bytes: [UInt8], in session: inout VerifierSession
  ) -> Decision {
    core.withLock { core in core.receive(type, bytes, &session.core) }
  }

  /// Makes the key for the next sealed command, unless there is one.
  ///
  /// The first call makes the hardware answer sealed commands. Call it at the start and after each
  /// message: a key serves one command, and a sender who asks meanwhile is told to wait.
  ///
  /// - Throws: ``ProofError/randomFailed``. Call it again later.
  public func prepareSealedCommands() throws(ProofError) {
    try core.withLock { core throws(ProofError) in try core.prepare() }
  }

  /// Opens channels behind sealed commands from now on, where a token permits it.
  ///
  /// Call it at every start. Only hardware that answers sealed commands opens channels.
  public func keepChannels() {
    core.withLock { core in core.keepChannels() }
  }

  /// Takes delegations from now on, and loads what was lent before.
  ///
  /// Call it at every start once it was called. The platform's storage then has a record more for
  /// each slot, behind those that ``StorageArea/recordCount`` counts.
  ///
  /// - Throws: ``ProofError/storageDamaged``, ``ProofError/storageFailed``. The verifier then
  ///   refuses everything.
  public func takeDelegations() throws(ProofError) {
    try core.withLock { core throws(ProofError) in try core.takeGrants() }
  }

  /// The earliest time that it can be, as far as the hardware knows; nil if it knows none.
  public var epoch: UnixTime? {
    core.withLock { $0.epoch }.map { UnixTime(clamping: $0) }
  }

  /// Public facts.
  public var status: HardwareStatus { core.withLock { $0.status } }
}

/// One link to a verifier: its live challenge, and the number of its refusals.
///
/// It cannot be copied, because a copy would make a spent challenge live again.
public struct VerifierSession: ~Copyable, Sendable {
  var core = CoreSession()

  /// Begins a link.
  public init() {}

  /// Ends the link: the live challenge ends, and the counts of refusals restart.
  public mutating func disconnect() { core.close() }
}
