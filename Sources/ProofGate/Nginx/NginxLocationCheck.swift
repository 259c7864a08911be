// SPDX-License-Identifier: Apache-2.0

// The locations that ask a gate, and those beside them that do not.

extension NginxCheck {
  mutating func judge(location: NginxScope, _ all: [NginxScope]) {
    guard location.question != nil else {
      judge(unguarded: location)
      return
    }
    for directive in location.own {
      switch directive.name {
      case "return" where location.opening?.name != "if":
        add(
          .early, directive.place,
          "return answers before nginx asks the gate: take it away, or move it to a location without auth_request"
        )
      case "if" where location.opening?.name != "if":
        add(
          .early, directive.place,
          "if decides before nginx asks the gate, and what it holds replaces lines of the location: use map, or a"
            + " location of its own")
      case "rewrite":
        add(
          .target, directive.place,
          "rewrite changes the target that the API gets, and the verdict is for the one of the client: take it away"
        )
      default: break
      }
    }
    if let satisfy = location.one("satisfy"), satisfy.words.first == "any" {
      add(
        .satisfy, satisfy.place,
        "satisfy any lets requests pass that the gate refuses: write satisfy all;")
    }
    guard let pass = location.pass, let url = pass.words.first else { return }
    judge(pass, url, in: location)
    judgeAnswer(location)
    judgeRefusal(location, all)
  }

  private mutating func judge(unguarded location: NginxScope) {
    if let off = location.own.first(where: { $0.name == "auth_request" }),
      location.above.question != nil
    {
      add(
        .nestedOff, off.place,
        "\(location.title) takes the question away, so no verdict reaches the API: give it a rule with need none in"
          + " the file of routes")
    } else if let pass = location.pass {
      add(
        .unguarded, pass.place,
        "\(location.title) reaches \(Self.shown(pass.text)) and asks no gate: add auth_request")
    }
  }

  private mutating func judge(_ pass: NginxDirective, _ url: String, in location: NginxScope) {
    if pass.name == "proxy_pass", let path = Self.parts(of: url).1, path != "$request_uri" {
      add(
        .target, pass.place,
        "proxy_pass ends with \(Self.shown(path)), so nginx sends another target than the verdict's: end it behind the"
          + " port")
    }
    if let cache = location.one("proxy_cache"), cache.words.first != "off" {
      add(
        .cache, cache.place,
        "an answer to one client would reach others: write proxy_cache off; into \(location.title)")
    }
    if location.word("proxy_intercept_errors") == "on" {
      add(
        .intercept, location.one("proxy_intercept_errors")?.place ?? pass.place,
        "proxy_intercept_errors makes nginx enter a location again, which asks the gate twice: write it off"
      )
    }
    judgeAnswerBuffer(location)
    judgeVerdict(pass, location)
  }

  private mutating func judgeVerdict(_ pass: NginxDirective, _ location: NginxScope) {
    let (list, name) =
      switch pass.name {
      case "proxy_pass": ("proxy_set_header", "proof-verdict")
      case "grpc_pass": ("grpc_set_header", "proof-verdict")
      case "fastcgi_pass": ("fastcgi_param", "http_proof_verdict")
      case "uwsgi_pass": ("uwsgi_param", "http_proof_verdict")
      default: ("scgi_param", "http_proof_verdict")
      }
    let line = location.list(list).last { $0.words.first?.lowercased() == name }
    guard let line else {
      let isLost =
        location.own.contains { $0.name == list }
        && location.above.list(list).contains { $0.words.first?.lowercased() == name }
      add(
        .verdict, pass.place,
        "a client's own Proof-Verdict reaches the API\(isLost ? ": this location's lines drop those above it" : "")."
          + " Write \(list) \(name) $proof_verdict;")
      return
    }
    let value = line.words.dropFirst().joined(separator: " ")
    let set = location.list("auth_request_set").last { $0.words.first == value }
    guard let set, set.words.last == "$upstream_http_proof_verdict" else {
      add(
        .verdict, line.place,
        "Proof-Verdict is \(Self.shown(value)), which is not the gate's: write auth_request_set $proof_verdict"
          + " $upstream_http_proof_verdict; and use that variable")
      return
    }
  }

