// SPDX-License-Identifier: Apache-2.0

import ProofModel
import Testing

@testable import ProofRequest

/// The parts of a request's first line: the method, the authority, the path and the query.
@Suite struct TargetTests {
  private static func head(_ target: String) throws(RequestFormatError) -> RequestHead {
    try RequestHead(method: "GET", scheme: .https, authority: "a.example", target: target)
  }

  /// RFC 9110, section 9.2.1.
  @Test("Four methods are safe, in upper case, and no other is")
  func safe() throws {
    for (method, isSafe) in [
      ("GET", true), ("HEAD", true), ("OPTIONS", true), ("TRACE", true), ("POST", false),
      ("PUT", false), ("DELETE", false), ("PATCH", false), ("get", false), ("HEADS", false),
    ] {
      let head = try RequestHead(method: method, url: "https://a.example/")
      #expect(head.isSafe == isSafe, "\(method)")
    }
  }

  /// docs/REQUESTS.md, *Coverage of each form*.
  @Test("A request without a digest is one of GET or HEAD")
  func digests() throws {
    for (method, refusal) in [
      ("GET", nil), ("HEAD", nil), ("OPTIONS", .uncoveredBody), ("TRACE", .uncoveredBody),
      ("POST", .uncoveredBody), ("DELETE", .uncoveredBody), ("get", .uncoveredBody),
    ] as [(String, RequestRefusal?)] {
      let head = try RequestHead(method: method, url: "https://a.example/")
      let found: RequestRefusal?
      do throws(RequestRefusal) {
        try StandardForm().check(head)
        found = nil
      } catch { found = error }
      #expect(found == refusal, "\(method)")
    }
  }

  @Test("A target begins with a slash and has visible ASCII without a number sign")
  func characters() {
    for byte in UInt8(0)..<0x80 {
      let target = "/" + String(Unicode.Scalar(byte)) + "a"
      let isTaken = byte >= 0x21 && byte <= 0x7E && byte != 0x23
      if isTaken {
        #expect((try? Self.head(target))?.target == target, "\(byte)")
      } else {
        #expect(throws: RequestFormatError.badTarget(target)) { try Self.head(target) }
      }
    }
    for target in ["", "a", "?a", "*", "/é"] {
      #expect(throws: RequestFormatError.badTarget(target)) { try Self.head(target) }
    }
  }

  @Test("The query begins at the first question mark")
  func queries() throws {
    for (target, path, query) in [
      ("/", "/", nil), ("/?", "/", "?"), ("/a?b?c", "/a", "?b?c"), ("/a/b?c=/d", "/a/b", "?c=/d"),
    ] as [(String, Substring, Substring?)] {
      let head = try Self.head(target)
      #expect(head.path == path && head.query == query, "\(target)")
    }
  }

  @Test("A URL is http or https, and its authority ends at a slash, a question mark or a fragment")
  func urls() throws {
    for (url, scheme, authority, target) in [
      ("https://a.example", .https, "a.example", "/"),
      ("HTTP://A.example:80/b?c", .http, "a.example", "/b?c"),
      ("http://a.example:443/", .http, "a.example:443", "/"),
      ("https://a.example:80?c=:/d", .https, "a.example:80", "/?c=:/d"),
    ] as [(String, RequestHead.Scheme, String, String)] {
      let head = try RequestHead(method: "GET", url: url)
      #expect(head.scheme == scheme && head.authority == authority && head.target == target)
    }
    for url in ["", "https", "https:", "https:/", "https:/a", "ftp://a.example/", "//a", "x://a"] {
      #expect(throws: RequestFormatError.badURL(url)) { try RequestHead(method: "GET", url: url) }
    }
    #expect(throws: RequestFormatError.badAuthority("")) {
      try RequestHead(method: "GET", url: "https:///a")
    }
    #expect(throws: RequestFormatError.badTarget("/#b")) {
      try RequestHead(method: "GET", url: "https://a.example#b")
    }
  }

  @Test("A host has labels of letters, digits, hyphens and low lines, or an address in brackets")
  func hosts() {
    let hosts: [(String, String?)] = [
      ("a", "a"), ("A-Z_09.b", "a-z_09.b"), ("a.", "a"), ("A.", "a"), ("a..", nil), (".", nil),
      ("a..b", nil), (".a", nil), ("A..B", nil), ("", nil), (":", nil), (":80", nil),
      ("a b", nil), ("a@b", nil), ("a/b", nil), ("é", nil), ("127.0.0.1", "127.0.0.1"),
      ("a.:80", "a:80"), ("a:", nil), ("a:8x", nil), ("a:80:80", nil), ("a..:80", nil),
      ("[::FFFF:1.2.3.4]", "[::ffff:1.2.3.4]"), ("[2001:db8::9]:80", "[2001:db8::9]:80"),
      ("[::1]:443", "[::1]"), ("[::1]:", nil), ("[::1", nil), ("[::1]80", nil), ("[::1].", nil),
      ("[::g]", nil), ("[::`]", nil), ("[::/]", nil),
    ]
    for (host, expected) in hosts {
      #expect(Authority.normalised(host, .https) == expected, "\(host)")
    }
    for byte in UInt8(0)..<0x80 {
      let character = String(Unicode.Scalar(byte))
      let isLabel = "abcdefghijklmnopqrstuvwxyz0123456789-_.".contains(character.lowercased())
      #expect((Authority.normalised("a\(character)b", .https) != nil) == isLabel, "\(byte)")
    }
  }

  @Test("Each ambiguous spelling of a target is found, and its neighbours are not")
  func spellings() throws {
    let targets: [(String, TargetRule)] = [
      ("/", []), ("/a", []), ("/a/", []), ("/a/b/", []), ("//", .doubleSlash),
      ("/a//", .doubleSlash),
      ("/.", .dotSegment), ("/..", .dotSegment), ("/...", []), ("/.a", []), ("/a.", []),
      ("/..a/b", []), ("/a/.;x=1/b", .dotSegment), ("/a/..;x/b", .dotSegment),
      ("/.;.", .dotSegment),
      ("/;x/b", []), ("/;./b", []), ("/;../b", []), ("/a;..", []), ("/...;x", []),
      ("/.;x//", [.dotSegment, .doubleSlash]),
      ("/%2E", .dotSegment), ("/.%2e", .dotSegment), ("/%2e%2e%2e", []), ("/%2ea", []),
      ("/%2F", .encodedSlash), ("/%5c", .encodedSlash), ("/\\", .backslash), ("/%00", .encodedZero),
      ("/%01", []), ("/%0", .brokenEscape), ("/%", .brokenEscape), ("/%g0", .brokenEscape),
      ("/%0g", .brokenEscape), ("/%%00", [.brokenEscape, .encodedZero]), ("/%4?1", .brokenEscape),
      ("/%?41", .brokenEscape), ("/?", .emptyQuery), ("/a?", .emptyQuery), ("/??", []),
      ("/?%00", .encodedZero), ("/?%01", []), ("/?%", .brokenEscape), ("/?%4", .brokenEscape),
      ("/?%41", []), ("/?%%00", [.brokenEscape, .encodedZero]), ("/?%2f%5C/..//\\", []),
      ("/?a%0g", .brokenEscape), ("/?%00%", [.brokenEscape, .encodedZero]),
    ]
    for (target, found) in targets {
      #expect(TargetRule.found(in: try Self.head(target)) == found, "\(target)")
    }
  }
}
