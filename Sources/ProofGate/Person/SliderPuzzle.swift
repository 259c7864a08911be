// SPDX-License-Identifier: Apache-2.0

internal import ProofBackend
internal import ProofModel

/// The slider of a challenge of kind ``ChallengeKind/person``: a picture with a gap, and the piece that fits into it.
///
/// Everything follows from the gate's key and the challenge's id, so the gate keeps nothing, and an id always shows the
/// same picture. Nothing that leaves the gate has the place of the gap but the pixels themselves: the key of the place
/// is not the key of the noise.
struct SliderPuzzle: Sendable {
  /// The size of the picture in pixels.
  static let width = 280
  static let height = 120
  /// The size of the square around the piece.
  static let side = 44
  /// The room below the picture for a ruler, for pages without script.
  static let rulerHeight = 16
  /// The places that the gap may have, by the left edge of its square.
  static let places = 48...(width - side - 4)
  /// How far an answer may be from the place.
  static let tolerance = 5

  private static let placeLabel: StaticString = "pfc1.person-gap."
  private static let drawingLabel: StaticString = "pfc1.person-draw"
  private static let shownLabel: StaticString = "pfc1.person-seen"

  private let key: GateKey
  private let id: [UInt8]
  /// The left edge of the gap's square. Secret until the answer.
  let place: Int
  /// The upper edge of the square, which the page shows by the piece.
  let top: Int

  /// The slider of a challenge; nil for one of another kind, or with a key that the gate does not hold.
  init?(_ challenge: GateChallenge, _ keys: GateKeySet) {
    guard challenge.kind == .person, let key = keys.key(challenge.bytes[ChallengeWire.keyAt]) else {
      return nil
    }
    self.key = key
    id = challenge.bytes
    let bytes = key.mac(Self.placeLabel, id).bytes
    place = Self.chosen(bytes[0..<4], Self.places)
    top = Self.chosen(bytes[4..<8], 4...(Self.height - Self.side - 4))
  }

  private static func chosen(_ bytes: ArraySlice<UInt8>, _ range: ClosedRange<Int>) -> Int {
    range.lowerBound + Int(UInt32(littleEndianBytes: bytes)) % range.count
  }

  // MARK: Answers

  /// Whether an answer is near enough.
  func isRight(_ position: Int) -> Bool { abs(position - place) <= Self.tolerance }

  /// The mark that the gate hands out with the picture, 22 characters. An answer needs it, so a guess costs what the
  /// picture costs.
  var mark: String { Base64.encode(key.tag(Self.shownLabel, id), .url) }

  /// Whether a text is the mark, in constant time.
  func isMark(_ text: Substring) -> Bool {
    guard text.utf8.count == 22, let bytes = Base64.decode(String(text), .url) else { return false }
    return key.isTag(bytes, of: id, Self.shownLabel)
  }

  // MARK: Pictures

  /// The picture with the gap, and the piece in a clear picture of the same height.
  ///
  /// - Parameter hasRuler: Whether a scale stands below the picture, for pages without script.
  /// - Returns: Two PNG files.
  func pictures(hasRuler: Bool = false) -> (picture: [UInt8], piece: [UInt8]) {
    var canvas = SliderCanvas(seed: seed)
    let piece = canvas.piece(atX: place, y: top).bytes()
    canvas.cutGap(atX: place, y: top)
    return (canvas.picture(hasRuler: hasRuler).bytes(), piece)
  }

  private var seed: Digest { key.mac(Self.drawingLabel, id) }
}
