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

  private func error(_ text: String) -> String? {
    do {
      _ = try Self.read(text)
      return nil
    } catch {
      return "\(error)"
    }
  }

  @Test(
    "Text that nginx refuses has its cause",
    arguments: [
      (";", "1: unexpected \";\""), ("{", "1: unexpected \"{\""), ("a;\n}", "2: unexpected \"}\""),
      ("a\n}", "2: unexpected \"}\": \";\" is missing before it"),
      ("a {\nb\n}", "3: unexpected \"}\": \";\" is missing before it"),
      ("a\nb", "2: the file ends inside a directive: \";\" is missing"),
      ("a \\", "1: the file ends inside a directive: \";\" is missing"),
      ("a {\nb;\n", "3: the file ends inside a block: \"}\" is missing"),
      ("a\n'b\n", "2: a quote that begins here does not end"),
      ("a \"b\nc\"d;", "2: a blank or \";\" is missing after the quoted word"),
      ("a \"b\"}", "1: a blank or \";\" is missing after the quoted word"),
      ("x_by_lua_block {\n{ }\n", "3: the file ends inside a block of Lua code"),
    ])
  func causes(_ text: String, _ cause: String) {
    #expect(error(text) == "nginx.conf:\(cause)")
  }

  @Test("Blocks are nested to 32 levels, and a file has 50,000 directives")
  func bounds() throws {
    func nested(_ depth: Int) -> String {
      String(repeating: "a{", count: depth) + String(repeating: "}", count: depth)
    }
    #expect(error(nested(32)) == nil)
    #expect(error(nested(33)) == "nginx.conf:1: blocks are nested too deeply")
    let most = String(repeating: "a;", count: 50_000)
    #expect(try Self.read(most).count == 50_000)
    #expect(error(most + "b;") == "nginx.conf:1: the file has too many directives")
  }

  @Test("Each escape, blank and end of a word is nginx's")
  func spellings() throws {
    for (text, words) in [
      ("a b\tc\rd\ne;", ["b", "c", "d", "e"]), ("a \"b\\\"c\";", ["b\"c"]), ("a 'b\\'c';", ["b'c"]),
      ("a b\\\\c;", ["b\\c"]), ("a b\\tc\\rd\\ne;", ["b\tc\rd\ne"]), ("a b\\xc;", ["b\\xc"]),
      ("a b\\ c;", ["b\\ c"]), ("a b\\;c;", ["b\\;c"]), ("a b\"c;", ["b\"c"]),
      ("a 'b;{}#';", ["b;{}#"]),
      ("a b#c #d\n e;", ["b#c", "e"]), ("a ${b}c;", ["${b}c"]), ("a b$;", ["b$"]), ("a '';", [""]),
      ("a 'b'{}", ["b"]), ("a 'b')c;", ["b", ")c"]), ("a $b{}", ["$b"]), ("a b\\{c;", ["b\\{c"]),
    ] {
      let read = try Self.read(text)
      #expect(read.map(\.name) == ["a"] && read[0].words == words, "\(text): \(read)")
    }
    let places = try Self.read("a;\n\"b\nc\" d;\n#x\ne {\n f\n g; }\nh;")
    #expect(places.map(\.place.line) == [1, 2, 5, 8] && places[2].inner[0].place.line == 6)
    #expect(places.map { $0.block == nil } == [true, true, false, true])
    #expect(places[1].name == "b\nc" && places[1].text == "d" && places[1].inner.isEmpty)
  }

  @Test(
    "Lua ends where its last brace does",
    arguments: [
      "x = 1", "x = {}", "x = { { } }", "x = '}' y = \"}\"", "x = 'a\\'}' y = \"\\\"}\"", "-- }\n",
      "--[[ } ]]",
      "--[==[ ]] } ]=] ]==]", "x = [[ } ]]", "x = [=[ ]] } ]=]", "x = a[1]", "x = a[b[1]]",
      "x = 1 - 2 -- }\n",
      "x = '\n", "--[ }\n", "--[= }\n", "x = [==[ } ]==] y = {}", "x = \"\\\\\"", "x = [[ ] } ]]",
      "--",
    ])
  func luaBlocks(_ code: String) throws {
    let lines = code.count { $0 == "\n" }
    let end = code.hasSuffix("--") ? "\n}" : "}"
    let read = try Self.read("x_by_lua_block {\(code)\(end)\nb;")
    #expect(read.map(\.name) == ["x_by_lua_block", "b"], "\(read)")
    #expect(read[0].block == [] && read[0].words.isEmpty)
    #expect(read.last?.place.line == 2 + lines + (code.hasSuffix("--") ? 1 : 0))
  }

  @Test("Files include one another 16 deep, and have 8 MiB together")
  func fileBounds() throws {
    func files(_ name: String, _ content: (String) -> [UInt8]?) throws -> [NginxDirective] {
      try NginxFiles(name) { path throws(NginxSyntaxError) in
        content(path).map { [NginxFiles.Part(name: path, bytes: $0)] } ?? []
      }.directives
    }
    func error(_ name: String, _ content: (String) -> [UInt8]?) -> String? {
      do {
        _ = try files(name, content)
        return nil
      } catch {
        return "\(error)"
      }
    }
    func chain(_ depth: Int) -> (String) -> [UInt8]? {
      { path in
        let number = Int(path) ?? 0
        return Array((number < depth ? "include \(number + 1);" : "x;").utf8)
      }
    }
    #expect(try files("0", chain(16)).map(\.name) == ["x"])
    #expect(error("0", chain(17)) == "17:1: files include one another too deeply")
    func long(_ count: Int) -> (String) -> [UInt8]? {
      { path in
        path == "a"
          ? Array("include b;".utf8) : [UInt8](repeating: UInt8(ascii: "#"), count: count - 10)
      }
    }
    #expect(try files("a", long(8 << 20)).isEmpty)
    #expect(error("a", long(8 << 20 + 1)) == "b:1: the configuration is too large")
    #expect(error("a", { _ in nil }) == "a:1: there is no such file")
    // A name without a slash at its start is beside the main file; a pattern may stand for no file.
    for (main, written, path) in [
      ("/etc/a", "b", "/etc/b"), ("a", "b", "b"), ("x/a", "b/c", "x/b/c"), ("/etc/a", "/b", "/b"),
    ] {
      #expect(
        error(main) { $0 == main ? Array("\ninclude \(written);".utf8) : nil }
          == "\(main):2: there is no file \(path)")
    }
    for pattern in ["*", "b?", "[b]"] {
      #expect(try files("a") { $0 == "a" ? Array("include \(pattern);".utf8) : nil }.isEmpty)
    }
    for other in ["include;", "include a b;", "include a {}"] {
      #expect(try files("a") { $0 == "a" ? Array(other.utf8) : nil }.map(\.name) == ["include"])
    }
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
