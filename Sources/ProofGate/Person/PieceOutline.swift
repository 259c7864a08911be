// SPDX-License-Identifier: Apache-2.0

/// The outline of a piece in its square: a core, and on each side a knob, a hollow or nothing.
struct PieceOutline {
  private static let core = 9..<(SliderPuzzle.side - 9)
  private static let radius = 7

  /// For each side 1 for a knob, -1 for a hollow, 0 for nothing.
  private let sides: [Int]

  /// An outline by number, of 81.
  init(_ number: UInt8) {
    var rest = Int(number) % 81
    sides = (0..<4).map { _ in
      defer { rest /= 3 }
      return rest % 3 - 1
    }
  }

  private init(sides: [Int]) { self.sides = sides }

  /// An outline that differs on each side.
  func other(_ turn: Int) -> PieceOutline {
    PieceOutline(sides: sides.map { ($0 + 1 + turn % 2 + 1) % 3 - 1 })
  }

  /// Whether a pixel of the square belongs to the piece.
  func contains(_ x: Int, _ y: Int) -> Bool {
    guard (0..<SliderPuzzle.side).contains(x), (0..<SliderPuzzle.side).contains(y) else {
      return false
    }
    let (middle, low, high) = (
      SliderPuzzle.side / 2, Self.core.lowerBound, Self.core.upperBound - 1
    )
    var isInside = Self.core.contains(x) && Self.core.contains(y)
    for (side, knob) in zip(sides, [(low, middle), (middle, low), (high, middle), (middle, high)])
    where side != 0 {
      let (dx, dy) = (x - knob.0, y - knob.1)
      if dx * dx + dy * dy <= Self.radius * Self.radius { isInside = side > 0 }
    }
    return isInside
  }

  /// Whether a pixel of the piece has a neighbour that is not one.
  func isEdge(_ x: Int, _ y: Int) -> Bool {
    !contains(x - 1, y) || !contains(x + 1, y) || !contains(x, y - 1) || !contains(x, y + 1)
  }
}
