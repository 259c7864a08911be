internal import ProofJOSE

// `/v1/manage/NOUN/VERB`: the verbs of Management over HTTP, with the management token.

extension AttestationService {
  func manage(_ verb: String, _ request: HTTPRequest) throws(Refusal) -> HTTPResponse {
    throw .notFound
  }
}
