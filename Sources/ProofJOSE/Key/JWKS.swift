// SPDX-License-Identifier: Apache-2.0

internal import ProofBytes

/// A set of keys, each with its own name (JWK Set, RFC 7517, 5).
public struct JWKS: Sendable {
  /// The keys, in the order in which they were given.
  public let keys: [JSONWebKey]

  /// Makes a set of keys.
  ///
  /// - Parameter keys: At most 256, each with a name that no other has.
  /// - Throws: ``JOSEError/keyIDMissing``, ``JOSEError/keyIDRepeated(_:)``,
  ///   ``JOSEError/outOfRange(_:allowed:actual:)``.
  public init(_ keys: [JSONWebKey]) throws(JOSEError) {
    guard keys.count <= JOSELimits.keysInSet else {
      throw .outOfRange(
        "number of keys in a set", allowed: 0...JOSELimits.keysInSet, actual: keys.count)
    }
    var seen: Set<[UInt8]> = []
    for key in keys {
      guard let id = key.id else { throw .keyIDMissing }
      guard seen.insert(Array(id.utf8)).inserted else {
        throw .keyIDRepeated(ExactText.quoted(id))
      }
    }
    self.keys = keys
  }

  /// Reads a published set: public keys only.
  ///
  /// Left out are keys of other types, curves, algorithms and uses, and encryption keys. RFC 7517
  /// asks for that, so that an issuer may publish them too. A malformed key of a supported type
  /// makes the set malformed.
  ///
  /// - Parameter text: The JSON.
  /// - Throws: ``JOSEError``, among it ``JOSEError/secretInPublishedSet``.
  public init(parsing text: Span<UInt8>) throws(JOSEError) {
    let index: JSONIndex
    do {
      index = try JSONIndex(parsing: text)
    } catch {
      throw .notJSON(.keySet, error)
    }
    guard index.nodes[0].kind == .object else { throw .notAnObject(.keySet) }
    let members = index.members(of: 0)
    let list = members.first { index.bytes(at: $0.name, in: text).elementsEqual("keys".utf8) }
    guard let list, index.nodes[list.value].kind == .array else {
      throw .keyInvalid("the set has no “keys”")
    }
    var keys: [JSONWebKey] = []
    for element in index.elements(of: list.value) {
      do throws(JOSEError) {
        let key = try JSONWebKey(index, at: element, in: text, as: nil)
        if key.isPrivate { throw .secretInPublishedSet }
        // A published set is for checking signatures.
        if key.algorithm.isSignature { keys.append(key) }
      } catch .keyUnsupported {
        continue
      } catch .keyForOtherUse {
        continue
      }
    }
    try self.init(keys)
  }

  /// Reads a published set: public keys only.
  ///
  /// - Parameter text: The JSON.
  /// - Throws: ``JOSEError``, among it ``JOSEError/secretInPublishedSet``.
  public init(parsing text: String) throws(JOSEError) {
    try self.init(parsing: Array(text.utf8).span)
  }

  /// The set as canonical JSON for publication: public parts only. Symmetric keys and encryption
  /// keys are left out.
  public var publicJSON: String {
    var published: [JSONValue] = []
    for key in keys {
      guard key.algorithm.isSignature, let members = key.publicKey?.members() else { continue }
      var object = JSONObject()
      for case (let name, .value(let value)) in members { object[name] = value }
      published.append(.object(object))
    }
    return JSONValue.object(["keys": .array(published)]).text
  }

  /// The key of a name, compared byte by byte.
  ///
  /// - Parameter id: The name.
  public subscript(id: String) -> JSONWebKey? {
    keys.first { ExactText.areEqual($0.id, id) }
  }
}
