// SPDX-License-Identifier: Apache-2.0

import ProofBackend
import ProofModel
import SeededRandom
import Testing

@testable import ProofGate

/// The slider of a person's challenge: pictures that tell the place by their pixels alone, bounds, and its attacker.
@Suite struct PersonTests {
  private let site: Site
  private let keys: GateKeySet

  init() throws {
    site = try Site()
    keys = site.own[.challenge]
  }

  private func puzzle() throws -> SliderPuzzle {
    let challenge = try site.challenges().set(.person, for: site.subject())
    return try #require(SliderPuzzle(challenge, keys))
  }

  @Test("A picture's data end with their sum, as zlib counts it")
  func sum() {
    #expect(PNGPicture.adler32(Array("Wikipedia".utf8)) == 0x11E6_0398)
    #expect(PNGPicture.adler32([UInt8](repeating: 255, count: 100_000)) == 0x149A_302C)
  }

  @Test("The place follows from the gate's key and the id, and another key or id has another one")
  func places() throws {
    let desk = try site.challenges()
    let subject = try site.subject()
    let other = try Site.own(Site().id, [(1, 0x77)])[.challenge]
    var (places, others, tops) = (Set<Int>(), 0, Set<Int>())
    for _ in 0..<400 {
      let challenge = desk.set(.person, for: subject)
      let puzzle = try #require(SliderPuzzle(challenge, keys))
      #expect(puzzle.place == SliderPuzzle(challenge, keys)?.place)
      #expect(SliderPuzzle.places.contains(puzzle.place))
      if SliderPuzzle(challenge, other)?.place != puzzle.place { others += 1 }
      places.insert(puzzle.place)
      tops.insert(puzzle.top)
    }
    #expect(places.count > 120 && tops.count > 50 && others > 350)
    #expect(SliderPuzzle(desk.set(.work, level: 3, for: subject), keys) == nil)
    let dropped = try Site.own(site.id, [(2, 0x5a)])[.challenge]
    #expect(SliderPuzzle(desk.set(.person, for: subject), dropped) == nil)
  }

  @Test("Every picture has the same length and the same chunks, wherever the gap is")
  func lengths() throws {
    var (lengths, heads) = (Set<[Int]>(), Set<[UInt8]>())
    for _ in 0..<6 {
      let (picture, piece) = try puzzle().pictures()
      lengths.insert([picture.count, piece.count])
      heads.insert(Array(picture[..<33]) + Array(piece[..<33]))
    }
    #expect(lengths.count == 1 && heads.count == 1)
  }

  @Test(
    "Two ids have other landscapes, and an id has always the same one, so that its noise cannot be averaged"
  )
  func drawing() throws {
    let (one, two) = (try puzzle(), try puzzle())
    #expect(one.pictures().picture == one.pictures().picture)
    #expect(one.pictures().piece != two.pictures().piece)
    let ruler = one.pictures(hasRuler: true)
    #expect(ruler.piece == one.pictures().piece)
    let more = SliderPuzzle.rulerHeight * (SliderPuzzle.width + 1)
    #expect(ruler.picture.count == one.pictures().picture.count + more)
  }

  @Test("The pixels of the gap are not those of the piece")
  func gap() throws {
    let puzzle = try puzzle()
    let (picture, piece) = puzzle.pictures()
    let (whole, part) = (
      Self.rows(picture, SliderPuzzle.width), Self.rows(piece, SliderPuzzle.side)
    )
    var (same, all) = (0, 0)
    for y in 0..<SliderPuzzle.height {
      for x in 0..<SliderPuzzle.side where part[y][x] != 255 {
        all += 1
        if whole[y][puzzle.place + x] == part[y][x] { same += 1 }
      }
    }
    // The smallest outline has 348 pixels: hollows on all four sides.
    #expect(all >= 348 && same * 8 < all)
  }

  @Test("An answer counts within five pixels, with the mark of its picture")
  func answers() throws {
    let (puzzle, other) = (try puzzle(), try puzzle())
    let right = (0...SliderPuzzle.width).filter(puzzle.isRight)
    #expect(right == Array(puzzle.place - 5...puzzle.place + 5))
    #expect(puzzle.isMark(puzzle.mark[...]) && !puzzle.isMark(other.mark[...]))
    #expect(!puzzle.isMark("") && !puzzle.isMark(flipped(puzzle.mark, bit: 0)[...]))
    for reading in 0...140 {
      #expect(abs(SliderRuler.place(of: reading) + SliderPuzzle.side / 2 - reading * 2) == 0)
    }
  }

