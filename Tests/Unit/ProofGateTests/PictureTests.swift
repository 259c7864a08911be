// SPDX-License-Identifier: Apache-2.0

import ProofBackend
import ProofModel
import Testing

@testable import ProofGate

/// The pictures of a slider are those of the second implementation,
/// `Tests/Vectors/proofspec/picture.py`, byte by byte.
///
/// Gates of two versions behind one proxy draw one picture: the person sees that of one gate, and
/// another one judges.
@Suite struct PictureTests {
  private static func digest(_ bytes: [UInt8]) -> String {
    Hexadecimal.encode(Digest(hashing: bytes).bytes)
  }

  private static let drawings: [(seed: UInt8, x: Int, y: Int, hasRuler: Bool, [String])] = [
    (
      1, 48, 4, false,
      [
        "bf0cfe69b0917c0f1be60a63070074d4752f162dd96aa61cbbe737f1db658e6a",
        "4eccde886ea7a6d3d36da9b10f7832b426524900367480c438a317c04ee4f004",
      ]
    ),
    (
      2, 232, 72, true,
      [
        "6697242b71566a4e770d5d35dccb4528c0f34202e09b052d11b8bfb094cb9ed0",
        "6deb735da5f67d23528c14b0d3b9df9651507040b2e69728a39ec1db78174ab0",
      ]
    ),
    (
      3, 100, 30, false,
      [
        "466c98e900125ae72cc67270db0a9addfe6e4adcdc8cdf4d8000fa210f965a04",
        "d5f196ebc12be1a0cdd4fb9560dfaf16757d42ddfbec1e4b06c79f7c897eca80",
      ]
    ),
    (
      4, 150, 60, true,
      [
        "664ce260b72acf741a452b8d085ef465c2e47be6cb301d15316d287cda20691c",
        "2da083e0d46b22ef6cff579e352fc870e7c9a6200ef1adc7654044b684322e79",
      ]
    ),
    (
      5, 77, 11, false,
      [
        "bdfdabf8cace8735718247d447e8cc076defd8b942b8f81b7992edf814dc9d12",
        "92cb9decbc83df7e0f184d3abe8822fb79de7bea4b0095b06d310d438a64027f",
      ]
    ),
    (
      6, 200, 50, true,
      [
        "b1fc325b8c63d0a2f6c6809b33d70a6b4cd3788ac3dd1e87bbc509222592339c",
        "a1d8ea727c283ce81cd528aa072400ca48bb1e10f58888525ba191f12f2fa6d0",
      ]
    ),
    // Shades beyond the lightest one.
    (
      67, 60, 70, false,
      [
        "f18a0ef7f0cddc993be09d87ef7d224b20e26863de8d02371d5461ce23885d74",
        "d1b2703e845e3fcab64dc3883dd9ad29e304cc36ba8c72f6fc769f02fae8fff4",
      ]
    ),
    // Shades beyond the darkest one, and a first dent that is just free: 44 pixels beside the gap.
    (
      7, 64, 51, true,
      [
        "19bfba549b4ea942c731221669f1a7c82b1d788ae7ea200df41da1b38e73edc3",
        "6a0238c89b5c0f434ef17c1ffd120d4c53118172e449b1d071a6fe0e5c1e8c84",
      ]
    ),
    // The same, and 44 pixels below the gap.
    (
      9, 52, 13, false,
      [
        "6e7039b643b47586caac0ff85c48818e5c04dd09409ee77b481a3ec692ac6271",
        "7e6b192ffb32e58a5425a8f652de1f4b49b2f069fd0ab530998f8bdf5782b49f",
      ]
    ),
  ]

  @Test("Landscape, gap, dents, ruler and piece of a seed are those of the second implementation")
  func drawings() {
    for (seed, x, y, hasRuler, digests) in Self.drawings {
      var canvas = SliderCanvas(seed: Digest(hashing: [seed]))
      let piece = canvas.piece(atX: x, y: y)
      canvas.cutGap(atX: x, y: y)
      let files = [canvas.picture(hasRuler: hasRuler).bytes(), piece.bytes()]
      #expect(files.map(Self.digest) == digests, "seed \(seed)")
    }
  }

