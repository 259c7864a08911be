// SPDX-License-Identifier: Apache-2.0

import Testing

@testable import ProofLink

/// The procedure on a fresh link, PDU by PDU: docs/LINK.md, section 2.
@Suite("Each step of a link's opening")
struct LinkOpeningTests {
  /// Looks for services from a handle on.
  private static func services(_ first: UInt8) -> LinkOpening.Step {
    .send([0x10, first, 0, 0xFF, 0xFF, 0x00, 0x28])
  }

  /// Looks for characteristics, or a descriptor, in a range.
  private static func attributes(
    _ first: UInt8, _ last: UInt16, _ type: UInt16 = 0x2803
  ) -> LinkOpening.Step {
    .send([0x08, first, 0] + last.littleEndianBytes + type.littleEndianBytes)
  }

  private static func service(_ first: UInt8, _ last: UInt8, _ number: UInt16) -> [UInt8] {
    [first, 0, last, 0] + AttributeTable.uuid(number)
  }

  private static func declared(
    _ declaration: UInt8, _ value: UInt8, _ number: UInt16
  ) -> [UInt8] { [declaration, 0, 0x10, value, 0] + AttributeTable.uuid(number) }

  private static func searching() -> LinkOpening {
    var opening = LinkOpening(mtu: 23, table: nil)
    _ = opening.start()
    return opening
  }

  /// An opening that looks for characteristics in the service 1 to `last`.
  private static func found(_ last: UInt8 = 60) -> LinkOpening {
    var opening = searching()
    _ = opening.receive([0x11, 20] + service(1, last, 1))
    return opening
  }

  /// The eight values, each behind its declaration, with two more handles behind each.
  private static func values(_ first: UInt8 = 2) -> [UInt8] {
    (0..<8).flatMap { place -> [UInt8] in
      declared(first + 4 * place, first + 4 * place + 1, UInt16(place) + 2)
    }
  }

  private static func receive(
    _ opening: consuming LinkOpening, _ pdu: [UInt8]
  ) -> LinkOpening.Step {
    var opening = opening
    return opening.receive(pdu)
  }

  // MARK: MTU

  @Test("an MTU of 24 to 517 is asked for, and with 23 the search begins at once")
  func wanted() {
    for (mtu, pdu) in [
      (-1, nil), (22, nil), (23, nil), (24, [0x02, 24, 0]), (517, [0x02, 5, 2]),
      (518, [0x02, 5, 2]), (70_000, [0x02, 5, 2]),
    ] as [(Int, [UInt8]?)] {
      var opening = LinkOpening(mtu: mtu, table: nil)
      #expect(opening.start() == (pdu.map { .send($0) } ?? Self.services(1)), "\(mtu)")
    }
    var known = LinkOpening(mtu: 23, table: LinkPair.table)
    #expect(known.start() == .send([0x12, 11, 0, 1, 0]))
  }

  @Test("the MTU is the lower one of both ends, and 23 at least")
  func exchanged() {
    for (told, mtu) in [(0, 23), (22, 23), (23, 23), (24, 24), (184, 184), (185, 185), (517, 185)]
      as [(UInt16, Int)]
    {
      var opening = LinkOpening(mtu: 185, table: nil)
      _ = opening.start()
      #expect(opening.mtu == 23)
      for other in [[0x03, 0xFF], [0x03, 0xFF, 0, 0], [0x02, 0xFF, 0], [0x13], []] as [[UInt8]] {
        #expect(opening.receive(other) == .wait)
      }
      #expect(opening.receive([0x03] + told.littleEndianBytes) == Self.services(1))
      #expect(opening.mtu == mtu)
    }
  }

  @Test("hardware that refuses another MTU is asked on with the smallest")
  func noOtherMTU() {
    var opening = LinkOpening(mtu: 185, table: nil)
    _ = opening.start()
    #expect(opening.receive([0x01, 0x10, 0, 0, 6]) == .wait)
    #expect(opening.receive([0x01, 0x02, 0, 0, 6]) == Self.services(1))
    #expect(opening.mtu == 23)
  }

