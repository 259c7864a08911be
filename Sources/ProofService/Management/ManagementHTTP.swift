// SPDX-License-Identifier: Apache-2.0

internal import HTTPServing
internal import ProofJOSE

// `POST /v1/manage/NOUN/VERB`: the verbs of Management over HTTP. The body is the arguments, a JSON
// object or nothing; the answer is JSON. The caller sends the management token.

extension AttestationService {
  func manage(_ verb: String, _ request: HTTPRequest) throws(Refusal) -> HTTPResponse {
    try require("POST", request)
    let snapshot = try snapshot()
    try limitAddress(request, snapshot)
    let prefix = "Bearer "
    let authorization = request.value(of: "authorization") ?? ""
    guard authorization.hasPrefix(prefix),
      let token = snapshot.managementTokens.entry(
        of: String(authorization.dropFirst(prefix.count)))
    else {
      metrics.count(.managementRefused)
      log(Event(name: "management", details: [("outcome", "refused"), ("peer", request.peer)]))
      return Self.json(401, ["error": "Show the account's management token as a bearer token."])
    }
    // A gate's credential fetches its configuration alone, and only under /v1/gate/.
    guard token.gate == nil, token.role.covers(verb) else {
      metrics.count(.managementRefused)
      log(
        Event(
          name: "management",
          details: [("outcome", "refused"), ("token", token.name), ("peer", request.peer)]))
      return Self.json(
        403,
        [
          "error": .string(
            "The role “\(token.role.rawValue)” of this token does not cover “\(verb.prefix(80))”. "
              + "Use a token of a role that does; “management list” shows the roles.")
        ])
    }
    var arguments = JSONObject()
    if !request.body.isEmpty {
      guard case .object(let object) = try? JSONValue(parsing: request.body.span) else {
        return Self.json(400, ["error": "The body is not a JSON object."])
      }
      arguments = object
    }
    metrics.count(.management)
    do throws(ServiceError) {
      let result = try management.perform(verb, arguments)
      log(
        Event(
          name: "management", details: [("outcome", "done"), ("verb", verb), ("token", token.name)])
      )
      return Self.json(200, result)
    } catch {
      return Self.json(error.status, ["error": .string("\(error)")])
    }
  }

  private static func json(_ status: Int, _ value: JSONValue) -> HTTPResponse {
    var headers = ["content-type": "application/json", "cache-control": "no-store"]
    if status == 401 { headers["www-authenticate"] = "Bearer" }
    return HTTPResponse(status: status, headers: headers, body: Array(value.text.utf8))
  }
}

extension ServiceError {
  /// The HTTP status of this error.
  var status: Int {
    switch self {
    case .unknown: 404
    case .alreadyThere, .inUse, .accountThere, .outOfTurn, .notConfirmed: 409
    case .invalid, .jose: 400
    case .store, .damaged, .noMemory, .noAccount, .wrongPassphrase, .wrongKeyFile, .otherLock: 503
    }
  }
}
