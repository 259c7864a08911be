// SPDX-License-Identifier: Apache-2.0

internal import PostgresStore
package import ProofService

/// Moves an account from one place to another.
///
/// 1. The source gets a mark, in one transaction. No program serves it from then on, and a service
///    that still runs refuses every request.
/// 2. The target gets the whole account in one transaction, with another key for salts. It compares
///    counts and a digest of what it reads back before it commits.
///
/// A cut before 1 changes nothing. A cut between them is finished by the same call: it finds the
/// mark. A cut after 2 is found by the same call, too: source and target name the same move.
package struct StoreMove {
  /// The result of a move.
  package struct Moved: Sendable {
    /// The sum of what was moved; nil if an earlier call had moved it.
    package let sum: MoveSum?
    package let name: String
  }

  private let from: StorePlace
  private let to: StorePlace
  private let source: any MoveSource

  /// Opens the source.
  package init(from: StorePlace, to: StorePlace) throws(StoreError) {
    self.from = from
    self.to = to
    switch from {
    case .file(let path): source = try SQLiteMove(path)
    case .database(let options, let name, _): source = try PostgresMove(options, name)
    }
  }

  /// Whether an earlier call marked the source: the account's key is not needed then.
  package func isBegun() throws(StoreError) -> Bool { try source.mark() != nil }

  /// Moves the account, or finishes a move that was cut.
  ///
  /// - Parameter fresh: For a source without mark, the account's name and
  ///   ``Management/movedSaltKeys()``.
  /// - Returns: The sum of what was moved.
  /// - Throws: ``StoreError``. A target that is not empty leaves the source as it was.
  package func move(_ fresh: (name: String, salts: [UInt8])?) throws(StoreError) -> Moved {
    let earlier = try source.mark()
    guard let name = earlier?.name ?? fresh?.name else { throw .busy(path: from.description) }
    let target = try target(name)
    let place = to.named(name)
    if let earlier, earlier.place != place { throw .moved(path: "\(from)", to: earlier.place) }
    if let id = try target.arrived() {
      guard id == earlier?.id else {
        throw .database("\(to)", detail: "it has an account; an account moves to an empty place")
      }
      return Moved(sum: nil, name: name)
    }
    let id = (0..<16).map { _ in UInt8.random(in: .min ... .max) }
    let mark = earlier ?? MoveMark(id: id, name: name, place: place, salts: fresh?.salts ?? [])
    if earlier == nil { try source.leave(mark) }
    try source.begin()
    defer { source.end() }
    do throws(StoreError) {
      let sum = try copy(to: target, mark)
      try target.commit(mark)
      return Moved(sum: sum, name: name)
    } catch {
      target.rollBack()
      throw error
    }
  }

  /// Lets the source serve again, if the target does not have its account.
  package func undo() throws(StoreError) {
    guard let mark = try source.mark() else {
      throw .database("\(from)", detail: "it has no mark of a move; nothing was changed")
    }
    guard mark.place == to.named(mark.name) else { throw .moved(path: "\(from)", to: mark.place) }
    let target = try target(mark.name)
    try source.undo { () throws(StoreError) in
      guard try target.arrived() == nil else {
        throw .database(
          "\(from)",
          detail: "its account is at \(mark.place); move it from there to a place that is empty")
      }
    }
  }

  private func target(_ name: String) throws(StoreError) -> any MoveTarget {
    switch to {
    case .file(let path): return SQLiteArrival(path)
    case .database(let options, let named, _):
      guard named == nil || named == name else {
        throw .database("\(options)", detail: "the URI names another account than \(name)")
      }
      return try PostgresArrival(options, name)
    }
  }

  private func copy(to target: any MoveTarget, _ mark: MoveMark) throws(StoreError) -> MoveSum {
    try target.begin()
    var sum = MoveSum()
    try Self.each(source.page) { (kind, page) throws(StoreError) in
      if let fault = page.lazy.compactMap({ $0.fault(as: kind) }).first {
        throw .damaged(path: "\(from)", detail: fault)
      }
      let records = kind == .row ? page.with(salts: mark.salts) : page
      try target.add(records, of: kind)
      sum.add(records, of: kind)
    }
    var there = MoveSum()
    try Self.each(target.page) { there.add($1, of: $0) }
    guard there == sum else {
      throw .database("\(to)", detail: "it has other records than the source; nothing was moved")
    }
    return sum
  }

  /// Calls a body with each page of a store's records.
  private static func each(
    _ page: (MoveKind, MoveRecord?) throws(StoreError) -> [MoveRecord],
    _ body: (MoveKind, [MoveRecord]) throws(StoreError) -> Void
  ) throws(StoreError) {
    for kind in MoveKind.allCases {
      var last: MoveRecord?
      while true {
        let records = try page(kind, last)
        guard let end = records.last else { break }
        last = end
        try body(kind, records)
      }
    }
  }
}

extension StorePlace {
  /// The place with the account's name; a path from the root.
  fileprivate func named(_ name: String) -> String {
    switch self {
    case .file(let path): SQLiteArrival(path).place
    case .database(let options, _, _): "\(options), account \(name)"
    }
  }
}
