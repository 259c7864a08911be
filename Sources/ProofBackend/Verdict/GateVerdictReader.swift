// SPDX-License-Identifier: Apache-2.0

internal import ProofJOSE
public import ProofModel

/// Checks, for one API, the verdicts that its gate sends with each request.
///
/// The proxy must overwrite `Proof-Verdict`. An API that clients can reach beside the proxy refuses each request
/// without a verdict, and gives a replay store: then no verdict counts twice.
public final class GateVerdictReader: Sendable {
  private let place: (scheme: String, authority: String)
  private let keys: [GateVerdictKey]
  private let seconds: UInt64
  private let replay: (any ReplayStore)?

  /// A reader of one API.
  ///
  /// - Parameters:
  ///   - host: The API's authority, in lower case, with its port unless that is the scheme's own.
  ///   - scheme: The scheme that clients use.
  ///   - keys: The keys of this host; several while the gate rotates.
  ///   - seconds: By how many seconds a verdict may be older or newer than the API's clock.
  ///   - replay: A store, if verdicts must count once; nil otherwise.
  public init(
    for host: String, scheme: String = "https", keys: [GateVerdictKey], seconds: UInt64 = 30,
    replay: (any ReplayStore)? = nil
  ) {
    place = (scheme, host)
    self.keys = keys
    self.seconds = seconds
    self.replay = replay
  }

  /// Checks the verdict on a request.
  ///
  /// - Parameters:
  ///   - text: The value of `Proof-Verdict`.
  ///   - method: The request's method.
  ///   - target: Path and query as sent.
  ///   - body: SHA-256 of the body's coded bytes; without a body, of no bytes.
  ///   - authorization: The value of `Authorization`; nil without one.
  ///   - now: The API's time.
  /// - Returns: The verdict. Look at ``GateVerdict/passes``, and at ``GateVerdict/body``: nil means that no proof
  ///   covers the body.
  /// - Throws: ``GateVerdictRefusal``.
  public func check(
    _ text: String, method: String, target: String, body: Digest, authorization: String? = nil,
    now: UnixTime
  ) throws(GateVerdictRefusal) -> GateVerdict {
    let (verdict, request, tag) = try opened(text)
    let now = now.whole
    guard verdict.moment <= now + seconds, now <= verdict.moment + seconds else { throw .time }
    if let covered = verdict.body, covered != body { throw .body }
    guard
      let seen = try? RequestDigest(
        method: method, scheme: place.scheme, authority: place.authority, target: target,
        body: verdict.body ?? .zero, authorization: authorization),
      CoreCrypto.equal(seen.bytes.span, request.span)
    else { throw .request }
    if let replay {
      guard let key = try? ReplayKey(Array(tag.prefix(ReplayKey.byteCount))) else { throw .text }
      let isNew: Bool
      do throws(ReplayStoreFailure) {
        isNew = try replay.insert(key, until: verdict.moment + 2 * seconds, at: now)
      } catch {
        throw .store(error)
      }
      guard isNew else { throw .spent }
    }
    return verdict
  }

  private func opened(
    _ text: String
  ) throws(GateVerdictRefusal) -> (verdict: GateVerdict, request: [UInt8], tag: [UInt8]) {
    guard text.utf8.count <= GateVerdict.textMax else { throw .text }
    let parts = text.split(separator: ".", omittingEmptySubsequences: false)
    guard parts.count == 2, let said = Base64.decode(String(parts[0]), .url),
      let tag = Base64.decode(String(parts[1]), .url), said.count > 2
    else { throw .text }
    guard said[0] == GateVerdict.head else { throw .kind }
    guard let key = keys.first(where: { $0.key.number == said[1] }) else { throw .key }
    guard CoreCrypto.equal(key.key.mac(GateVerdict.label, said).bytes.span, tag.span) else {
      throw .tag
    }
    guard case .object(let object)? = try? JSONValue(parsing: Array(said[2...]).span),
      case .string(let digest)? = object["request"], let request = Base64.decode(digest, .url),
      let verdict = GateVerdict(object)
    else { throw .malformed }
    return (verdict, request, tag)
  }
}

/// The reason why an API does not believe a verdict. The request then counts as one that no gate has judged.
public enum GateVerdictRefusal: Error, Sendable, Hashable {
  /// It is not two parts of base64url.
  case text
  /// It is another kind of text, or has a version that this build does not know.
  case kind
  /// The API holds no key of its number.
  case key
  /// The tag is not the verdict's.
  case tag
  /// The gate is of another version: a member is missing or malformed.
  case malformed
  /// It is too old or too new for the API's clock.
  case time
  /// It is for another request.
  case request
  /// It is for a request with another body.
  case body
  /// It was used before.
  case spent
  /// The replay store did not answer.
  case store(ReplayStoreFailure)
}

extension GateVerdictRefusal: CustomStringConvertible {
  /// One sentence for a log.
  public var description: String {
    switch self {
    case .text: "Proof-Verdict is malformed. Does the proxy overwrite it?"
    case .kind: "Proof-Verdict is no verdict that this build knows."
    case .key: "The API holds no verdict key of this number. Hand out the gate's new key."
    case .tag: "The tag of the verdict does not verify."
    case .malformed:
      "A member of the verdict is missing or malformed. Are gate and API of one version?"
    case .time: "The verdict is too old or too new. Compare the clocks of gate and API."
    case .request: "The verdict is for another request."
    case .body: "The body is not the one that the request's proof covers."
    case .spent: "The verdict was used before."
    case .store(let failure): failure.description
    }
  }
}