  // MARK: The service

  @Test("services are passed over up to that of the hardware, also one without a name")
  func service() {
    var opening = Self.searching()
    #expect(opening.receive([0x11, 4, 1, 0, 5, 0]) == Self.services(6))
    #expect(opening.receive([0x11, 6, 6, 0, 7, 0, 0, 0x18]) == Self.services(8))
    // A repetition of the response before.
    #expect(opening.receive([0x11, 6, 6, 0, 7, 0, 0, 0x18]) == .wait)
    #expect(opening.receive([0x11, 6, 8, 0, 8, 0, 0, 0x18]) == Self.services(9))
    let pdu = [0x11, 20] + Self.service(9, 10, 9) + Self.service(11, 40, 1)
    #expect(opening.receive(pdu) == Self.attributes(11, 40))
  }

  @Test(
    "a search for services ends with a refusal, with the last handle, or with ranges in disorder")
  func noService() {
    for (pdu, step) in [
      ([0x01, 0x10, 1, 0, 0x0A], .failed), ([0x01, 0x08, 1, 0, 0x0A], .wait), ([0x11], .wait),
      ([0x11, 3, 1, 0, 5], .wait), ([0x11, 6, 1, 0, 5, 0, 0], .wait),
      ([0x09, 6, 1, 0, 5, 0, 0, 0x18], .wait),
      ([0x11, 6, 1, 0, 0xFF, 0xFF, 0, 0x18], .failed),
      ([0x11, 6, 1, 0, 0xFE, 0xFF, 0, 0x18], .send([0x10, 0xFF, 0xFF, 0xFF, 0xFF, 0, 0x28])),
      ([0x11, 6, 5, 0, 4, 0, 0, 0x18], .failed),
      ([0x11, 6, 5, 0, 5, 0, 0, 0x18], Self.services(6)),
      ([0x11, 6, 1, 0, 5, 0, 0, 0x18, 4, 0, 9, 0, 0, 0x18], .failed),
    ] as [([UInt8], LinkOpening.Step)] {
      #expect(Self.receive(Self.searching(), pdu) == step, "\(pdu)")
    }
  }

  // MARK: Characteristics

  @Test("characteristics are looked for until all eight are known, and the descriptor of one then")
  func characteristics() {
    var opening = Self.found()
    let values = Self.values()
    #expect(opening.receive([0x09, 21] + values.prefix(21)) == Self.attributes(4, 60))
    // The same response again, and one that is none.
    #expect(opening.receive([0x09, 21] + values.prefix(21)) == .wait)
    #expect(opening.receive([0x09, 4, 4, 0, 0, 0]) == .wait)
    #expect(opening.receive([0x01, 0x10, 4, 0, 0x0A]) == .wait)
    // One of another service's number counts for nothing.
    #expect(opening.receive([0x09, 21] + Self.declared(4, 5, 99)) == Self.attributes(6, 60))
    #expect(opening.table == nil)
    let rest = Array(values.dropFirst(21))
    // The verdict's value is 15, and the next declaration 18.
    #expect(opening.receive([0x09, 21] + rest) == Self.attributes(16, 17, 0x2902))
    #expect(opening.receive([0x09, 4, 16, 0, 0, 0]) == .send([0x12, 16, 0, 1, 0]))
    let table = opening.table
    #expect(table?.handles == [3, 7, 11, 15, 19, 23, 27, 31, 16])
    #expect(opening.receive([0x13, 0]) == .wait && opening.receive([]) == .wait)
    #expect(opening.receive([0x13]) == .ready)
  }

