// SPDX-License-Identifier: Apache-2.0

import ProofModel
import Testing

@Suite("An order")
struct OrderTests {
  @Test("opens at its hardware and says what was ordered")
  func roundTrip() throws {
    let world = try World()
    let id = world.hardware.identity.id
    let actions: [Order.Action] = [
      .epoch(id), .revoke(world.instance, through: 1, id),
      .revoke(world.instance, through: .max - 1, id), .revoke(world.instance, through: nil, id),
      .floor(id),
    ]
    for action in actions {
      let order = try Order(action, issued: World.now)
      let signed = order.signed(by: world.issuer)
      #expect(signed.bytes.count == 124)
      #expect(try world.hardware.open(SignedOrder(signed.bytes)) == order)
    }
  }

  @Test("with any byte changed does not open")
  func changed() throws {
    let world = try World()
    let id = world.hardware.identity.id
    let signed = try Order(.floor(id), issued: World.now).signed(by: world.issuer)
    for index in 4..<124 {
      let other = try SignedOrder(flipped(signed.bytes, bit: 8 * index + index % 8))
      #expect(throws: ProofError.self) { try world.hardware.open(other) }
    }
  }

  @Test("for other hardware is not for this one; of another issuer it is not signed")
  func others() throws {
    let world = try World()
    let there = try Order(.floor(.random()), issued: 1).signed(by: world.issuer)
    #expect(throws: ProofError.notForThisHardware("order")) { try world.hardware.open(there) }
    #expect(throws: ProofError.notForThisHardware("order")) {
      try world.hardware.checkAddressee(of: there)
    }
    let stranger = try Order(.epoch(world.hardware.identity.id), issued: 1)
      .signed(by: .random())
    #expect(throws: ProofError.notSigned("order")) { try world.hardware.open(stranger) }
    #expect(throws: Never.self) { try world.hardware.checkAddressee(of: stranger) }
  }

  @Test("has a time, and a generation within its range")
  func ranges() throws {
    let id = HardwareID.random()
    #expect(throws: ProofError.self) { try Order(.epoch(id), issued: 0) }
    for generation: UInt32 in [0, .max] {
      #expect(throws: ProofError.self) {
        try Order(.revoke(.random(), through: generation, id), issued: 1)
      }
    }
  }

  @Test("of another length, magic or version is refused before any key is needed")
  func shape() throws {
    let signed = try Order(.epoch(.random()), issued: 1).signed(by: .random())
    for count in [0, 123, 125] {
      #expect(throws: ProofError.malformed("order", byteCount: count)) {
        try SignedOrder(Array((signed.bytes + [0]).prefix(count)))
      }
    }
    #expect(throws: ProofError.malformed("order", byteCount: 124)) {
      try SignedOrder(flipped(signed.bytes, bit: 0))
    }
    #expect(throws: ProofError.tooNew("order")) { try SignedOrder(flipped(signed.bytes, bit: 16)) }
  }
}
