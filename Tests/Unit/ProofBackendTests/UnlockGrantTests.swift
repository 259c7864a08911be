// SPDX-License-Identifier: Apache-2.0

@testable import ProofBackend
import ProofJOSE
import ProofModel
import Testing

@Suite("UnlockGrant")
struct UnlockGrantTests {
  private func ask(
    _ backend: Backend, method: String = "POST", query: [String: String]? = nil,
    headers: [String: String], bindingHeader: String? = nil, permits: Bool = true,
    user: String? = "ada", permit: UnlockGrant.Permit? = nil
  ) throws -> (status: Int, body: String, answer: UnlockGrant.Answer) {
    let grant = UnlockGrant(
      try backend.verifier(), backend.issuer, bindingHeader: bindingHeader,
      authorization: { _ in user.map { UnlockGrant.User($0) } },
      permit: permit ?? { _ in permits ? Backend.permissions : nil })
    let answer = grant.answer(
      .init(
        method: method, query: query ?? ["hardware": backend.hardware.description],
        headers: headers))
    return (answer.status, String(decoding: answer.body, as: UTF8.self), answer)
  }

  @Test("a measured app gets its token by either header")
  func granted() throws {
    let backend = try Backend()
    let token = try backend.sealed(backend.claims())
    for headers in [["proof-token": token], ["authorization": "Bearer \(token)"]] {
      let (status, _, answer) = try ask(backend, headers: headers)
      #expect(status == 200)
      #expect(try backend.keys.open(MeasurementToken(answer.body)).generation == 3)
    }
  }

  @Test("a header of another name is read where it was chosen, in any case, and then alone")
  func otherHeader() throws {
    let backend = try Backend()
    let grant = UnlockGrant(
      try backend.verifier(), backend.issuer, tokenHeader: "Approov-Token",
      authorization: { _ in UnlockGrant.User("ada") }, permit: { _ in Backend.permissions })
    let token = try backend.sealed(backend.claims())
    for (name, status) in [("approov-token", 200), ("proof-token", 401)] {
      let request = UnlockGrant.Request(
        method: "POST", query: ["hardware": backend.hardware.description], headers: [name: token])
      #expect(grant.answer(request).status == status)
    }
  }

  @Test("a refusal is a status and a word")
  func refused() throws {
    let backend = try Backend()
    let good = ["proof-token": try backend.sealed(backend.claims())]
    var expired = try backend.claims()
    expired.expiry = Backend.now - 1
    func says(_ status: Int, _ word: String, _ got: (Int, String, UnlockGrant.Answer)) -> Bool {
      (got.0, got.1) == (status, word + "\n")
    }
    #expect(says(401, "missing", try ask(backend, headers: [:])))
    #expect(says(401, "missing", try ask(backend, headers: ["authorization": "Basic x"])))
    #expect(says(401, "malformed", try ask(backend, headers: ["proof-token": "x"])))
    let late = ["proof-token": try backend.sealed(expired)]
    #expect(says(401, "expired", try ask(backend, headers: late)))
    let other = try JWEEncrypter(JSONWebKey.random(.direct, id: "m1")).seal(backend.claims())
    #expect(says(401, "signature", try ask(backend, headers: ["proof-token": other])))
    #expect(says(401, "binding", try ask(backend, headers: good, bindingHeader: "authorization")))
    #expect(says(405, "method", try ask(backend, method: "GET", headers: good)))
    #expect(says(400, "hardware", try ask(backend, query: ["hardware": "x"], headers: good)))
    #expect(
      says(
        400, "form",
        try ask(
          backend, query: ["hardware": backend.hardware.description, "form": "x"], headers: good)))
    #expect(says(403, "rights", try ask(backend, headers: good, permits: false)))
    let stranger = ["hardware": HardwareID.random().description]
    #expect(says(403, "hardware", try ask(backend, query: stranger, headers: good)))
    _ = try ask(backend, headers: ["proof-token": backend.sealed(backend.claims(generation: 4))])
    #expect(says(409, "superseded", try ask(backend, headers: good)))
  }

  @Test("an app that passes gets nothing for a user who is not known, or has no rights")
  func users() throws {
    let backend = try Backend()
    let headers = ["proof-token": try backend.sealed(backend.claims())]
    let stranger = try ask(backend, headers: headers, user: nil)
    #expect(stranger.status == 401 && stranger.body == "user\n")
    let permit: UnlockGrant.Permit = { application in
      application.user.name == "ada" && application.form == .diversified
        && application.hardware == backend.hardware && application.app.generation == 3
        ? Backend.permissions : nil
    }
    #expect(try ask(backend, headers: headers, user: "ada", permit: permit).status == 200)
    let other = try ask(backend, headers: headers, user: "eve", permit: permit)
    #expect(other.status == 403 && other.body == "rights\n")
    let query = ["hardware": backend.hardware.description, "form": "literal"]
    #expect(try ask(backend, query: query, headers: headers, permit: permit).status == 403)
    // A known user without an app that passes gets nothing either.
    #expect(try ask(backend, headers: ["proof-token": "x"]).status == 401)
  }

  @Test("a token bound to a header's value is good with that value alone")
  func bound() throws {
    let backend = try Backend()
    var claims = try backend.claims()
    claims.binding = try Claims.Binding(to: "Bearer of-the-session")
    let token = try backend.sealed(claims)
    for (value, status) in [("Bearer of-the-session", 200), ("Bearer of-another", 401)] {
      let answer = try ask(
        backend, headers: ["proof-token": token, "authorization": value],
        bindingHeader: "authorization")
      #expect(answer.status == status)
    }
  }
}