  @Test("a search for characteristics ends with its range, and fails with one missing")
  func missing() {
    let values = Self.values()
    // The last one stands at the service's end.
    #expect(Self.receive(Self.found(31), [0x09, 21] + values) == Self.attributes(16, 17, 0x2902))
    #expect(Self.receive(Self.found(30), [0x09, 21] + values) == .failed)
    var short = Self.found(27)
    #expect(short.receive([0x09, 21] + values.prefix(7 * 21)) == .failed)
    var refused = Self.found()
    #expect(refused.receive([0x09, 21] + values.prefix(7 * 21)) == Self.attributes(28, 60))
    #expect(refused.receive([0x01, 0x08, 28, 0, 0x0A]) == .failed)
    var complete = Self.found()
    _ = complete.receive([0x09, 21] + values.prefix(7 * 21))
    #expect(
      complete.receive([0x09, 21] + values.suffix(21)) == Self.attributes(16, 17, 0x2902))
  }

  @Test("a declaration stands before its value, behind the last value, and within the service")
  func order() {
    let first = Self.declared(2, 3, 2)
    for (entry, isTaken) in [
      (Self.declared(3, 4, 3), true), (Self.declared(2, 4, 3), false),
      (Self.declared(5, 5, 3), false), (Self.declared(5, 4, 3), false),
      (Self.declared(5, 59, 3), true),
    ] {
      let step = Self.receive(Self.found(), [0x09, 21] + first + entry)
      #expect((step != .failed) == isTaken, "\(entry)")
    }
    #expect(Self.receive(Self.found(), [0x09, 21] + Self.declared(1, 2, 2)) != .failed)
    #expect(Self.receive(Self.found(), [0x09, 21] + Self.declared(0, 2, 2)) == .wait)
  }

  // MARK: The descriptor

  @Test("a descriptor stands between the verdict's value and the next declaration or the end")
  func descriptor() {
    for (handle, isTaken) in [(15, false), (16, true), (17, true), (18, false)]
      as [(UInt8, Bool)]
    {
      var opening = Self.found()
      _ = opening.receive([0x09, 21] + Self.values())
      let step = opening.receive([0x09, 4, handle, 0, 0, 0])
      #expect(step == (isTaken ? .send([0x12, handle, 0, 1, 0]) : .failed))
      let isKnown = opening.table != nil
      #expect(isKnown == isTaken)
    }
    var other = Self.found()
    _ = other.receive([0x09, 21] + Self.values())
    #expect(other.receive([0x09, 3, 16, 0, 0]) == .wait)
    #expect(other.receive([0x09, 5, 16, 0, 0, 0, 0]) == .wait)
    #expect(other.receive([0x01, 0x12, 16, 0, 0x0A]) == .wait)
    #expect(other.receive([0x01, 0x08, 16, 0, 0x0A]) == .failed)
  }

  @Test("a verdict without room for a descriptor behind it fails, and the last one has the rest")
  func room() {
    // All values but the verdict's stand before it.
    func opening(_ last: UInt8) -> LinkOpening.Step {
      var pdu: [UInt8] = [0x09, 21]
      for (place, number) in zip(UInt8(0)..., [2, 3, 4, 6, 7, 8, 9, 5] as [UInt16]) {
        pdu += Self.declared(2 * place + 2, 2 * place + 3, number)
      }
      return Self.receive(Self.found(last), pdu)
    }
    #expect(opening(17) == .failed)
    #expect(opening(18) == Self.attributes(18, 18, 0x2902))
    #expect(opening(60) == Self.attributes(18, 60, 0x2902))
    // The next declaration stands right behind it.
    var tight: [UInt8] = [0x09, 21]
    for place in UInt8(0)..<8 {
      tight += Self.declared(2 * place + 2, 2 * place + 3, UInt16(place) + 2)
    }
    #expect(Self.receive(Self.found(), tight) == .failed)
  }

  @Test("a subscription that is refused fails, and another refusal is waited over")
  func subscription() {
    var opening = LinkOpening(mtu: 23, table: LinkPair.table)
    _ = opening.start()
    #expect(opening.receive([0x01, 0x08, 11, 0, 3]) == .wait)
    #expect(opening.receive([0x01, 0x12, 11, 0, 3]) == .failed)
  }
}
