internal import ProofCore

/// The digest of a request.
extension CoreGate {
  static func requestDigest(
    method: String, scheme: String, authority: String, target: String, body: Digest,
    authorization: String
  ) throws(ProofError) -> Digest {
    var result = CoreResult.ok
    var (method, scheme, authority, target, authorization) =
      (method, scheme, authority, target, authorization)
    let digest = unsafe InlineBytes<32> { digest in
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
                unsafe body.storage.copy(to: &request.body_digest)
                result = unsafe CoreResult(pfc_http_digest(digest, &request))
              }
            }
          }
        }
      }
    }
    try result.orThrow(opening: "request", byteCount: method.utf8.count + target.utf8.count)
    return Digest(storage: digest)
  }
}

extension String {
  /// Lends the UTF-8 of the text as C takes it, without a terminator.
  mutating func withCharacters<R>(_ body: (UnsafeBufferPointer<CChar>) -> R) -> R {
    withUTF8 { bytes in
      unsafe bytes.withMemoryRebound(to: CChar.self) { unsafe body($0) }
    }
  }
}

extension Digest {
  /// The digest that stands for none.
  static let zero = Digest(storage: unsafe InlineBytes { _ in })
}
