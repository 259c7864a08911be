// SPDX-License-Identifier: Apache-2.0

public import ProofModel

/// A replay store that keeps judgements, and counts what redeemers accept.
///
/// All redeemers of one audience share a store. `RedemptionStoreTests` in `Tests/Unit/ProofBackendTests` has the properties
/// that every implementation must show.
public protocol RedemptionStore: ReplayStore {
  /// The judgement that was recorded under a name; nil for none.
  ///
  /// - Throws: ``ReplayStoreFailure``.
  func judgement(under name: ReplayKey) throws(ReplayStoreFailure) -> [UInt8]?

  /// Records a judgement and uses a proof, both or neither, in one step.
  ///
  /// - Parameters:
  ///   - record: The judgement and its name.
  ///   - key: The proof's key; nil for a judgement that uses none.
  ///   - expiry: As in ``ReplayStore/insert(_:until:at:)``.
  ///   - now: The highest time that the verifier has seen.
  /// - Returns: Which of both was there already.
  /// - Throws: ``ReplayStoreFailure``; nothing was recorded then.
  func record(
    _ record: ReplayRecord, using key: ReplayKey?, until expiry: UnixTime, at now: UnixTime
  ) throws(ReplayStoreFailure) -> ReplayRecording

  /// Uses a token, counts it, and records the judgement that the counts led to: all or nothing, in one step.
  ///
  /// - Parameters:
  ///   - redemption: The token, and what it counts for.
  ///   - now: The highest time that the redeemer has seen.
  ///   - judged: Makes the judgement from the counts, with this redemption in them. It is called at most once, and only
  ///     if the token is new. It must not use the store.
  /// - Returns: The counts, or what was there already.
  /// - Throws: ``ReplayStoreFailure``; nothing was used, counted or recorded then.
  func redeem(
    _ redemption: Redemption, at now: UnixTime, _ judged: (EventCounts) -> [UInt8]
  ) throws(ReplayStoreFailure) -> RedemptionEnd

  /// Forgets which devices an account was seen with.
  ///
  /// - Parameter account: The account's name in the counts.
  /// - Returns: How many devices it was seen with.
  /// - Throws: ``ReplayStoreFailure``.
  @discardableResult
  func forget(account: ReplayKey) throws(ReplayStoreFailure) -> Int
}

/// A token that is to be used, and what it counts for.
public struct Redemption: Sendable, Hashable {
  /// The name under which the token is used once.
  public var key: ReplayKey
  /// The last second in which any redeemer may accept the token.
  public var expiry: UnixTime
  /// The device's name in the counts.
  public var device: ReplayKey
  /// The account's name in the counts; nil for an event without an account.
  public var account: ReplayKey?
  /// The name under which the judgement is recorded; nil to record none.
  public var name: ReplayKey?
  /// The last second in which the judgement is kept.
  public var kept: UnixTime

  /// Describes a redemption.
  public init(
    _ key: ReplayKey, until expiry: UnixTime, device: ReplayKey, account: ReplayKey? = nil,
    name: ReplayKey? = nil, kept: UnixTime = 0
  ) {
    self.key = key
    self.expiry = expiry
    self.device = device
    self.account = account
    self.name = name
    self.kept = kept
  }
}

/// The end of a redemption.
public enum RedemptionEnd: Sendable, Hashable {
  /// The token was new. It is used and counted, and the judgement is recorded.
  case redeemed(EventCounts)
  /// A judgement stands under the name already; the token was not looked at.
  case known([UInt8])
  /// The token was used before; nothing was counted or recorded.
  case used
}

/// A place that keeps the redemption store of each audience, such as the service's database.
public protocol RedemptionPlace: Sendable {
  /// Opens the store of one audience, or makes it.
  ///
  /// - Throws: ``ReplayStoreFailure``.
  func redemptions(for audience: AudienceID) throws(ReplayStoreFailure) -> any RedemptionStore
}
