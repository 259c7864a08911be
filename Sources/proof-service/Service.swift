import ProofService

/// What answers, behind the server.
struct Service: Sendable {
  let handler: any HTTPHandler
  let routes: [String]
  let logsPeers: @Sendable () -> Bool
  let metrics: @Sendable () -> [HTTPMetric]

  init(_ options: ServiceOptions) throws {
    handler = Empty()
    routes = ["/health"]
    logsPeers = { false }
    metrics = { [] }
  }

  /// Stands where the attestation service goes.
  private struct Empty: HTTPHandler {
    func respond(to request: HTTPRequest) -> HTTPResponse {
      request.path == "/health"
        ? HTTPResponse(status: 200, text: "well")
        : HTTPResponse(status: 404, text: "there is no such page")
    }
  }
}
