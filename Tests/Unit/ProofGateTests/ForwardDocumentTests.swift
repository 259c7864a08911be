// SPDX-License-Identifier: Apache-2.0

import ProofJOSE
import ProofModel
import Testing

@testable import ProofGate

/// The documents of refusals at a gate's door, and preflights.
@Suite struct ForwardDocumentTests {
  @Test("Programs get problem details, navigations a page, and a listed origin the fields")
  func documents() throws {
    let site = try ForwardSite.needing(style: .forwarded)
    let refused = site.answer("GET", "/search?a=%22%3E<b>", [("Origin", "https://www.example.com")])
    #expect(refused.status == 403 || refused.status == 428)
    let asked = site.answer("GET", "/search", [("Origin", "https://www.example.com")])
    let document = site.gate.document(of: asked)
    let fields = Dictionary(uniqueKeysWithValues: document.fields.map { ($0.name, $0.value) })
    #expect(document.status == 428 && fields["Content-Type"] == "application/problem+json")
    #expect(fields["Cache-Control"] == "private, no-store")
    #expect(fields["Access-Control-Allow-Origin"] == "https://www.example.com")
    #expect(fields["Access-Control-Expose-Headers"]?.hasPrefix("Proof-Challenge,") == true)
    #expect(fields["Proof-Status"] == nil)
    let json = try JSONValue(parsing: document.body.span)
    guard case .object(let object) = json else { throw ProofError.differs("object") }
    #expect(object["kind"] == .string("work") && object["status"] == .number(JSONNumber(428)))
    let foreign = site.gate.document(
      of: site.answer("GET", "/search", [("Origin", "https://x.example")]))
    #expect(!foreign.fields.contains { $0.name.hasPrefix("Access-Control") })
    let page = site.gate.document(
      of: site.answer("GET", "/search?q=%3Cb%3E&x='y'", [("Accept", "text/html, */*;q=0.8")]))
    let html = String(decoding: page.body, as: UTF8.self)
    #expect(html.contains("/.well-known/proofkit/page?challenge="))
    #expect(html.contains("&amp;target=%2Fsearch%3Fq%3D%253Cb%253E%26x%3D%27y%27\">"))
    let refresh = "<meta http-equiv=\"refresh\" content=\"0; url=/.well-known/proofkit/page?"
    #expect(html.contains(refresh))
    let sent = site.gate.document(of: site.answer("POST", "/search", [("Accept", "text/html")]))
    let form = String(decoding: sent.body, as: UTF8.self)
    #expect(form.contains("<a href=\"/.well-known/proofkit/page?challenge="))
    #expect(!form.contains("http-equiv"), "the body of a POST would be lost")
    #expect(page.fields.contains { $0.name == "Content-Security-Policy" })
  }

  @Test("A preflight of a listed origin passes unjudged; another one, or one with a body, does not")
  func preflight() throws {
    let site = try ForwardSite.needing()
    let asks = [("Access-Control-Request-Method", "POST")]
    let mine = [("Origin", "https://www.example.com")]
    #expect(site.answer("OPTIONS", "/search", asks + mine).code == "unjudged")
    #expect(site.answer("OPTIONS", "/search", asks).status == 428)
    #expect(site.answer("OPTIONS", "/search", mine).status == 428)
    #expect(
      site.answer("OPTIONS", "/search", asks + [("Origin", "https://x.example")]).status == 428)
    #expect(site.answer("OPTIONS", "/x", asks + mine).status == 401, "the rule lists none")
    let body = [("X-Original-Content-Length", "5")]
    #expect(site.answer("OPTIONS", "/search", asks + mine + body).status == 428)
  }

  @Test(
    "A preflight stands under the rule of the method that it announces, and no other request does")
  func announced() throws {
    let site = try ForwardSite(
      """
      route read
        methods GET OPTIONS
        path /api
        need none
      route write
        methods POST
        path /api
        need proof
      """)
    func answer(_ method: String, _ announced: String?) -> ForwardAnswer {
      site.answer(
        method, "/api", announced.map { [("Access-Control-Request-Method", $0)] } ?? [])
    }
    #expect(answer("POST", nil).status == 401)
    #expect(answer("GET", nil).code == "unjudged")
    #expect(answer("OPTIONS", nil).code == "unjudged")
    #expect(answer("OPTIONS", "POST").status == 401)
    #expect(answer("OPTIONS", "GET").code == "unjudged")
    #expect(answer("POST", "GET").status == 401, "a header chooses no weaker rule")
    #expect(answer("GET", "POST").code == "unjudged")
    #expect(answer("PUT", "GET").status != 200)
  }

  @Test("The second question of a proxy gets the document, and hands on only what a gate writes")
  func refusal() throws {
    let site = try ForwardSite.needing()
    let asked = site.answer("GET", "/search")
    let id = try #require(asked["Proof-Challenge"])
    let told = ForwardStyle.original.told(method: "GET", target: "/search", host: Site.host)
    func refusal(_ more: [(name: String, value: String)]) -> RefusalDocument {
      site.gate.refusal(told + more, at: ForwardSite.now)
    }
    let good = refusal([
      ("X-Proof-Status", "428"), ("X-Proof-Challenge", id), ("Accept", "text/html"),
    ])
    #expect(
      good.status == 428 && good.fields.contains { $0.name == "Proof-Challenge" && $0.value == id })
    #expect(String(decoding: good.body, as: UTF8.self).contains(id))
    #expect(refusal([("X-Proof-Status", "200")]).status == 503, "never a pass")
    #expect(refusal([]).status == 503)
    let bad = refusal([("X-Proof-Status", "401"), ("X-Proof-Challenge", "<script>")])
    #expect(bad.status == 401 && !bad.fields.contains { $0.name == "Proof-Challenge" })
    for (status, title, detail) in [
      ("401", "Unauthorized", "This request needs a proof of an attested app."),
      ("403", "Forbidden", "This request is not served."),
      ("428", "Precondition Required", "Answer the challenge, then send the request again."),
      (
        "429", "Too Many Requests",
        "Too many requests came from this client. Send the request again later."
      ),
      (
        "503", "Service Unavailable", "The request cannot be judged now. Send it again later."
      ),
    ] {
      let body = String(decoding: refusal([("X-Proof-Status", status)]).body, as: UTF8.self)
      #expect(body.contains("\"\(title)\"") && body.contains("\"\(detail)\""), "\(body)")
    }
    let twice = refusal([("X-Proof-Status", "428"), ("X-Proof-Status", "403")])
    #expect(twice.status == 503)
    #expect(site.gate.refusal([("X-Proof-Status", "403")], at: ForwardSite.now).status == 403)
  }
}
