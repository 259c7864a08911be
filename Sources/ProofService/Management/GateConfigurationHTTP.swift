// SPDX-License-Identifier: Apache-2.0

internal import HTTPServing
internal import ProofJOSE

// `GET /v1/gate/configuration`: a gate fetches what it judges by. The gate is the one of the credential.

extension AttestationService {
  /// A gate gets a configuration that is made anew after so many seconds, even if nothing has changed: the age of what
  /// it holds then tells how long the service has been gone.
  static let gatePeriod: Int64 = 900

  func gateConfiguration(_ request: HTTPRequest) throws(Refusal) -> HTTPResponse {
    try require("GET", request)
    let snapshot = try snapshot()
    try limitAddress(request, snapshot)
    let prefix = "Bearer "
    let authorization = request.value(of: "authorization") ?? ""
    guard authorization.hasPrefix(prefix),
      let entry = snapshot.managementTokens.entry(
        of: String(authorization.dropFirst(prefix.count))),
      entry.role == .gate, let gate = entry.gate
    else {
      metrics.count(.managementRefused)
      log(
        Event(
          name: "gate configuration", details: [("outcome", "refused"), ("peer", request.peer)]))
      throw Refusal(status: 401, text: "Show the gate's credential as a bearer token.")
    }
    metrics.count(.management)
    // Read the revision first: a change meanwhile is sent once more, and never left out.
    let period = clock.now.seconds / Self.gatePeriod
    let tag = "\"\(gate).\(snapshot.revision).\(period)\""
    if request.value(of: "if-none-match") == tag {
      return HTTPResponse(status: 304, headers: ["etag": tag, "cache-control": "no-store"])
    }
    let text: String
    do throws(ServiceError) { text = try management.gateConfiguration(gate) } catch {
      if case .unknown = error { throw .notFound }
      throw .unanswered("The gate's configuration cannot be made. \(error)")
    }
    log(
      Event(
        name: "gate configuration",
        details: [("outcome", "done"), ("gate", gate), ("token", entry.name)]))
    return HTTPResponse(
      status: 200,
      headers: ["content-type": "application/jose", "cache-control": "no-store", "etag": tag],
      body: Array(text.utf8))
  }
}
