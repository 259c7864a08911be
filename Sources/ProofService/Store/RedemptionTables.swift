// SPDX-License-Identifier: Apache-2.0

public import ProofBackend
public import ProofModel

// The service's database as the place of redemption stores: a database for several machines has the same interface.

extension SQLiteStore: RedemptionPlace {
  /// Opens the redemption store of one audience, in tables of their own.
  ///
  /// - Throws: ``/ProofBackend/ReplayStoreFailure``.
  public func redemptions(
    for audience: AudienceID
  ) throws(ReplayStoreFailure) -> any RedemptionStore {
    try SQLiteReplayStore(inside: path, of: SQLiteStatement.applicationID, for: audience)
  }
}
