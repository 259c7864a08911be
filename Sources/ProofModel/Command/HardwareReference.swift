// SPDX-License-Identifier: Apache-2.0

/// A text that app, backend and hardware log for the same message, to compare their logs. It names no secret and no
/// app installation.
///
/// A command or a recall has the first four bytes of the hardware's id and the challenge's counter, such as
/// `dbe6593c-1042`. A token has the first four bytes of its digest instead, such as `dbe6593c-t9f0a11c2`, and a
/// delegation of its own digest, such as `dbe6593c-g4a339ae7`.
package enum HardwareReference {
  /// The reference of a command or a recall.
  ///
  /// - Parameters:
  ///   - counter: The counter of its challenge.
  ///   - token: A token for the same hardware.
  /// - Returns: The text.
  package static func of(counter: UInt64, at token: MeasurementToken) -> Reference {
    Reference("\(hint(of: token))-\(UInt32(truncatingIfNeeded: counter))")
  }

  /// The reference of a token that is presented.
  ///
  /// - Parameter token: The token.
  /// - Returns: The text.
  package static func of(_ token: MeasurementToken) -> Reference {
    Reference("\(hint(of: token))-t\("\(token.digest)".prefix(8))")
  }

  /// The reference of a delegation.
  ///
  /// - Parameters:
  ///   - delegation: The delegation.
  ///   - token: A token for the same hardware.
  /// - Returns: The text.
  package static func of(_ delegation: Delegation, at token: MeasurementToken) -> Reference {
    Reference("\(hint(of: token))-g\("\(delegation.nonce)".prefix(8))")
  }

  /// A token's head has the first four bytes of the hardware's id.
  private static func hint(of token: MeasurementToken) -> String {
    Hexadecimal.encode(Array(token.bytes[4..<8]))
  }
}
