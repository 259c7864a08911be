// SPDX-License-Identifier: Apache-2.0

internal import PostgresBackend
package import ProofBackend
package import ProofModel

extension PostgresAccountStore: RedemptionPlace {
  /// Opens the redemption store of one audience, on connections of its own.
  package func redemptions(
    for audience: AudienceID
  ) throws(ReplayStoreFailure) -> any RedemptionStore {
    try PostgresReplayStore(options, account: account, audience, patience: settings.patience)
  }
}
