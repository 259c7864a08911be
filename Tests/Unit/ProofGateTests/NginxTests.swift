// SPDX-License-Identifier: Apache-2.0

import Testing

@testable import ProofGate

/// The reader of nginx configurations: what nginx takes, and what it refuses.
@Suite struct NginxReaderTests {
  @Test("A place shows no control characters of a file's name")
  func places() {
    let place = NginxDirective.Place(file: "a\n\u{7f}ü.conf", line: 7)
    #expect(place.description == "a??ü.conf:7")
    let error = NginxSyntaxError(place: place, problem: "the configuration is too large")
    #expect("\(error)" == "a??ü.conf:7: the configuration is too large")
  }

  static func read(_ text: String) throws -> [NginxDirective] {
    try NginxReader.directives(of: Array(text.utf8), named: "nginx.conf")
  }

  @Test(
    "Words end at blanks, semicolons and braces; quotes, escapes and variables as nginx reads them")
  func words() throws {
    let read = try Self.read(
      """
      # a comment; with { signs
      map $a $b { default "x y"; '~^/a{2}' 1; }
      set $c a#b;set $d ${e}f;
      log_format x 'a "b" \\'c\\' {' "\\"" d\\;e a\\tb;
      add_header A "";
      if ($f = "g") { return 204; }
      """)
    #expect(read.map(\.name) == ["map", "set", "set", "log_format", "add_header", "if"])
    #expect(read[0].inner.map(\.name) == ["default", "~^/a{2}"])
    #expect(read[0].inner[0].words == ["x y"] && read[0].place.line == 2)
    #expect(read[1].words == ["$c", "a#b"] && read[2].words == ["$d", "${e}f"])
    #expect(read[3].words == ["x", "a \"b\" 'c' {", "\"", "d\\;e", "a\tb"])
    #expect(read[4].words == ["A", ""] && read[4].place.line == 5)
    #expect(read[5].words == ["($f", "=", "g", ")"] && read[5].inner[0].words == ["204"])
  }

  @Test("Lua code is skipped by Lua's rules")
  func lua() throws {
    let read = try Self.read(
      """
      location / {
        access_by_lua_block {
          local a = { b = "}" , c = '}' } -- }
          --[[ } ]] local d = [==[ ]] } ]==] if a[1] then b = "\\"}" end
        }
        return 1;
      }
      """)
    #expect(read[0].inner.map(\.name) == ["access_by_lua_block", "return"])
    #expect(read[0].inner[1].place.line == 6)
  }

  @Test("Text that nginx refuses has an error with its line")
  func errors() {
    for (text, line) in [
      (";", 1), ("{", 1), ("}", 1), ("a b", 1), ("a {\nb;", 2), ("a 'b\n", 1), ("a \"b\"c;", 1),
      ("a { b }", 1), ("a\n{ x_by_lua_block { ", 2), ("\nx_by_lua_block {", 2), ("a\n;\n;", 3),
      (String(repeating: "a {", count: 50), 1),
    ] {
      do {
        _ = try Self.read(text)
        Issue.record("\(text)")
      } catch let error as NginxSyntaxError {
        #expect(error.place.line == line, "\(text): \(error)")
      } catch {
        Issue.record(error)
      }
    }
  }

  @Test("A size beyond all numbers is not taken for a small one")
  func sizes() throws {
    func isSmall(_ size: String) throws -> Bool {
      let text = """
        server {
          large_client_header_buffers 4 \(size);
          location / { auth_request /gate; }
          location = /gate { internal; proxy_pass http://127.0.0.1:1/judge; }
        }
        """
      let files = try NginxFiles("a.conf") { name throws(NginxSyntaxError) in
        [NginxFiles.Part(name: name, bytes: Array(text.utf8))]
      }
      return NginxCheck.findings(in: files).contains { $0.kind == .buffer }
    }
    #expect(try isSmall("2k") && isSmall("4095") && !isSmall("4k") && !isSmall("1m"))
    #expect(try !isSmall("18014398509481984k") && !isSmall("17592186044416m"))
  }

  @Test("Included files stand in the place of the line, and a circle ends")
  func includes() throws {
    func files(_ files: [String: String]) throws -> [NginxDirective] {
      try NginxFiles("/etc/nginx/nginx.conf") { path throws(NginxSyntaxError) in
        let names =
          path.hasSuffix("*") ? files.keys.filter { $0.hasPrefix(path.dropLast()) } : [path]
        return names.sorted().compactMap { name in
          files[name].map { NginxFiles.Part(name: name, bytes: Array($0.utf8)) }
        }
      }.directives
    }
    let read = try files([
      "/etc/nginx/nginx.conf": "a; http { include sites/*; include none/*; } include /b;",
      "/etc/nginx/sites/1": "server { }", "/etc/nginx/sites/2": "include sites/3;",
      "/etc/nginx/sites/3": "x;", "/b": "y;",
    ])
    #expect(read.map(\.name) == ["a", "http", "y"])
    #expect(read[1].inner.map(\.name) == ["server", "x", "x"])
    #expect(read[1].inner[1].place.file == "/etc/nginx/sites/3")
    #expect(throws: NginxSyntaxError.self) { try files(["/etc/nginx/nginx.conf": "include no;"]) }
    #expect(throws: NginxSyntaxError.self) {
      try files(["/etc/nginx/nginx.conf": "include nginx.conf;"])
    }
    func many(_ count: Int) throws -> Int {
      let others = (1..<count).map { ("/etc/nginx/sites/\($0)", "x;") }
      let main = ("/etc/nginx/nginx.conf", "include sites/*;")
      return try files(Dictionary(uniqueKeysWithValues: [main] + others)).count
    }
    #expect(try many(1000) == 999)
    #expect(throws: NginxSyntaxError.self) { try many(1001) }
  }
}
