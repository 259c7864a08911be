// SPDX-License-Identifier: Apache-2.0

import Console

/// The source of the store's key.
enum StoreKeySource: Sendable {
  /// A file with the key.
  case keyFile(String)
  /// A file with the passphrase.
  case passphraseFile(String)
  /// The environment variable with the passphrase.
  case environment

  /// The variable's name.
  static let variable = "PROOF_PASSPHRASE"

  init(_ options: Options) throws(UsageError) {
    switch (options.value("--key-file"), options.value("--passphrase-file")) {
    case (let file?, nil): self = .keyFile(file)
    case (nil, let file?): self = .passphraseFile(file)
    case (nil, nil): self = .environment
    case (_?, _?): throw UsageError("--key-file and --passphrase-file: a store has one of the two")
    }
  }
}
