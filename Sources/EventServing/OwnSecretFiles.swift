// SPDX-License-Identifier: Apache-2.0

package import Console
internal import DurableFiles
package import ProofBackend
package import ProofModel

/// The files of a gate's own secrets, as options name them.
package enum OwnSecretFiles {
  /// Reads an option such as `1:own.key`, or several with commas between.
  ///
  /// - Parameters:
  ///   - options: The options of the command line.
  ///   - name: The option, which must be there.
  /// - Returns: The number and the file of each secret.
  /// - Throws: If the option is missing or cannot be read.
  package static func listed(
    _ options: Options, _ name: String
  ) throws(UsageError) -> [(number: UInt8, file: String)] {
    _ = try options.needed(name)
    return try options.list(name).map { text throws(UsageError) in
      let parts = text.split(separator: ":", maxSplits: 1)
      guard parts.count == 2, let number = UInt8(parts[0]) else {
        throw UsageError("\(name) is \(text); it takes a number and a file, as in 1:own.key")
      }
      return (number, String(parts[1]))
    }
  }

  /// The keys of a gate, from files that only their owner may read.
  package static func keys(
    of gate: GateID, _ secrets: [(number: UInt8, file: String)]
  ) throws -> GateOwnKeys {
    try GateOwnKeys(
      of: gate,
      secrets.map { number, file in
        let bytes = try SecretFile.read(file, limit: GateOwnSecret.byteCount)
        return try GateOwnSecret(SecretBytes(copying: bytes.span), number: number)
      })
  }
}
