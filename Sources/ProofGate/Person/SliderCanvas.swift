// SPDX-License-Identifier: Apache-2.0

internal import ProofBytes
internal import ProofModel

/// Draws the pictures of a slider: a landscape of noise and discs, a gap with the outline of the piece, and dents of
/// other outlines.
struct SliderCanvas {
  private typealias Puzzle = SliderPuzzle

  /// Indices of one colour family: its shades from dark to light.
  private static let shades = 63
  private static let families = 4
  /// The index of white and of black, and the one of clear pixels, after the families.
  private static let white: UInt8 = 252
  private static let black: UInt8 = 253
  private static let clear: UInt8 = 255

  private var random: SplitMix64
  private var shade: [UInt8]
  private var family: [UInt8]
  private let palette: [PNGPicture.Colour]
  private let outline: PieceOutline

  /// Draws the landscape of a seed.
  init(seed: Digest) {
    let bytes = seed.bytes
    random = SplitMix64(bytes[0..<8])
    outline = PieceOutline(bytes[8])
    let count = Puzzle.width * Puzzle.height
    shade = [UInt8](repeating: 0, count: count)
    family = [UInt8](repeating: 0, count: count)
    palette = Self.palette(&random)
    drawHills()
    for _ in 0..<6 { drawDisc() }
    addGrain()
  }

  // MARK: The landscape

  private static func palette(_ random: inout SplitMix64) -> [PNGPicture.Colour] {
    var colours: [PNGPicture.Colour] = []
    for _ in 0..<families {
      let (red, green, blue) = (random.below(150), random.below(150), random.below(150))
      for step in 0..<shades {
        // From a dark tone of the colour to a light one.
        let light = 40 + step * 190 / shades
        let mixed = [red, green, blue].map { UInt8(min(255, light * 2 / 3 + $0 * light / 400)) }
        colours.append(.init(red: mixed[0], green: mixed[1], blue: mixed[2]))
      }
    }
    colours.append(.init(red: 255, green: 255, blue: 255))
    colours += [PNGPicture.Colour](
      repeating: .init(red: 0, green: 0, blue: 0), count: 256 - colours.count)
    return colours
  }

  /// Value noise of three grid widths for the shade, and of one for the colour.
  private mutating func drawHills() {
    for (grid, weight) in [(56, 24), (28, 14), (14, 8)] {
      let columns = Puzzle.width / grid + 2
      let knots = (0..<columns * (Puzzle.height / grid + 2)).map { _ in random.below(256) }
      for y in 0..<Puzzle.height {
        let (row, v) = (y / grid * columns, y % grid)
        for x in 0..<Puzzle.width {
          let (knot, u) = (row + x / grid, x % grid)
          let above = knots[knot] * (grid - u) + knots[knot + 1] * u
          let below = knots[knot + columns] * (grid - u) + knots[knot + columns + 1] * u
          let value = (above * (grid - v) + below * v) / (grid * grid)
          shade[y * Puzzle.width + x] += UInt8(value * weight / 256)
          if grid == 56 { family[y * Puzzle.width + x] = UInt8(value * Self.families / 256) }
        }
      }
    }
  }

  private mutating func drawDisc() {
    let (x, y) = (random.below(Puzzle.width), random.below(Puzzle.height))
    let (radius, colour) = (8 + random.below(26), UInt8(random.below(Self.families)))
    let change = random.below(24) - 12
    for row in max(0, y - radius)..<min(Puzzle.height, y + radius) {
      for column in max(0, x - radius)..<min(Puzzle.width, x + radius) {
        let (dx, dy) = (column - x, row - y)
        guard dx * dx + dy * dy < radius * radius else { continue }
        let at = row * Puzzle.width + column
        family[at] = colour
        shade[at] = Self.clamped(Int(shade[at]) + change)
      }
    }
  }

  private mutating func addGrain() {
    for at in shade.indices { shade[at] = Self.clamped(Int(shade[at]) + random.below(9) - 4 + 6) }
  }

  private static func clamped(_ value: Int) -> UInt8 { UInt8(max(0, min(shades - 1, value))) }

  // MARK: Gap and piece

  /// Darkens the gap, whose grain is new, so that its pixels are not those of the piece. Three dents of other outlines
  /// lie elsewhere.
  mutating func cutGap(atX x: Int, y: Int) {
    var dents: [(x: Int, y: Int)] = [(x, y)]
    for turn in 1...3 {
      let other = outline.other(turn)
      let spot = (
        x: 4 + random.below(Puzzle.width - Puzzle.side - 8),
        y: 4 + random.below(Puzzle.height - Puzzle.side - 8)
      )
      let isFree = dents.allSatisfy {
        abs($0.x - spot.x) >= Puzzle.side || abs($0.y - spot.y) >= Puzzle.side
      }
      guard isFree else { continue }
      dents.append(spot)
      dent(other, spot.x, spot.y)
    }
    dent(outline, x, y)
  }

  private mutating func dent(_ outline: PieceOutline, _ x: Int, _ y: Int) {
    for row in 0..<Puzzle.side {
      for column in 0..<Puzzle.side where outline.contains(column, row) {
        let at = (y + row) * Puzzle.width + x + column
        let isEdge = outline.isEdge(column, row)
        shade[at] =
          isEdge
          ? Self.clamped(58 + random.below(5))
          : Self.clamped(
            Int(shade[at]) / 5 + random.below(9))
      }
    }
  }

  private func index(_ at: Int) -> UInt8 { family[at] * UInt8(Self.shades) + shade[at] }

  /// The landscape as a picture.
  func picture(hasRuler: Bool) -> PNGPicture {
    var pixels = shade.indices.map(index)
    if hasRuler { pixels += SliderRuler.pixels(white: Self.white, black: Self.black) }
    return PNGPicture(
      width: Puzzle.width, height: Puzzle.height + (hasRuler ? Puzzle.rulerHeight : 0),
      pixels: pixels, palette: palette, clear: nil)
  }

  /// The part of the landscape under an outline.
  func piece(atX x: Int, y: Int) -> PNGPicture {
    var pixels = [UInt8](repeating: Self.clear, count: Puzzle.side * Puzzle.height)
    for row in 0..<Puzzle.side {
      for column in 0..<Puzzle.side where outline.contains(column, row) {
        let isEdge = outline.isEdge(column, row)
        pixels[(y + row) * Puzzle.side + column] =
          isEdge ? Self.white : index((y + row) * Puzzle.width + x + column)
      }
    }
    return PNGPicture(
      width: Puzzle.side, height: Puzzle.height, pixels: pixels, palette: palette,
      clear: Self.clear)
  }
}

extension SplitMix64 {
  /// The numbers of a picture. They hide nothing: their seed has a key of its own.
  fileprivate init(_ seed: ArraySlice<UInt8>) {
    self.init(seed: seed.reduce(0) { $0 << 8 | UInt64($1) })
  }

  fileprivate mutating func below(_ bound: Int) -> Int { Int(next() >> 33) % bound }
}
