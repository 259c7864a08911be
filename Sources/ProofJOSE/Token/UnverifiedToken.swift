// SPDX-License-Identifier: Apache-2.0

/// The content of a signed token whose signature was not checked, for debugging. Do not trust it.
public struct UnverifiedToken: Sendable {
  /// The algorithm that the header names.
  public let algorithm: KeyAlgorithm
  /// The key that the header names.
  public let keyID: String?
  /// The header's `typ`.
  public let type: String?
  /// The payload, from any sender.
  public let payload: JSONObject

  /// Reads a signed token without checking its signature.
  ///
  /// - Parameter token: The token, nothing around it.
  /// - Throws: ``JOSEError``.
  public init(reading token: String) throws(JOSEError) {
    let parts = try CompactToken(token, parts: 3)
    let header = try parts.header()
    let bytes = try parts.decoded(1, as: .payload)
    let value: JSONValue
    do {
      value = try JSONValue(parsing: bytes.span)
    } catch {
      throw .notJSON(.payload, error)
    }
    guard case .object(let object) = value else { throw .notAnObject(.payload) }
    algorithm = header.algorithm
    keyID = header.keyID
    type = header.type
    payload = object
  }
}