  @Test("Each of the 81 outlines, and those of its dents, has the pixels and the edge it should")
  func outlines() {
    var bits: [UInt8] = []
    for number in 0..<81 as Range<UInt8> {
      let outline = PieceOutline(number)
      for one in [outline, outline.other(1), outline.other(2)] {
        for y in -1..<45 {
          for x in -1..<45 {
            let isIn = one.contains(x, y)
            bits += [isIn ? 1 : 0, isIn && one.isEdge(x, y) ? 1 : 0]
          }
        }
      }
    }
    #expect(
      Self.digest(bits) == "ea30cdcf758272bc19c95fb21e3b68e1755ab7f6df05d0255b34d38f3e4e70a4")
    // After the last one they begin anew.
    #expect(
      (0..<44).allSatisfy { PieceOutline(81).contains($0, 22) == PieceOutline(0).contains($0, 22) })
  }

  @Test("Data beyond 65,535 bytes stand in several stored blocks, and a clear colour is told")
  func blocks() {
    let palette = (0..<256).map {
      PNGPicture.Colour(red: UInt8($0), green: UInt8(255 - $0), blue: UInt8($0 / 2))
    }
    for (width, height, clear, digest) in [
      (254, 257, nil, "cc9261e25280f5ec83d5bf355c4d1f072db7676d818c3b64c25ff88f80fd12b6"),
      (255, 256, 0, "5c354bdbf878a8552978d9fc02ba774ec67092234f50e134c50aac991566b3cc"),
      (300, 300, 7, "de69497c21bba4edb9dfaa6e56d407ce4c77d20997343ac37e5ef35f465e8c77"),
    ] as [(Int, Int, UInt8?, String)] {
      let picture = PNGPicture(
        width: width, height: height, pixels: (0..<width * height).map { UInt8($0 % 251) },
        palette: palette, clear: clear)
      #expect(Self.digest(picture.bytes()) == digest, "\(width) × \(height)")
    }
  }

  @Test("The gap lies between pixel 48 and the right edge, 4 pixels from each other edge")
  func places() throws {
    #expect(SliderPuzzle.places == 48...232 && SliderRuler.top == 140)
    let site = try Site()
    let desk = try site.challenges()
    let subject = try site.subject()
    var (places, tops) = (Set<Int>(), Set<Int>())
    for _ in 0..<6_000 {
      let puzzle = try #require(
        SliderPuzzle(desk.set(.person, for: subject), site.own[.challenge]))
      places.insert(puzzle.place)
      tops.insert(puzzle.top)
    }
    // In one of 700 billion runs, 6,000 draws leave a place out.
    #expect(places == Set(48...232) && tops == Set(4...72))
  }

  @Test("An answer of a page is one of three words with a number of up to three digits")
  func texts() {
    let mark = String(repeating: "m", count: 22)
    let id = String(repeating: "i", count: 80)
    #expect(PersonAnswer("slider 7 \(mark)") == .slider(7, mark: mark))
    #expect(PersonAnswer("slider 279 \(mark)") == .slider(279, mark: mark))
    #expect(PersonAnswer("ruler 57 \(mark)") == .slider(92, mark: mark))
    #expect(PersonAnswer("ruler 0 \(mark)") == .slider(-22, mark: mark))
    #expect(PersonAnswer("work \(id) s") == .work(id: id, solution: "s"))
    let longest = String(repeating: "s", count: 7 * 56)
    #expect(PersonAnswer("work \(id) \(longest)") == .work(id: id, solution: longest))
    for bad in [
      "", "slider", "slider 7", "slider 7 \(mark) x", "slider 1234 \(mark)", "slider  \(mark)",
      "slider -7 \(mark)", "slider +7 \(mark)", "slider x \(mark)", "slider 7 \(mark)m",
      "slider 7 \(mark.dropLast())", "ruler x \(mark)", "ruler 7 \(mark)m",
      "ruler 7 \(mark.dropLast())",
      "ruler 1234 \(mark)", "work \(id) ", "work \(id)i s", "work \(id.dropLast()) s",
      "work \(id) \(longest)s", "word 7 \(mark)", "Slider 7 \(mark)",
    ] {
      #expect(PersonAnswer(bad) == nil, "\(bad)")
    }
  }
}
