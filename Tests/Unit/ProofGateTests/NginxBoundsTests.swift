// SPDX-License-Identifier: Apache-2.0

import Testing

@testable import ProofGate

/// Beginnings of nginx configurations, Lua texts that end early, and names in findings.
@Suite struct NginxBoundsTests {
  private static func read(_ text: String) -> [NginxDirective]? {
    try? NginxReader.directives(of: Array(text.utf8), named: "a.conf")
  }

  private static let whole = #"""
    a 'b\'c' "d\\" e\t; # f
    map $x ${y}z { default 1; }
    x_by_lua_block { -- }
    local a = '\'}' .. "}\"" b = [[ } ]] c = [==[ ]=] } ]==] d = a[1] - 2 --[[ } ]]
    --[=[ } ]] ]=] }
    g;
    """#

  @Test("Each beginning of a file is read or refused, and counts no more directives")
  func beginnings() throws {
    let bytes = Array(Self.whole.utf8)
    let whole = try NginxReader.directives(of: bytes, named: "a.conf")
    #expect(whole.map(\.name) == ["a", "map", "x_by_lua_block", "g"])
    #expect(whole.map(\.place.line) == [1, 2, 3, 6])
    for count in 0..<bytes.count {
      guard
        let read = try? NginxReader.directives(of: Array(bytes[..<count]), named: "a.conf")
      else { continue }
      #expect(whole.starts(with: read), "\(count)")
    }
  }

  @Test(
    "Lua that ends in any of its marks is refused",
    arguments: [
      "", "-", "--", "--[", "--[[", "--[=", "'", "\"\\", "'\\", "[", "[[", "[=", "[=[", "[[ ]",
      "[=[ ]=", "[==[ ]=", "a[b", "{", "\\",
    ])
  func luaEnds(_ code: String) {
    #expect(throws: NginxSyntaxError.self) {
      try NginxReader.directives(of: Array("x_by_lua_block {\(code)".utf8), named: "a.conf")
    }
  }

  @Test(
    "A long bracket of Lua ends with its own level, and the code behind it goes on",
    arguments: [
      "x = [=[]=]", "x = [[]]", "x = [==[]==]", "x = [=[]]=]", "x = [=[]==]]=]", "x = [[]=]]]",
      "--[=[]=]", "--[[]]", "--[==[]=]]==]", "x = [[\n]]", "x = '\\\n'", "x = 1 -\n2", "x = a--\n",
    ])
  func brackets(_ code: String) throws {
    let read = try #require(Self.read("x_by_lua_block {\(code)}\nb;"))
    #expect(read.map(\.name) == ["x_by_lua_block", "b"])
    #expect(read[1].place.line == 2 + code.count { $0 == "\n" })
    // A brace of the code itself ends the block, so another one behind it is too many.
    #expect(Self.read("x_by_lua_block {\(code)}}") == nil)
  }

  @Test("A place shows each character of a file's name that a terminal does not obey")
  func names() {
    let file = "a b\u{1f}~\u{0}\u{7f}!é\u{85}\u{9b}\u{a0}\u{2028}\u{2029}\u{202e}.conf"
    let place = NginxDirective.Place(file: file, line: 1)
    #expect(place.description == "a b?~??!é??\u{a0}???.conf:1")
  }

  @Test("A prefix of one character answers a question, and the longer one before it")
  func prefixes() throws {
    func kinds(_ locations: String) throws -> [NginxFinding.Kind] {
      let text = "server { location = /x { auth_request /gate; } \(locations) }"
      let files = try NginxFiles("a.conf") { name throws(NginxSyntaxError) in
        [NginxFiles.Part(name: name, bytes: Array(text.utf8))]
      }
      return NginxCheck.findings(in: files).map(\.kind).filter { $0 == .noEndpoint }
    }
    let inside = "{ internal; proxy_pass http://127.0.0.1:1/judge; }"
    #expect(try kinds("location / \(inside)").isEmpty)
    #expect(try kinds("location /g \(inside)").isEmpty)
    #expect(try kinds("location / { proxy_pass http://a; }") == [.noEndpoint])
    #expect(
      try kinds("location / \(inside) location /g { proxy_pass http://a; }") == [.noEndpoint])
    #expect(try kinds("location / { proxy_pass http://a; } location /g \(inside)").isEmpty)
  }

  @Test("A finding shows names as they are where a terminal does not obey them")
  func findings() throws {
    let files = try NginxFiles("a.conf") { name throws(NginxSyntaxError) in
      let text = "server { auth_request \"/a b~!\u{1f}\u{7f}é\u{85}\u{202e}\"; }"
      return [NginxFiles.Part(name: name, bytes: Array(text.utf8))]
    }
    let found = NginxCheck.findings(in: files)
    #expect(found.first?.problem.hasSuffix(" add location = /a b~!??é??") == true)
  }
}