  @Test("Tries and pictures of a client are bounded by the hour, in a fixed room")
  func bounds() {
    let bounds = PersonBounds()
    let (one, two) = (ChallengeClient.address("192.0.2.1"), ChallengeClient.address("192.0.2.2"))
    for turn in 0..<14 { #expect(bounds.takeTry(of: one, at: 1000) == (turn < 10)) }
    #expect(bounds.takeTry(of: two, at: 1000) && !bounds.takeTry(of: one, at: 4599))
    #expect(bounds.takeTry(of: one, at: 4600))
    for turn in 0..<40 {
      #expect(bounds.takePicture(of: two, hasWorked: true, at: 1000 + UInt64(turn)) == (turn < 30))
    }
    // 64 bits of an IPv6 address are one client.
    for host in 0..<12 {
      let client = ChallengeClient.address("2001:db8:1:2::\(host + 1)")
      #expect(bounds.takeTry(of: client, at: 1000) == (host < 10))
    }
    #expect((1 << 16...2 << 20).contains(PersonBounds.byteCount))
  }

  private static func address(_ number: Int) -> ChallengeClient {
    .address("10.\(number >> 16).\(number >> 8 & 255).\(number & 255)")
  }

  private static func single() -> PersonBounds {
    var settings = PersonBounds.Settings()
    settings.triesOfClient = 1
    return PersonBounds(settings)
  }

  @Test("The room holds the hours of nearly all of 30,000 clients")
  func room() {
    let bounds = Self.single()
    for number in 0..<30_000 { #expect(bounds.takeTry(of: Self.address(number), at: 1000)) }
    // Few of the 8,192 rows, which have eight places each, get more than eight clients.
    let forgotten = (0..<30_000).count { bounds.takeTry(of: Self.address($0), at: 1001) }
    #expect(forgotten < 1_000)
  }

  @Test("A flood of clients forgets those that have used least, and those whose hour is over")
  func flood() {
    var settings = PersonBounds.Settings()
    settings.worked = OpeningBudget.Rate(burst: 1_000_000, perSecond: 0)
    let bounds = PersonBounds(settings)
    let (tries, pictures) = ((0..<50).map(Self.address), (50..<100).map(Self.address))
    for client in tries { for _ in 1...10 { #expect(bounds.takeTry(of: client, at: 9)) } }
    for client in pictures {
      for _ in 1...30 { #expect(bounds.takePicture(of: client, hasWorked: true, at: 9)) }
    }
    for number in 1_000..<200_000 { #expect(bounds.takeTry(of: Self.address(number), at: 3608)) }
    for client in tries { #expect(!bounds.takeTry(of: client, at: 3608)) }
    for client in pictures {
      #expect(!bounds.takePicture(of: client, hasWorked: true, at: 3608))
    }
    // Their hours are over, and those of the flood are not.
    for client in tries + pictures { #expect(bounds.takeTry(of: client, at: 3609)) }
  }

  @Test("A picture that was refused for all together is none of its client's")
  func refusedPicture() {
    var settings = PersonBounds.Settings()
    settings.picturesOfClient = 1
    settings.strangers = OpeningBudget.Rate(burst: 1, perSecond: 1)
    let bounds = PersonBounds(settings)
    let (one, two) = (Self.address(1), Self.address(2))
    #expect(bounds.takePicture(of: one, hasWorked: false, at: 9))
    #expect(!bounds.takePicture(of: two, hasWorked: false, at: 9))
    #expect(bounds.takePicture(of: two, hasWorked: true, at: 9))
    #expect(!bounds.takePicture(of: two, hasWorked: true, at: 9))
    // Tries and pictures are counted apart.
    #expect(bounds.takeTry(of: two, at: 9))
    let defaults = PersonBounds().settings
    #expect(defaults.triesOfSession == 3 && defaults.triesOfClient == 10)
    #expect(defaults.picturesOfClient == 30)
  }

  @Test("A flood without work uses up its own budget, and leaves the one of those who worked")
  func budgets() {
    let bounds = PersonBounds()
    func client(_ number: Int) -> ChallengeClient {
      .address("10.0.\(number / 250).\(number % 250)")
    }
    let strangers = (0..<500).filter { bounds.takePicture(of: client($0), hasWorked: false, at: 9) }
    #expect(strangers.count == 20)
    #expect(bounds.takePicture(of: client(600), hasWorked: true, at: 9))
    let worked = (1000..<1500).filter { bounds.takePicture(of: client($0), hasWorked: true, at: 9) }
    #expect(worked.count == 59)
  }

  // MARK: The attacker

  @Test("A simple program finds the gap by its pixels, which docs/PAGE.md says")
  func attacker() throws {
    var right = 0
    for _ in 0..<12 {
      let puzzle = try puzzle()
      let (picture, piece) = puzzle.pictures()
      if puzzle.isRight(Self.found(picture, piece)) { right += 1 }
    }
    #expect(right >= 10)
  }

  /// The place where the picture is lightest along the piece's edge, and darkest inside.
  private static func found(_ picture: [UInt8], _ piece: [UInt8]) -> Int {
    let (whole, part) = (rows(picture, SliderPuzzle.width), rows(piece, SliderPuzzle.side))
    func isIn(_ x: Int, _ y: Int) -> Bool {
      part.indices.contains(y) && part[0].indices.contains(x) && part[y][x] != 255
    }
    var (edge, core): ([(Int, Int)], [(Int, Int)]) = ([], [])
    for y in part.indices {
      for x in part[0].indices where isIn(x, y) {
        let isInside = isIn(x - 1, y) && isIn(x + 1, y) && isIn(x, y - 1) && isIn(x, y + 1)
        if isInside { core.append((x, y)) } else { edge.append((x, y)) }
      }
    }
    func mean(_ points: [(Int, Int)], _ place: Int) -> Double {
      let sum = points.reduce(0) { $0 + Int(whole[$1.1][$1.0 + place] % 63) }
      return Double(sum) / Double(points.count)
    }
    let places = 0...(SliderPuzzle.width - SliderPuzzle.side)
    return places.max { mean(edge, $0) - mean(core, $0) < mean(edge, $1) - mean(core, $1) } ?? 0
  }

  /// The rows of palette indices of a stored PNG.
  private static func rows(_ file: [UInt8], _ width: Int) -> [[UInt8]] {
    var (at, stream) = (8, [UInt8]())
    while at < file.count {
      let size = file[at..<at + 4].reduce(0) { $0 << 8 | Int($1) }
      if file[at + 4..<at + 8].elementsEqual("IDAT".utf8) {
        stream = Array(file[at + 8..<at + 8 + size])
      }
      at += 12 + size
    }
    // Two bytes of zlib, five of the one stored block.
    let data = stream[7..<stream.count - 4]
    return stride(from: data.startIndex, to: data.endIndex, by: width + 1).map {
      Array(data[$0 + 1..<$0 + 1 + width])
    }
  }
}
