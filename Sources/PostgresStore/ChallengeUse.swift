// SPDX-License-Identifier: Apache-2.0

/// The use of a challenge by a report that was judged.
package struct ChallengeUse: Sendable, Equatable {
  package var account: Int32
  /// The challenge's authenticated expiry in Unix seconds. It decides the slot of the ring.
  package var expiry: Int32
  /// The caller's time in Unix seconds, which the device is seen at; nil: the database's. The
  /// challenge must be unexpired by both.
  package var time: Int64?
  package var salt: [UInt8]
  package var device: [UInt8]
  /// The version of the device's row that was judged; 0: no row.
  package var version: Int64
  package var generation: Int64
  /// Whether the generation must be above the row's, or above that of the line at ``gate``.
  package var mustRaise: Bool
  /// The gate whose line the generation is of; nil: the device's own.
  package var gate: [UInt8]?
  /// The device's new note; nil: the report was not believed, so the device is left as it is.
  package var note: [UInt8]?
  /// The change of the row of the device's strings; nil: the row is left as it is.
  package var strings: Strings?
  /// SHA-256 of the whole report.
  package var digest: [UInt8]
  /// The sealed answer, kept for the same report sent again.
  package var answer: [UInt8]
  /// The account's revision that was judged.
  package var revision: Int64

  /// A change of the row of a device's strings.
  package struct Strings: Sendable, Equatable {
    let key: [UInt8]
    /// The row's new value; nil removes the row.
    let value: [UInt8]?

    package init(key: [UInt8], value: [UInt8]?) {
      self.key = key
      self.value = value
    }
  }

  package init(
    account: Int32, expiry: Int32, time: Int64? = nil, salt: [UInt8], device: [UInt8],
    version: Int64 = 0, generation: Int64 = 0, mustRaise: Bool = false, gate: [UInt8]? = nil,
    note: [UInt8]?, strings: Strings? = nil, digest: [UInt8], answer: [UInt8],
    revision: Int64 = 0
  ) {
    self.account = account
    self.expiry = expiry
    self.time = time
    self.salt = salt
    self.device = device
    self.version = version
    self.generation = generation
    self.mustRaise = mustRaise
    self.gate = gate
    self.note = note
    self.strings = strings
    self.digest = digest
    self.answer = answer
    self.revision = revision
  }

  package var slot: Int16 { Int16(expiry / 60 % 64) }
}

/// The result of ``ChallengeUse``.
package struct ChallengeUsed: Sendable, Equatable {
  package enum Outcome: Sendable, Equatable {
    /// The mark and the sight are written. Send the own answer.
    case used
    /// The same report was used before. Send this answer.
    case again([UInt8])
    /// The challenge is used by another report, expired, or swept. Ask for a new one.
    case stale
    /// The judged state is old. Read it and judge again.
    case changed
  }

  package let outcome: Outcome
  /// The database's clock in microseconds since 1970.
  package let time: Int64
}

extension PostgresConnection {
  private static let useMany = PostgresStatement(
    "use_many",
    """
    SELECT outcome, answer, now_us FROM pf2.use_many($1::int4[], $2::int2[], $3::int4[], $4::int8[],
      $5::bytea[], $6::bytea[], $7::int8[], $8::int8[], $9::bool[], $10::bytea[], $11::bytea[],
      $12::bytea[], $13::bytea[], $14::bytea[], $15::bytea[], $16::int8[]) ORDER BY place
    """)

  /// Uses up to 32 challenges in one transaction. A refusal does not undo the neighbours.
  package func use(_ uses: [ChallengeUse]) throws(PostgresError) -> [ChallengeUsed] {
    let rows = try run(
      Self.useMany, .int4s(uses.map(\.account)), .int2s(uses.map(\.slot)),
      .int4s(uses.map(\.expiry)), .int8s(uses.map(\.time)), .byteas(uses.map(\.salt)),
      .byteas(uses.map(\.device)), .int8s(uses.map(\.version)), .int8s(uses.map(\.generation)),
      .bools(uses.map(\.mustRaise)), .byteas(uses.map(\.gate)), .byteas(uses.map(\.note)),
      .byteas(uses.map(\.strings?.key)), .byteas(uses.map(\.strings?.value)),
      .byteas(uses.map(\.digest)), .byteas(uses.map(\.answer)), .int8s(uses.map(\.revision)))
    guard rows.count == uses.count else {
      throw PostgresError(.mismatch, "\(rows.count) outcomes for \(uses.count) challenges")
    }
    var used: [ChallengeUsed] = []
    for row in 0..<rows.count {
      let outcome: ChallengeUsed.Outcome =
        switch try rows.text(row, 0) {
        case "used": .used
        case "again": .again(try rows.bytes(row, 1))
        case "stale": .stale
        case "changed": .changed
        case let other: throw PostgresError(.mismatch, "pf2.use_many has no outcome \(other)")
        }
      used.append(ChallengeUsed(outcome: outcome, time: try rows.integer(row, 2)))
    }
    return used
  }
}
