// SPDX-License-Identifier: Apache-2.0

import AccountStores
import DurableFiles
import HTTPServing
import ProofJOSE
import ProofModel
import ProofService

/// The attestation service of a store's account.
enum Service {
  /// The names of its routes in measures and logs.
  static let routes = [
    "/v1/config/{account}", "/v1/challenge", "/v1/report", "/v1/jwks/{account}", "/health",
    "/v1/gate/configuration", "/v1/manage/{noun}/{verb}",
  ]

  /// Opens the store, and unlocks the account.
  static func account(_ options: ServiceOptions) throws -> Account {
    try Account.open(in: StorePlace(options.store).open(), with: options.key.lock())
  }

  /// Makes the service of an account.
  static func make(
    _ options: ServiceOptions, _ account: Account, _ events: ServiceEvents?, log: HTTPLog
  ) throws -> AttestationService {
    let authorities = try options.tpmAuthorities.map { path in
      guard let pem = try SmallFile.beginning(of: path, byteCount: (1 << 20) + 1) else {
        throw TPMAuthorities.Refusal.unreadable(path: path, reason: "there is no such file")
      }
      return try TPMAuthorities(pem: pem, path: path)
    }
    return AttestationService(
      account: account, tpmAuthorities: authorities, grace: options.graceSeconds,
      noteGrant: { events?.admit($0) }, logsReports: options.notesRequests,
      log: { event in
        let details = event.details.filter { options.logsPeers || $0.name != "peer" }
        log.note(event.name, details.map { ($0.name, .text($0.value)) })
      })
  }
}

extension StoreKeySource {
  /// The passphrase or key file that locks the account.
  fileprivate func lock() throws -> AccountLock {
    switch self {
    case .keyFile(let path): return .keyFile(try SecretInput.file(path))
    case .passphraseFile(let path): return .passphrase(try SecretInput.line(path))
    case .environment:
      guard let passphrase = SecretInput.variable(Self.variable) else {
        throw SecretInputError(
          description:
            "the store's key is missing: --key-file, --passphrase-file, or \(Self.variable)"
            + " in the environment")
      }
      return .passphrase(passphrase)
    }
  }
}
