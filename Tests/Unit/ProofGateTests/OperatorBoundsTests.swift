// SPDX-License-Identifier: Apache-2.0

import ProofModel
import Testing

@testable import ProofBackend
@testable import ProofGate

/// Names, rooms and places, each bound from both sides.
@Suite struct OperatorBoundsTests {
  @Test("The name of an emergency token has letters, digits, hyphens, dots and underscores alone")
  func names() {
    let allowed = Set(
      "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-._".utf8)
    for byte in 0...0x7F as ClosedRange<UInt8> {
      let name = String(Unicode.Scalar(byte))
      #expect(BypassFile.isName(name) == allowed.contains(byte), "\(byte)")
    }
    #expect(!BypassFile.isName("é") && !BypassFile.isName(""))
    #expect(BypassFile.isName(String(repeating: "n", count: 32)))
    #expect(!BypassFile.isName(String(repeating: "n", count: 33)))
  }

  @Test("A share of all needs no client, and one of none takes no client")
  func shares() throws {
    let (none, all) = (try #require(Rollout(0)), try #require(Rollout(100)))
    for number in 0..<500 {
      #expect(!none.takes(handle: "h\(number)", address: nil, rule: "a"))
      #expect(all.takes(handle: "h\(number)", address: nil, rule: "a"))
    }
  }

  @Test("Errors about a file as a whole name no line")
  func lines() throws {
    let text = "route a\nhost b.example\nneed proof event 7\nbody gate"
    let file = try RouteFile(Array(text.utf8))
    var errors: [RouteFileError?] = []
    errors.append(#expect(throws: RouteFileError.self) { try file.check(hosts: []) })
    errors.append(#expect(throws: RouteFileError.self) { try file.check(style: .forwarded) })
    errors.append(#expect(throws: RouteFileError.self) { try file.check(events: nil) })
    errors.append(#expect(throws: RouteFileError.self) { try file.check(events: [8...9]) })
    for error in errors {
      #expect(error?.line == 0 && error?.description.hasPrefix("route a ") == true)
    }
    for text in ["", "\n\n# a"] {
      let error = #expect(throws: RouteFileError.self) { try RouteFile(Array(text.utf8)) }
      #expect(error?.line == 1)
    }
  }

  @Test("The room for persons has 65,536 cells of 24 bytes")
  func persons() {
    #expect(PersonBounds.byteCount == 1_572_864)
  }

  @Test("The sum of a picture's data is that of zlib where it begins anew")
  func sums() {
    #expect(PNGPicture.adler32([]) == 1)
    #expect(PNGPicture.adler32([UInt8](repeating: 255, count: 256) + [239]) == 0x07FF_FFF0)
    #expect(PNGPicture.adler32([UInt8](repeating: 255, count: 256) + [240]) == 0x0800_0000)
    #expect(PNGPicture.adler32([UInt8](repeating: 255, count: 256) + [241]) == 0x0801_0001)
    #expect(PNGPicture.adler32([UInt8](repeating: 0, count: 65_520)) == 0xFFF0_0001)
    #expect(PNGPicture.adler32([UInt8](repeating: 0, count: 65_521)) == 0x0000_0001)
    #expect(PNGPicture.adler32([UInt8](repeating: 0, count: 65_522)) == 0x0001_0001)
  }

  /// docs/SPEC.md, section 16, *Answer of kind person*.
  @Test("The place of a gap follows from eight bytes of an HMAC, and its mark from sixteen")
  func places() throws {
    let site = try Site()
    let keys = site.own[.challenge]
    let desk = try site.challenges()
    for number in 0..<50 {
      let challenge = desk.set(.person, for: try site.subject())
      let puzzle = try #require(SliderPuzzle(challenge, keys))
      let bytes = keys.active.mac("pfc1.person-gap.", challenge.bytes).bytes
      func word(_ at: Int) -> Int {
        Int(bytes[at]) + Int(bytes[at + 1]) << 8 + Int(bytes[at + 2]) << 16
          + Int(bytes[at + 3]) << 24
      }
      #expect(puzzle.place == 48 + word(0) % 185 && puzzle.top == 4 + word(4) % 69)
      let mark = keys.active.mac("pfc1.person-seen", challenge.bytes).bytes.prefix(16)
      #expect(puzzle.mark == Base64.encode(Array(mark), .url))
      #expect(puzzle.isMark(puzzle.mark[...]))
      for wrong in [String(puzzle.mark.dropLast()), puzzle.mark + "A"] {
        #expect(!puzzle.isMark(wrong[...]))
      }
      guard number < 3 else { continue }
      let drawing = keys.active.mac("pfc1.person-draw", challenge.bytes)
      var canvas = SliderCanvas(seed: drawing)
      canvas.cutGap(atX: puzzle.place, y: puzzle.top)
      #expect(canvas.picture(hasRuler: false).bytes() == puzzle.pictures().picture)
    }
  }
}
