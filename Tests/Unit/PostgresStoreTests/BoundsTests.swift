// SPDX-License-Identifier: Apache-2.0

import Testing

@testable import PostgresStore

/// The numbers of a store in PostgreSQL, written out.
@Suite struct BoundsTests {
  /// Programs of other versions use the same database.
  @Test("A program needs the schemas that belong to it")
  func schemas() {
    #expect(SchemaVersion.program == 11 && SchemaVersion.needed == 10)
    #expect(SchemaVersion.neededByGates == 8 && SchemaVersion.neededByLedgers == 9)
    #expect(SchemaVersion.neededByReaders == 11)
  }
}
