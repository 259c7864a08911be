// SPDX-License-Identifier: Apache-2.0

import Testing

@testable import ProofKit

/// Plays every order in which requests can take part in a flight: who enters, answers, fails, gives up, takes over.
@Suite("Requests that share a solution, in every order")
struct ChallengeFlightTests {
  private typealias Flights = ChallengeFlights<Int, Int>

  /// A request as its own thread sees it.
  private enum Phase: Hashable {
    case outside
    case waiting
    /// It has a word that its thread has not read.
    case told(Flights.Word)
    case leading
    case done
  }

  private struct World: Hashable {
    var flights = Flights()
    var phases: [Phase]
  }

  private enum Move: CaseIterable {
    case enter
    case read
    case succeed
    case fail
    case leave
    case takeOver
  }

  @Test("one leads, none waits without a leader, and each order comes to its end", arguments: 1...4)
  func everyOrder(count: Int) {
    var seen: Set<World> = []
    var open = [World(phases: [Phase](repeating: .outside, count: count))]
    var ends = 0
    while let world = open.popLast() {
      guard seen.insert(world).inserted else { continue }
      check(world)
      let next = (0..<count).flatMap { member in
        Move.allCases.compactMap { play($0, member, world) }
      }
      if next.isEmpty {
        ends += 1
        #expect(world.phases.allSatisfy { $0 == .done }, "stuck: \(world)")
        #expect(world.flights == Flights())
      }
      open += next
    }
    #expect(ends > 0)
    print("flights of \(count): \(seen.count) states")
  }

  private func check(_ world: World) {
    let leader = world.flights.leader(of: 0)
    for (member, phase) in world.phases.enumerated() {
      // A member that leads, and is not the leader, has been slow: another one took its place.
      if phase == .waiting { #expect(leader != nil && leader != member, "\(world)") }
    }
    if let leader {
      #expect([.leading, .told(.lead)].contains(world.phases[leader]), "\(world)")
    }
  }

  /// The world after a member's move; nil if it cannot make it.
  private func play(_ move: Move, _ member: Int, _ world: World) -> World? {
    var world = world
    switch (move, world.phases[member]) {
    case (.enter, .outside):
      world.phases[member] = world.flights.enter(0, member) ? .leading : .waiting
    case (.read, .told(let word)):
      world.phases[member] = word == .lead ? .leading : .done
    case (.succeed, .leading), (.fail, .leading):
      world.phases[member] = .done
      end(&world, member, isCleared: move == .succeed)
    case (.leave, .waiting), (.leave, .told):
      if !world.flights.leave(0, member), world.phases[member] == .told(.lead) {
        end(&world, member, isCleared: false)
      }
      world.phases[member] = .done
    case (.takeOver, .waiting), (.takeOver, .told):
      if world.flights.takeOver(0, member) {
        world.phases[member] = .leading
      } else {
        world.phases[member] = world.phases[member] == .told(.lead) ? .leading : .done
      }
    default: return nil
    }
    return world
  }

  private func end(_ world: inout World, _ member: Int, isCleared: Bool) {
    for (other, word) in world.flights.end(0, member, isCleared: isCleared) {
      #expect(world.phases[other] == .waiting)
      world.phases[other] = .told(word)
    }
  }

  @Test("keys have flights of their own")
  func keys() {
    var flights = Flights()
    #expect(flights.enter(1, 7) && flights.enter(2, 8) && !flights.enter(1, 9))
    #expect(flights.end(1, 8, isCleared: true).isEmpty && flights.leader(of: 1) == 7)
    #expect(flights.end(1, 7, isCleared: true).map(\.0) == [9])
    #expect(flights.leader(of: 1) == nil && flights.leader(of: 2) == 8)
  }
}
