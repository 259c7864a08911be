// SPDX-License-Identifier: Apache-2.0

internal import ProofCore

/// Requests as the core takes them, and the proofs over them.
enum CoreHTTP {
  static func digest(
    method: String, scheme: String, authority: String, target: String, body: Digest,
    authorization: String
  ) throws(ProofError) -> Digest {
    var result = CoreResult.ok
    let digest = unsafe InlineBytes<32> { digest in
      unsafe with(method, scheme, authority, target, authorization) { request in
        unsafe body.storage.copy(to: &request.body_digest)
        result = unsafe CoreResult(pfc_http_digest(digest, &request))
      }
    }
    try result.orThrow(opening: "request", byteCount: method.utf8.count + target.utf8.count)
    return Digest(storage: digest)
  }

  static func proof(
    at gate: GateID, answering challenge: [UInt8], _ place: ChallengePlace, with keys: CoreGateKeys
  ) throws(ProofError) -> Digest {
    try check(challenge)
    var result = CoreResult.ok
    let proof = unsafe InlineBytes<32> { proof in
      unsafe with(place) { request in
        unsafe gate.storage.withPointer { gate in
          unsafe challenge.withUnsafeBufferPointer { challenge in
            unsafe keys.withKeys { keys in
              result = unsafe CoreResult(
                pfc_gate_proof_make(proof, keys, gate, challenge.baseAddress, &request))
            }
          }
        }
      }
    }
    try result.orThrow(opening: "request", byteCount: place.target.utf8.count)
    return Digest(storage: proof)
  }

  static func check(
    _ proof: Digest, at gate: GateID, answering challenge: [UInt8], _ place: ChallengePlace,
    with keys: CoreGateKeys
  ) throws(ProofError) {
    try check(challenge)
    var result = CoreResult.ok
    unsafe with(place) { request in
      unsafe proof.storage.withPointer { proof in
        unsafe gate.storage.withPointer { gate in
          unsafe challenge.withUnsafeBufferPointer { challenge in
            unsafe keys.withKeys { keys in
              result = unsafe CoreResult(
                pfc_gate_proof_check(proof, keys, gate, challenge.baseAddress, &request))
            }
          }
        }
      }
    }
    try result.orThrow(opening: "proof of a challenge", byteCount: Digest.byteCount)
  }

  private static func check(_ challenge: [UInt8]) throws(ProofError) {
    let count = Int(PFC_CHALLENGE_ID_BYTES)
    guard challenge.count == count else {
      throw .wrongLength(of: "challenge id", expected: count...count, actual: challenge.count)
    }
  }

  private static func with(_ place: ChallengePlace, _ body: (inout pfc_http) -> Void) {
    unsafe with(place.method, place.scheme, place.authority, place.target, "", body)
  }

  /// Lends a request with a body digest of zeros.
  private static func with(
    _ method: String, _ scheme: String, _ authority: String, _ target: String,
    _ authorization: String, _ body: (inout pfc_http) -> Void
  ) {
    var (method, scheme, authority, target, authorization) =
      (method, scheme, authority, target, authorization)
    unsafe method.withCharacters { method in
      unsafe scheme.withCharacters { scheme in
        unsafe authority.withCharacters { authority in
          unsafe target.withCharacters { target in
            unsafe authorization.withCharacters { authorization in
              var request = unsafe pfc_http(
                method: method.baseAddress, method_size: method.count,
                scheme: scheme.baseAddress, scheme_size: scheme.count,
                authority: authority.baseAddress, authority_size: authority.count,
                target: target.baseAddress, target_size: target.count,
                body_digest: pfc_http().body_digest,
                authorization: authorization.baseAddress,
                authorization_size: authorization.count)
              unsafe body(&request)
            }
          }
        }
      }
    }
  }
}
