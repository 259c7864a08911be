// SPDX-License-Identifier: Apache-2.0

import Testing

@testable import ProofGate

/// The check of nginx configurations: each mistake has its kind and its line, and a right spelling
/// has none.
@Suite struct NginxCheckTests {
  /// A configuration without a mistake, by docs/GATE.md.
  private static let page = """
    http {
      server {
        listen 443 ssl;
        location / {
          auth_request /gate;
          auth_request_set $verdict $upstream_http_proof_verdict;
          auth_request_set $time $upstream_http_proof_time;
          auth_request_set $ticket $upstream_http_proof_ticket;
          auth_request_set $clearance $upstream_http_proof_clearance;
          auth_request_set $cookie $upstream_http_set_cookie;
          add_header Proof-Time $time always;
          add_header Proof-Ticket $ticket always;
          add_header Proof-Clearance $clearance always;
          add_header Set-Cookie $cookie always;
          error_page 401 403 = /refused;
          proxy_set_header Proof-Verdict $verdict;
          proxy_pass http://127.0.0.1:8080;
        }
        location = /gate {
          internal;
          proxy_pass http://127.0.0.1:9080/judge;
          proxy_pass_request_body off;
          proxy_set_header Content-Length "";
          proxy_set_header Proof-Route "";
          proxy_set_header X-Original-Method $request_method;
          proxy_set_header X-Original-URI $request_uri;
          proxy_set_header X-Original-Host $http_host;
          proxy_set_header X-Original-Scheme $scheme;
          proxy_set_header X-Original-Content-Length $content_length;
          proxy_set_header X-Original-Transfer-Encoding $http_transfer_encoding;
          proxy_set_header X-Forwarded-For $remote_addr;
        }
        location = /refused {
          internal;
          proxy_pass http://127.0.0.1:9080/refusal;
          add_header Proof-Ticket $ticket always;
          proxy_set_header X-Proof-Status $s;
          proxy_set_header X-Proof-Time $t;
          proxy_set_header X-Proof-Refusal $r;
          proxy_set_header X-Proof-Nonce $n;
          proxy_set_header X-Proof-Reference $f;
          proxy_set_header X-Proof-Challenge $c;
          proxy_set_header X-Proof-Clearance $l;
          proxy_set_header X-Original-Method $m;
          proxy_set_header X-Original-URI $request_uri;
          proxy_set_header X-Original-Host $http_host;
          proxy_set_header X-Original-Scheme $scheme;
          proxy_set_header X-Forwarded-For $remote_addr;
          proxy_set_header Proof-Route "";
        }
      }
    }
    """

  private func check(_ text: String, routes: RouteFile? = nil) throws -> [NginxFinding] {
    let files = try NginxFiles("a.conf") { name throws(NginxSyntaxError) in
      [NginxFiles.Part(name: name, bytes: Array(text.utf8))]
    }
    return NginxCheck.findings(in: files, routes: routes)
  }

  /// Checks the page after some changes of one place each.
  private func changed(_ changes: (String, String)...) throws -> [NginxFinding] {
    var text = Self.page
    for (was, now) in changes {
      let range = try #require(text.firstRange(of: was), "\(was)")
      text.replaceSubrange(range, with: now)
    }
    return try check(text)
  }

  private func kinds(_ changes: (String, String)...) throws -> [String] {
    var text = Self.page
    for (was, now) in changes {
      let range = try #require(text.firstRange(of: was), "\(was)")
      text.replaceSubrange(range, with: now)
    }
    return try check(text).map { "\($0.place.line) \($0.kind.rawValue)" }
  }

  /// The lines that begin each of the three locations.
  private static let (api, gate, refused) = (
    "    location / {\n", "    location = /gate {\n", "    location = /refused {\n"
  )
  private static let pass = "      proxy_pass http://127.0.0.1:8080;\n"
  private static let verdict = "      proxy_set_header Proof-Verdict $verdict;\n"

  private static func line(_ text: String) -> Int {
    let before = page[..<(page.firstRange(of: text)?.lowerBound ?? page.startIndex)]
    return before.count { $0 == "\n" } + 1
  }

