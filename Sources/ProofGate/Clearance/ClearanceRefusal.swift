// SPDX-License-Identifier: Apache-2.0

public import ProofBackend

/// The reason why a clearance does not count. For the log; a client gets a challenge.
public enum ClearanceRefusal: Error, Sendable, Hashable {
  /// It is not 88 characters of base64url.
  case text
  /// It is another kind of text, or has a version that this build does not know.
  case kind
  /// It was made with an own secret that the gate does not hold.
  case key
  /// The tag is not that of the clearance, or it is a session's from another address.
  case tag
  /// A field has a value that no gate writes.
  case reserved
  /// It has expired.
  case expired
  /// It ends later than the gate makes any: a clock was set back.
  case ahead
  /// It was made for another host.
  case host
  /// It is an app's, and the request has no valid proof of the same handle.
  case handle
  /// It is an app's and came as a cookie.
  case place
  /// The request carries several.
  case repeated
  /// The cookies of the request are malformed.
  case cookies
  /// It was made before this process began, and its store does not know which were spent.
  case earlier
  /// It was spent before.
  case spent
  /// The replay store did not answer.
  case store(ReplayStoreFailure)
}

extension ClearanceRefusal: CustomStringConvertible {
  /// One sentence for a log.
  public var description: String {
    switch self {
    case .text: "The clearance is not \(Clearance.characterCount) characters of base64url."
    case .kind: "The text is no clearance that this gate knows."
    case .key: "The gate holds no own secret of the number in the clearance."
    case .tag: "The tag of the clearance does not verify for this address."
    case .reserved: "A field of the clearance has a value that no gate writes."
    case .expired: "The clearance has expired."
    case .ahead:
      "The clearance ends later than this gate makes any. Compare the clocks of the nodes."
    case .host: "The clearance was made for another host."
    case .handle: "The clearance is an app's, and the request has no valid proof of that app."
    case .place: "The clearance is an app's and came as a cookie."
    case .repeated: "The request carries several clearances."
    case .cookies: "The cookies of the request are malformed."
    case .earlier: "The clearance was made before this gate's process began."
    case .spent: "The clearance was spent before."
    case .store(let failure): failure.description
    }
  }
}
