// SPDX-License-Identifier: Apache-2.0

import Foundation
import OwnThreads
import ProofModel
import Synchronization
import Testing

@testable import ProofService

/// Properties of every store; ``SaltConformance`` has those of salts and devices.
@Suite struct StoreConformance {
  @Test(arguments: StoreKind.all)
  func `rows come back as they were put, in the order of their keys' bytes`(
    _ kind: StoreKind
  ) throws {
    let place = Workplace()
    let store = try kind.make(place)
    defer { withExtendedLifetime(place) {} }
    let keys = ["b", "", "a", "é", "e\u{301}", "z", "Z"]
    for key in keys {
      try store.apply([.insert(.api, key, Array(key.utf8)), .put(.pin, key, [])])
    }
    let rows = try store.rows(of: .api)
    let ordered = keys.sorted { $0.utf8.lexicographicallyPrecedes($1.utf8) }
    #expect(rows.map { Array($0.key.utf8) } == ordered.map { Array($0.utf8) })
    #expect(rows.allSatisfy { $0.value == Array($0.key.utf8) })
    #expect(try store.row("é", of: .pin) == [])
    #expect(try store.row("é", of: .key) == nil)
    try store.apply([.put(.api, "a", [1, 2]), .remove(.api, "b"), .remove(.api, "none")])
    #expect(try store.row("a", of: .api) == [1, 2])
    #expect(try store.row("b", of: .api) == nil)
  }

  @Test(arguments: StoreKind.all)
  func `an image has the rows of each table and their revision`(_ kind: StoreKind) throws {
    let place = Workplace()
    let store = try kind.make(place)
    defer { withExtendedLifetime(place) {} }
    for key in ["b", "", "é", "e\u{301}"] {
      try store.apply([.insert(.api, key, Array(key.utf8)), .put(.pin, key, [])])
    }
    try store.apply([.put(.gate, "x", [1]), .put(.key, "left out", [2])])
    let tables: [StoreTable] = [.gate, .api, .registration, .pin]
    let image = try store.image(of: tables)
    #expect(try image.revision == store.revision())
    for table in tables { #expect(try image.rows(of: table) == store.rows(of: table)) }
    #expect(try image.row("e\u{301}", of: .api) == Array("e\u{301}".utf8))
    #expect(try image.row("none", of: .api) == nil)
    try store.apply([.put(.gate, "x", [3])])
    #expect(try store.image(of: [.gate]).rows(of: .gate) == [StoreRow("x", [3])])
    #expect(try image.rows(of: .gate) == [StoreRow("x", [1])])
  }

  @Test(arguments: StoreKind.all)
  func `changes happen all or not at all`(_ kind: StoreKind) throws {
    let place = Workplace()
    let store = try kind.make(place)
    defer { withExtendedLifetime(place) {} }
    try store.apply([.insert(.api, "taken", [1])])
    let revision = try store.revision()
    #expect(throws: StoreError.alreadyThere(table: .api, key: "taken")) {
      try store.apply([
        .put(.api, "new", [2]), .remove(.api, "taken"), .insert(.key, "k", [3]),
        .insert(.api, "taken", [4]), .insert(.api, "taken", [5]),
      ])
    }
    #expect(throws: StoreError.changedMeanwhile(table: .api, key: "taken")) {
      try store.apply([.put(.api, "new", [2]), .expect(.api, "taken", [9])])
    }
    #expect(throws: StoreError.changedMeanwhile(table: .api, key: "none")) {
      try store.apply([.put(.api, "new", [2]), .expect(.api, "none", [])])
    }
    #expect(try store.rows(of: .api) == [StoreRow("taken", [1])])
    #expect(try store.rows(of: .key) == [])
    #expect(try store.revision() == revision)
    try store.apply([.expect(.api, "taken", [1]), .put(.api, "taken", [2])])
    let raised = try store.revision()
    #expect(raised > revision)
    try store.apply([.put(.deviceString, "device", [1])])
    #expect(try store.revision() == raised)
  }

  @Test(arguments: StoreKind.all)
  func `a counter tells what it was`(_ kind: StoreKind) throws {
    let place = Workplace()
    let store = try kind.make(place)
    defer { withExtendedLifetime(place) {} }
    #expect(try store.advance("one", by: 5) == 0)
    #expect(try store.advance("one", by: 7) == 5)
    #expect(try store.advance("two", by: 1) == 0)
    #expect(try store.advance("one", by: 0) == 12)
    #expect(try store.advance("revision", by: 3) == 0)
  }

  @Test(arguments: StoreKind.all)
  func `threads that change, count and refuse at once do not disturb one another`(
    _ kind: StoreKind
  ) throws {
    let place = Workplace()
    let store = try kind.make(place)
    defer { withExtendedLifetime(place) {} }
    try store.apply([.insert(.api, "taken", [])])
    let refused = Atomic(0)
    onThreads(8) { thread in
      for round in 0..<25 {
        try! store.apply([.insert(.api, "\(thread).\(round)", [1])])
        _ = try! store.advance("count", by: 1)
        do {
          try store.apply([.put(.api, "lost \(thread)", []), .insert(.api, "taken", [])])
        } catch {
          refused.add(1, ordering: .relaxed)
        }
      }
    }
    #expect(refused.load(ordering: .relaxed) == 200)
    #expect(try store.rows(of: .api).count == 201)
    #expect(try store.advance("count", by: 0) == 200)
  }
}
