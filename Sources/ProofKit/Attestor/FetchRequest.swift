// SPDX-License-Identifier: Apache-2.0

import ProofModel

/// A request to the service, checked as far as the app's side can.
struct FetchRequest: Sendable, Hashable {
  private static let keyLengthMax = 64

  let purpose: AttestationPurpose
  let name: String
  let payload: [UInt8]
  /// Whether concurrent equal calls share one fetch. False for a request that changes a string.
  let isShared: Bool
  /// The digest of the data that a token is bound to; nil for none.
  private(set) var dataHash: Digest?

  /// Whether the request is for an API's token.
  var isForToken: Bool { purpose == .token || purpose == .measurement }

  /// Whether a successful answer may be handed out again.
  var isKept: Bool { isShared && [.token, .secureString, .stringKey].contains(purpose) }

  private init(
    _ purpose: AttestationPurpose, name: String = "", payload: [UInt8] = [], isShared: Bool = true
  ) {
    self.purpose = purpose
    self.name = name
    self.payload = payload
    self.isShared = isShared
  }

  /// A request, or the result that explains why it is invalid.
  typealias Checked = Result<FetchRequest, Refusal>

  /// The result for an invalid request.
  struct Refusal: Error { let result: FetchResult }

  static func token(_ domain: String, boundTo data: [UInt8]? = nil) -> Checked {
    guard let api = APIDomain(domain) else {
      return refusal(
        .badURL, "\(Observation.line(domain)) is neither a host name nor an https URL with one")
    }
    var request = FetchRequest(api.isMeasured ? .measurement : .token, name: api.host)
    request.dataHash = data.map { Digest(hashing: $0) }
    return .success(request)
  }

  /// A token with a measurement that is made for it.
  static func measurement(_ domain: String) -> Checked {
    guard let api = APIDomain(domain) else { return token(domain) }
    return .success(FetchRequest(.measurement, name: api.host))
  }

  /// An admission to the gate of a host, which the caller has checked.
  static func gate(_ host: APIAuthority) -> Checked {
    .success(FetchRequest(.gate, name: host.text))
  }

  /// The keys of the app's own strings.
  static var stringKey: Checked { .success(FetchRequest(.stringKey)) }

  static func secureString(_ key: String, newDefinition: String?) -> Checked {
    guard (1...keyLengthMax).contains(key.unicodeScalars.count) else {
      return refusal(
        .badKey, "the name has \(key.unicodeScalars.count) characters; 1 to 64 are allowed")
    }
    guard let newDefinition else {
      return .success(FetchRequest(.secureString, name: key, payload: [0]))
    }
    let payload = [1] + Array(newDefinition.utf8)
    guard payload.count <= AttestationWire.payloadMax else {
      return refusal(
        .badPayload, "the definition has \(payload.count - 1) bytes; at most 65,535 are allowed")
    }
    return .success(
      FetchRequest(.secureString, name: key, payload: payload, isShared: false))
  }

  static func customJWT(_ payload: String) -> Checked {
    let bytes = Array(payload.utf8)
    guard bytes.count <= AttestationWire.customPayloadMax else {
      return refusal(
        .badPayload, "the claims have \(bytes.count) bytes; at most 40,000 are allowed")
    }
    do throws(JSONText.Fault) {
      guard case .object = try JSONText.parse(bytes) else {
        return refusal(.badPayload, "the claims are JSON, but no object")
      }
    } catch {
      return refusal(.badPayload, "the claims are no JSON: see byte \(error.offset)")
    }
    return .success(FetchRequest(.customJWT, payload: bytes))
  }

  private static func refusal(_ status: FetchStatus, _ reason: String) -> Checked {
    .failure(Refusal(result: FetchResult(status, reason: reason)))
  }
}