  private mutating func judgeAnswer(_ location: NginxScope) {
    let isOwn = location.own.contains { $0.name == "add_header" }
    let lost = isOwn ? location.above.list("add_header") : []
    for name in Self.answerFields {
      let isLost = lost.contains { $0.words.first?.lowercased() == name }
      judge(
        field: name, of: location, askedIn: location, .answerField,
        missing: "\(name) does not reach clients"
          + "\(isLost ? ": this location's add_header lines drop those above it" : "")."
          + " Write add_header \(name) with always")
    }
  }

  /// Judges one field of the gate's answer to the question: the location that answers the client hands it on, with
  /// `always`, from the variable that the asking location sets.
  private mutating func judge(
    field name: String, of answering: NginxScope, askedIn asking: NginxScope,
    _ kind: NginxFinding.Kind, missing: String
  ) {
    let variable = "$upstream_http_" + name.map { $0 == "-" ? "_" : String($0) }.joined()
    let line = answering.list("add_header").last { $0.words.first?.lowercased() == name }
    guard let line else { return add(kind, answering.place, missing) }
    guard line.words.last == "always" else {
      return add(kind, line.place, "\(name) is left out of refusals: end the line with always")
    }
    let value = line.words.dropFirst().first ?? ""
    let set = asking.list("auth_request_set").last { $0.words.first == value }
    guard set?.words.last == variable else {
      return add(
        kind, line.place,
        "\(name) is \(Self.shown(value)), which is not the gate's: write auth_request_set with \(variable)"
      )
    }
  }

  /// Judges how the client gets the answer to a refused request: the gate writes it, status and challenge included.
  private mutating func judgeRefusal(_ location: NginxScope, _ all: [NginxScope]) {
    let pages = location.list("error_page")
    var uris: Set<String> = []
    for status in ["401", "403"] {
      guard let page = pages.last(where: { $0.words.contains(status) }), let uri = page.words.last
      else {
        add(
          .refusal, location.place,
          "a refusal with status \(status) has no challenge: write error_page 401 403 = /proof-gate-refusal;"
        )
        return
      }
      guard page.words.dropLast().last == "=" else {
        add(
          .refusal, page.place,
          "clients get \(status) in the place of the gate's status: write error_page 401 403 = \(uri);"
        )
        return
      }
      uris.insert(uri)
    }
    for uri in uris.sorted() {
      let found = all.first { $0.opening?.words == ["=", uri] || $0.opening?.words == [uri] }
      guard let found, let url = found.pass?.words.first, Self.parts(of: url).1 == "/refusal" else {
        add(
          .refusal, location.place,
          "\(Self.shown(uri)) does not ask the gate's /refusal: see docs/GATE.md")
        continue
      }
      judge(refusal: found, uri)
      // The answer of /refusal has no ticket: it is in the answer to the question before.
      judge(
        field: "proof-ticket", of: found, askedIn: location, .refusal,
        missing: "proof-ticket does not reach an app that must answer a challenge. Write add_header"
          + " Proof-Ticket $proof_ticket always;")
    }
  }

  private mutating func judge(refusal: NginxScope, _ uri: String) {
    if !uri.hasPrefix("@"), !refusal.own.contains(where: { $0.name == "internal" }) {
      add(.refusal, refusal.place, "clients reach \(refusal.title): write internal; into it")
    }
    let lines = refusal.list("proxy_set_header")
    for name in Self.refusalFields {
      guard let line = lines.last(where: { $0.words.first?.lowercased() == name }) else {
        add(
          .refusal, refusal.place,
          "\(name) is missing, so a client's own field would count: see docs/GATE.md")
        continue
      }
      let value = line.words.dropFirst().joined(separator: " ")
      let isClients =
        value.hasPrefix("$http_") && !(name == "x-original-host" && value == "$http_host")
      if isClients { add(.refusal, line.place, "\(name) is the client's own \(Self.shown(value))") }
      if name == "x-original-method", value == "$request_method" {
        add(
          .refusal, line.place,
          "nginx calls the method GET here: write set $proof_method $request_method; where it asks, and use that"
        )
      }
    }
  }
}