  @Test("The page has no mistake, in a file of its own or in parts")
  func sound() throws {
    #expect(try check(Self.page).isEmpty)
    // The file of a server, or of its locations, stands alone in many installations.
    let server = Self.page.split(separator: "\n").dropFirst().dropLast()
    #expect(try check(server.joined(separator: "\n")).isEmpty)
    #expect(try check(server.dropFirst(2).dropLast().joined(separator: "\n")).isEmpty)
  }

  @Test("A configuration without a question is one finding, at its first line")
  func noQuestion() throws {
    for (text, place) in [
      ("", ":1"), ("\n\nuser root;", "a.conf:3"),
      ("server { location / { proxy_pass http://a; } }", "a.conf:1"),
      ("http { server { location / { auth_request off; proxy_pass http://a; } } }", "a.conf:1"),
    ] {
      #expect(
        try check(text).map(\.description)
          == ["\(place): no-question: no location has auth_request, so nothing asks the gate"])
    }
    // A second server that asks nothing has no mistake.
    let other = "http { server { location / { proxy_pass http://a; } }"
    #expect(try kinds(("http {", other)).isEmpty)
  }

  @Test("A question for the whole server or for http counts in each location below it")
  func above() throws {
    let ask = "      auth_request /gate;\n"
    #expect(try kinds((ask, ""), (Self.api, "auth_request /gate;\n" + Self.api)).isEmpty)
    #expect(try kinds((ask, ""), ("http {\n", "http { auth_request /gate;\n")).isEmpty)
    let found = try check("\nserver {\n auth_request /gate; }")
    #expect(found.map(\.description.count) != [] && found.map(\.kind) == [.noEndpoint])
    #expect(found.map(\.place.line) == [3])
    // Locations that ask the same have one finding.
    let two = "server { location /a { auth_request /x; } location /b { auth_request /x; } }"
    #expect(try check(two).filter { $0.kind == .noEndpoint }.count == 1)
    let off = "location /open { auth_request off; proxy_pass http://127.0.0.1:8080; }\n"
    let questionAbove = try changed((ask, ""), (Self.api, "auth_request /gate;\n" + off + Self.api))
    #expect(questionAbove.map(\.kind) == [.nestedOff])
    #expect(questionAbove[0].problem.hasPrefix("location /open takes the question away"))
    #expect(try changed((Self.api, off + Self.api)).map(\.kind) == [.unguarded])
    let idle = "location /open { auth_request off; return 200; }\n"
    #expect(try changed((Self.api, idle + Self.api)).isEmpty)
    #expect(
      try changed((ask, ""), (Self.api, "auth_request /gate;\n" + idle + Self.api)).map(\.kind)
        == [.nestedOff])
  }

  @Test("The location of a question is found as nginx finds it")
  func endpoint() throws {
    let gate = Self.line(Self.gate)
    #expect(try kinds((Self.gate, "location /gate {\n")).isEmpty)
    #expect(try kinds((Self.gate, "location ^~ /gate {\n")).isEmpty)
    let asked = Self.line("auth_request /gate;")
    for other in ["~ ^/gate$", "~ /gate", "= /other", "@gate", "/gate/more"] {
      #expect(
        try kinds((Self.gate, "location \(other) {\n")) == ["\(asked) no-endpoint"], "\(other)")
    }
    // The longest prefix counts, in any order, and an exact location before all.
    let short = "location /g { internal; proxy_pass http://127.0.0.1:9080/judge; }\n"
    for spelling in ["= /gate", "/gate", "^~ /gate"] {
      let own = "location \(spelling) {\n"
      #expect(try kinds((Self.gate, short + own)).isEmpty)
      #expect(try kinds((Self.gate, own), (Self.refused, short + Self.refused)).isEmpty)
    }
    let long = "location /gate { proxy_pass http://a; }\n"
    #expect(try kinds((Self.gate, long + Self.gate)).contains("\(gate) unguarded"))
    #expect(try kinds((Self.gate, long + Self.gate)).count == 1)
    // A prefix that asks the gate is one, although clients reach it.
    #expect(
      try kinds((Self.gate, "location /gate {\n"), ("      internal;\n", ""))
        == ["\(gate) not-internal"])
    // Clients' own pages at the gate are no unguarded backend.
    let pages = "location /.well-known/ { proxy_pass http://127.0.0.1:9080; }\n"
    #expect(try kinds((Self.gate, pages + Self.gate)).isEmpty)
    let other = "location /.well-known/ { proxy_pass http://127.0.0.1:9081; }\n"
    #expect(try kinds((Self.gate, other + Self.gate)) == ["\(gate) unguarded"])
  }

  @Test("A question without a body, with its fields and to the right path")
  func question() throws {
    let (gate, pass) = (Self.line(Self.gate), Self.line("proxy_pass http://127.0.0.1:9080/judge"))
    #expect(try kinds(("      internal;\n", "\n")) == ["\(gate) not-internal"])
    #expect(
      try kinds(("proxy_pass http://127.0.0.1:9080/judge", "set $a b")) == ["\(gate) question-path"]
    )
    #expect(
      try kinds(("proxy_pass http://127.0.0.1:9080/judge", "grpc_pass grpc://a/judge"))
        == ["\(gate) question-path"])
    for (url, shown) in [("/judges", "/judges"), ("", "/gate"), ("?/judge", "?/judge")] {
      let found = try changed((":9080/judge", ":9080\(url)"))
      #expect(found.map(\.place.line).first == pass && found.map(\.kind).first == .questionPath)
      #expect(found.first?.problem == "the question goes to \(shown): end proxy_pass with /judge")
    }
    let body = "proxy_pass_request_body off;"
    for now in ["", "proxy_pass_request_body on;"] {
      #expect(try kinds((body, now)) == ["\(gate) question-body"])
    }
    #expect(
      try kinds((body, body + " proxy_pass_request_headers off;")) == ["\(gate) question-fields"])
    #expect(try kinds((body, body + " proxy_pass_request_headers on;")).isEmpty)
    for (now, wrong) in [("kept", true), ("off", false)] {
      let line = Self.line(body)
      #expect(try kinds((body, body + " proxy_cache \(now);")) == (wrong ? ["\(line) cache"] : []))
      let inAPI = Self.line(Self.pass)
      #expect(
        try kinds((Self.pass, "proxy_cache \(now);" + Self.pass))
          == (wrong ? ["\(inAPI) cache"] : []))
    }
    for (now, wrong) in [("on", true), ("off", false)] {
      let line = Self.line(body)
      let more = " proxy_intercept_errors \(now);"
      #expect(try kinds((body, body + more)) == (wrong ? ["\(line) intercept"] : []))
      let inAPI = Self.line(Self.pass)
      #expect(try kinds((Self.pass, more + Self.pass)) == (wrong ? ["\(inAPI) intercept"] : []))
    }
    let above = try changed(("listen 443 ssl;", "listen 443 ssl; proxy_intercept_errors on;"))
    #expect(above.map(\.kind) == [.intercept, .intercept] && above.map(\.place.line) == [3, 3])
  }

  @Test(
    "Each fact of the request has one of its values",
    arguments: [
      ("X-Original-Method", "$request_method", [], ["GET", "$http_method", ""]),
      ("X-Original-URI", "$request_uri", [], ["$uri", "$request_uri$args"]),
      ("X-Original-Host", "$http_host", ["$host"], ["$server_name"]),
      ("X-Original-Scheme", "$scheme", ["https"], ["http", "$http_x_forwarded_proto"]),
      (
        "X-Original-Content-Length", "$content_length", ["$http_content_length"],
        ["0", "$http_content_length 1"]
      ),
      (
        "X-Original-Transfer-Encoding", "$http_transfer_encoding", [], ["chunked"]
      ),
      (
        "X-Forwarded-For", "$remote_addr", ["$proxy_add_x_forwarded_for", "$realip_remote_addr"],
        ["$http_x_forwarded_for"]
      ),
    ] as [(String, String, [String], [String])])
  func told(_ name: String, _ value: String, _ right: [String], _ wrong: [String]) throws {
    let line = "proxy_set_header \(name) \(value);"
    let (gate, place) = (Self.line(Self.gate), Self.line(line))
    for other in right { #expect(try kinds((line, "proxy_set_header \(name) \(other);")).isEmpty) }
    for other in wrong {
      let told = other.isEmpty ? "\"\"" : other
      let found = try changed((line, "proxy_set_header \(name) \(told);"))
      #expect(found.map(\.kind) == [.told] && found[0].place.line == place)
      let has = "\(name.lowercased()) has the value \(other.isEmpty ? "empty" : other)"
      #expect(found[0].problem == "\(has): the gate needs \(value)")
    }
    let missing = try changed((line, ""))
    #expect(missing.map(\.kind) == [.told] && missing[0].place.line == gate)
    #expect(!missing[0].problem.contains("drop those"))
    #expect(
      missing[0].problem.hasSuffix("write proxy_set_header \(name.lowercased()) \(value);"))
    let lost = try changed((line, ""), ("listen 443 ssl;", "listen 443 ssl; \(line)"))
    #expect(lost.map(\.kind) == [.told] && lost[0].problem.contains("drop those of the server"))
    // The last of two counts.
    #expect(try kinds((line, "proxy_set_header \(name) x; \(line)")).isEmpty)
    #expect(try kinds((line, "\(line) proxy_set_header \(name) x;")) == ["\(place) told"])
  }

  @Test("A scheme of https is right where each socket has TLS")
  func scheme() throws {
    let literal = ("X-Original-Scheme $scheme", "X-Original-Scheme https")
    for (listen, isRight) in [
      ("listen 443 ssl;", true), ("listen [::]:443 ssl; listen 443 ssl;", true),
      ("listen 443;", false), ("listen 443 ssl; listen 80;", false), ("", false),
    ] {
      #expect(
        try changed(("listen 443 ssl;", listen), literal).map(\.kind) == (isRight ? [] : [.told]))
    }
    #expect(
      try changed(("X-Original-Host $http_host", "X-Original-Host https")).map(\.kind) == [.told])
  }

  @Test("The question has no length, and no route by the client")
  func route() throws {
    let gate = Self.line(Self.gate)
    for now in ["", "proxy_set_header Content-Length $content_length;"] {
      #expect(
        try kinds(("proxy_set_header Content-Length \"\";", now)) == ["\(gate) question-body"])
    }
    let line = "proxy_set_header Proof-Route \"\";"
    #expect(try kinds((line, "")) == ["\(gate) route"])
    for now in ["$http_proof_route", "$arg_route", "$cookie_route"] {
      let found = try changed((line, "proxy_set_header Proof-Route \(now);"))
      #expect(found.map(\.kind) == [.route] && found[0].place.line == Self.line(line))
      #expect(found[0].problem == "the client chooses Proof-Route by \(now)")
    }
    for now in ["orders", "$route", "$args"] {
      #expect(try kinds((line, "proxy_set_header Proof-Route \(now);")).isEmpty)
    }
  }

  @Test("A size is too small below 4,096 bytes, in the question, the API's location and the server")
  func buffers() throws {
    for (size, isSmall) in [
      ("4095", true), ("4096", false), ("3k", true), ("4k", false), ("4K", false), ("1m", false),
      ("0", true), ("x", false), ("", false), ("k", false),
    ] {
      let expected: [NginxFinding.Kind] = isSmall ? [.buffer] : []
      let text = size.isEmpty ? "\"\"" : size
      for place in ["      internal;\n", Self.pass] {
        let found = try changed((place, "proxy_buffer_size \(text);" + place))
        #expect(found.map(\.kind) == expected, "\(size)")
        #expect(
          isSmall
            ? found[0].problem.contains("\(size) is too small") && found[0].problem.hasSuffix(" 4k")
            : true)
      }
      let found = try changed(
        ("listen 443 ssl;", "listen 443 ssl; large_client_header_buffers 8 \(text);"))
      #expect(found.map(\.kind) == expected, "\(size)")
      #expect(
        isSmall
          ? found[0].problem.contains("8 \(size) is too small")
            && found[0].problem.hasSuffix(" 4 4k") : true)
    }
  }

  @Test("A directive that decides before the gate, or changes the target, is a mistake")
  func early() throws {
    let line = Self.line(Self.pass)
    for (directive, kinds) in [
      ("return 200;", ["early"]), ("if ($a) { return 200; }", ["early"]),
      ("if ($a) { set $b c; }", ["early"]), ("rewrite a b;", ["target"]),
      ("satisfy any;", ["satisfy"]), ("satisfy all;", []), ("set $a b;", []),
      ("limit_except GET { deny all; }", []),
    ] {
      #expect(
        try self.kinds((Self.pass, directive + Self.pass)).map {
          String($0.split(separator: " ")[1])
        }
          == kinds, "\(directive)")
    }
    #expect(try kinds((Self.pass, "return 200;" + Self.pass)) == ["\(line) early"])
    #expect(
      try kinds(("listen 443 ssl;", "listen 443 ssl; rewrite a b; rewrite a b;")) == ["3 target"])
    #expect(try kinds(("listen 443 ssl;", "listen 443 ssl; satisfy any;")) == ["3 satisfy"])
    for (end, isRight) in [
      ("", true), ("$request_uri", true), ("/", false), ("/x", false), ("$uri", false),
      ("$request_uri/", false), ("$host", true),
    ] {
      let found = try changed((":8080;", ":8080\(end);"))
      #expect(found.map(\.kind) == (isRight ? [] : [.target]), "\(end)")
      #expect(isRight || found[0].problem.hasPrefix("proxy_pass ends with \(end), so"))
    }
  }

  @Test(
    "Each way to an API has the gate's verdict in its own kind of line",
    arguments: [
      ("proxy_pass http://a", "proxy_set_header Proof-Verdict"),
      ("grpc_pass grpc://a/x", "grpc_set_header Proof-Verdict"),
      ("fastcgi_pass a:9000", "fastcgi_param HTTP_PROOF_VERDICT"),
      ("uwsgi_pass a:9000", "uwsgi_param HTTP_PROOF_VERDICT"),
      ("scgi_pass a:9000", "scgi_param HTTP_PROOF_VERDICT"),
    ])
  func verdicts(_ pass: String, _ set: String) throws {
    let place = Self.line(Self.pass)
    #expect(try kinds((Self.verdict, "\(set) $verdict;\n"), (Self.pass, "\(pass);\n")).isEmpty)
    let name = set.split(separator: " ")[1].lowercased()
    let list = set.split(separator: " ")[0]
    let missing = try changed((Self.verdict, "\(list) other x;\n"), (Self.pass, "\(pass);\n"))
    #expect(missing.map(\.kind) == [.verdict] && missing[0].place.line == place)
    #expect(
      missing[0].problem
        == "a client's own Proof-Verdict reaches the API. Write \(list) \(name) $proof_verdict;")
    let lost = try changed(
      (Self.verdict, "\(list) other x;\n"), (Self.pass, "\(pass);\n"),
      ("listen 443 ssl;", "listen 443 ssl; \(set) $verdict;"))
    #expect(lost.map(\.kind) == [.verdict])
    #expect(lost[0].problem.contains(": this location's lines drop those above it."))
    for value in ["$http_proof_verdict", "$time", "$verdict $verdict", "\"\""] {
      let wrong = try changed((Self.verdict, "\(set) \(value);\n"), (Self.pass, "\(pass);\n"))
      #expect(wrong.map(\.kind) == [.verdict] && wrong[0].place.line == place - 1, "\(value)")
    }
  }

  @Test(
    "Each field for the client comes from the gate's answer, in refusals too",
    arguments: [
      "Proof-Time $time", "Proof-Ticket $ticket", "Proof-Clearance $clearance",
      "Set-Cookie $cookie",
    ])
  func answers(_ field: String) throws {
    let line = "add_header \(field) always;"
    let name = field.split(separator: " ")[0]
    let (api, place) = (Self.line(Self.api), Self.line(line))
    let missing = try changed((line, ""))
    #expect(missing.map(\.kind) == [.answerField] && missing[0].place.line == api)
    #expect(!missing[0].problem.contains("drop those"))
    let lost = try changed((line, ""), ("listen 443 ssl;", "listen 443 ssl; \(line)"))
    #expect(lost.map(\.kind) == [.answerField] && lost[0].problem.contains("drop those above it"))
    #expect(try kinds((line, "add_header \(field);")) == ["\(place) answer-field"])
    for value in ["$other", "$verdict"] {
      let wrong = try changed((line, "add_header \(name) \(value) always;"))
      #expect(wrong.map(\.kind) == [.answerField] && wrong[0].place.line == place)
      #expect(
        wrong[0].problem.hasPrefix("\(name.lowercased()) is \(value), which is not the gate's"))
    }
    // The last of two counts.
    #expect(try kinds((line, "add_header \(name) x always; \(line)")).isEmpty)
    #expect(try kinds((line, "\(line) add_header \(name) x always;")) == ["\(place) answer-field"])
  }

  @Test("A refused client gets the gate's document, with its status")
  func refusals() throws {
    let api = Self.line(Self.api)
    let page = "error_page 401 403 = /refused;"
    for (now, status) in [
      ("", "401"), ("error_page 403 = /refused;", "401"), ("error_page 401 = /refused;", "403"),
    ] {
      let found = try changed((page, now))
      #expect(found.map(\.kind) == [.refusal] && found[0].place.line == api)
      #expect(found[0].problem.hasPrefix("a refusal with status \(status) has no challenge"))
    }
    for now in ["error_page 401 403 /refused;", "error_page 401 403 =200 /refused;"] {
      #expect(try kinds((page, now)) == ["\(Self.line(page)) refusal"])
    }
    #expect(try kinds((page, "error_page 403 = /refused; error_page 401 = /refused;")).isEmpty)
    let elsewhere = try changed((page, "error_page 401 = /refused; error_page 403 = /none;"))
    #expect(elsewhere.map(\.kind) == [.refusal] && elsewhere[0].place.line == api)
    #expect(elsewhere[0].problem.hasPrefix("/none does not ask"))
    #expect(try kinds((":9080/refusal", ":9080/judge")) == ["\(api) refusal"])
    #expect(try kinds((Self.refused, "location /refused {\n")).isEmpty)
    let internalLine = "{\n      internal;\n      proxy_pass http://127.0.0.1:9080/refusal;"
    let open = "{\n      proxy_pass http://127.0.0.1:9080/refusal;"
    #expect(try kinds((internalLine, open)) == ["\(Self.line(Self.refused)) refusal"])
    // Clients reach no named location.
    #expect(
      try kinds(
        (page, "error_page 401 403 = @no;"), (Self.refused, "location @no {\n"),
        (internalLine, open)
      ).isEmpty)
    let ticket = Self.refused + "      internal;\n      proxy_pass http://127.0.0.1:9080/refusal;\n"
    let (refused, header) = (
      Self.line(Self.refused), "      add_header Proof-Ticket $ticket always;\n"
    )
    #expect(try kinds((ticket + header, ticket)) == ["\(refused) refusal"])
    for now in ["$ticket", "$time always", "$upstream_http_proof_ticket always"] {
      let found = try kinds((ticket + header, ticket + "add_header Proof-Ticket \(now);\n"))
      #expect(found == ["\(refused + 3) refusal"])
    }
  }

  @Test(
    "Each field for the document is there, and none is the client's own",
    arguments: [
      "X-Proof-Status $s", "X-Proof-Time $t", "X-Proof-Refusal $r", "X-Proof-Nonce $n",
      "X-Proof-Reference $f", "X-Proof-Challenge $c", "X-Proof-Clearance $l",
      "X-Original-Method $m",
      "X-Original-URI $request_uri", "X-Original-Host $http_host", "X-Original-Scheme $scheme",
      "X-Forwarded-For $remote_addr", "Proof-Route \"\"",
    ])
  func documentFields(_ field: String) throws {
    let parts = Self.page.split(separator: Self.refused, maxSplits: 1)
    let (before, after) = (String(parts[0]) + Self.refused, String(parts[1]))
    func kinds(_ was: String, _ now: String) throws -> [NginxFinding] {
      #expect(after.contains(was))
      return try check(before + after.replacing(was, with: now))
    }
    let line = "proxy_set_header \(field);"
    let name = field.split(separator: " ")[0]
    let missing = try kinds(line, "")
    #expect(missing.map(\.kind) == [.refusal] && missing[0].place.line == Self.line(Self.refused))
    #expect(missing[0].problem.hasPrefix("\(name.lowercased()) is missing"))
    let own = try kinds(line, "proxy_set_header \(name) $http_x;")
    #expect(own.map(\.kind) == [.refusal])
    #expect(own[0].problem == "\(name.lowercased()) is the client's own $http_x")
    let host = try kinds(line, "proxy_set_header \(name) $http_host;")
    #expect(host.isEmpty == (name == "X-Original-Host"))
    let method = try kinds(line, "proxy_set_header \(name) $request_method;")
    #expect(method.isEmpty == (name != "X-Original-Method"))
  }

  @Test("A rule whose body the gate would judge is a mistake beside nginx")
  func bodies() throws {
    let rules =
      "route a\n need proof\n body gate\nroute b\n need proof\nroute c\n need proof\n body gate"
    let found = try check(Self.page, routes: RouteFile(Array(rules.utf8)))
    #expect(found.map(\.kind) == [.bodyGate, .bodyGate] && found.map(\.place.line) == [1, 1])
    #expect(found.map { $0.problem.prefix(13) } == ["route a says ", "route c says "])
  }

  @Test("A URL is cut before its path, or before a variable that has one")
  func parts() {
    for (url, authority, path) in [
      ("http://a:1", "http://a:1", nil), ("http://a:1/judge", "http://a:1", "/judge"),
      ("https://a/x/y", "https://a", "/x/y"), ("https://a", "https://a", nil),
      ("a/b", "a", "/b"), ("grpc://a", "grpc:", "//a"), ("http://a?x", "http://a", "?x"),
      ("http://a$uri", "http://a", "$uri"), ("http://a$request_uri", "http://a", "$request_uri"),
      ("http://a$document_uri", "http://a", "$document_uri"),
      ("http://a$is_args$args", "http://a", "$is_args$args"),
      ("http://$host:80", "http://$host:80", nil),
      ("http://unix:/run/s", "http://unix:/run/s", nil),
      ("http://unix:/run/s:/judge", "http://unix:/run/s", "/judge"),
      ("https://unix:/s:/x:y", "https://unix:/s", "/x:y"), ("unix:/s:/x", "unix:/s", "/x"),
      ("http://unix:", "http://unix:", nil), ("", "", nil),
    ] as [(String, String, String?)] {
      let found = NginxCheck.parts(of: url)
      #expect(found.0 == authority && found.1 == path, "\(url): \(found)")
    }
  }

  @Test("A value is shown without control characters, and at most 80 characters of it")
  func shown() throws {
    #expect(NginxCheck.shown("") == "empty" && NginxCheck.shown(" ") == " ")
    #expect(NginxCheck.shown("a\u{1f}b\u{7f}ü~") == "a?b??~")
    #expect(
      NginxCheck.shown(String(repeating: "a", count: 81)) == String(repeating: "a", count: 80))
    let found = try check("server { auth_request \"/a\u{1f}b\u{7f} c\"; }")
    #expect(found[0].problem.hasSuffix(" add location = /a?b? c"))
  }

  @Test("A scope is called by its words, and stands where it is opened")
  func scopes() throws {
    let files = try NginxFiles("a.conf") { name throws(NginxSyntaxError) in
      [NginxFiles.Part(name: name, bytes: Array("\nserver {\n location = /a { x; } }".utf8))]
    }
    let root = NginxScope([files.directives])
    let server = root.inside(files.directives[0])
    let location = server.inside(server.own[0])
    #expect(
      root.title == "the file" && server.title == "server" && location.title == "location = /a")
    #expect([root, server, location].map(\.place.line) == [2, 2, 3])
    #expect(NginxScope([]).place.description == ":1" && NginxScope([]).own.isEmpty)
    #expect(
      location.above.own == server.own && location.one("y") == nil && location.list("y").isEmpty)
  }
}
