// SPDX-License-Identifier: Apache-2.0

import HTTPServing
import ProofGate

// Requests below /.well-known/proofkit/, which the proxy passes on without a question.

extension JudgeHandler {
  /// The paths of the page, for metrics.
  static let pageRoutes = ["page", "picture", "again", "answer", "work.js"].map {
    PageHandler.folder + $0
  }

  /// The name of the page in metrics and log.
  private static let pageName = "page"

  func pageResponse(to request: HTTPRequest, _ judgedBy: JudgedBy) -> HTTPResponse {
    let answer: PageAnswer
    do throws(ForwardRefusal) {
      let asked = try PageRequest(
        request.method, request.target, request.fields.map { ($0.name, $0.value) },
        body: request.body, from: request.peer, in: files.style)
      guard judgedBy.configuration.hosts.contains(where: { $0 == asked.authority }) else {
        throw .host(asked.authority)
      }
      let named = judgedBy.gate.answer(
        named: request.method, request.target, request.fields.map { ($0.name, $0.value) },
        from: request.peer, at: .now)
      answer = named ?? judgedBy.page.answer(asked)
    } catch {
      count(Kind(route: Self.pageName, code: error.code, isWatched: false))
      log.note("page refused", [("reason", .text(error.description))])
      return HTTPResponse(
        status: 400, text: "the proxy's lines for the page are missing: see docs/GATE.md")
    }
    count(Kind(route: Self.pageName, code: answer.code, isWatched: false))
    if let reason = answer.reason {
      log.note(
        "page",
        [
          ("status", .number(answer.status)), ("result", .text(answer.code)),
          ("reason", .text(reason)),
        ])
    }
    var response = HTTPResponse(status: answer.status)
    for field in answer.fields { response.headers[field.name.lowercased()] = field.value }
    response.body = request.method == "HEAD" ? [] : answer.body
    return response
  }
}
