// SPDX-License-Identifier: Apache-2.0

internal import ProofJOSE

// Optimistic updates of rows: a row is read, changed, and written only if it is still the row that
// was read. So two operators at the same time do not overwrite each other's confirmed changes.

extension Management {
  /// Rewrites a row. Starts over with the new row if another writer changed it meanwhile.
  ///
  /// - Parameters:
  ///   - key: The row's key.
  ///   - table: Its table.
  ///   - change: Makes the new row, or nil for no row, of the present one, or nil if there is none.
  /// - Throws: ``ServiceError``, and the errors of `change`.
  func rewrite(
    _ key: String, of table: StoreTable, _ change: ([UInt8]?) throws(ServiceError) -> [UInt8]?
  ) throws(ServiceError) {
    while true {
      let present = try ServiceError.ofStore { () throws(StoreError) in
        try store.row(key, of: table)
      }
      let new = try change(present)
      do {
        return try account.apply(StoreChange.rewriting(table, key, from: present, to: new))
      } catch .store(.changedMeanwhile), .store(.alreadyThere) {
        continue
      }
    }
  }

  /// Rewrites an existing record.
  ///
  /// - Throws: ``ServiceError/unknown(_:name:)``.
  func rewrite<R: Record>(
    _ key: String, _: R.Type, _ change: (inout R) -> Void
  ) throws(ServiceError) {
    try rewrite(key, of: R.table) { present throws(ServiceError) in
      guard let present else { throw .unknown(R.noun, name: String(key.prefix(80))) }
      var record = try R(StoreRow(key, present))
      change(&record)
      return record.bytes
    }
  }

  /// Rewrites an account document.
  ///
  /// - Parameters:
  ///   - document: The document.
  ///   - absent: The value of a document that does not exist; nil if each account has it.
  ///   - change: Changes the present value.
  /// - Throws: ``ServiceError``, and the errors of `change`.
  func rewrite<Value: DocumentValue>(
    _ document: AccountDocument, absent: Value? = nil,
    _ change: (inout Value) throws(ServiceError) -> Void
  ) throws(ServiceError) {
    try rewrite(document.rawValue, of: .account) { present throws(ServiceError) in
      var value: Value
      if let present {
        value = try document.value(in: present)
      } else if let absent {
        value = absent
      } else {
        throw document.damage
      }
      try change(&value)
      return Array(JSONValue.object(value.fields).text.utf8)
    }
  }

  /// Changes settings of the policy: all of them, or none if one is not allowed.
  ///
  /// - Parameter change: Changes the present policy.
  /// - Throws: ``ServiceError``.
  public func changePolicy(
    _ change: (inout Policy) throws(ServiceError) -> Void
  ) throws(ServiceError) {
    let place = AccountDocument.policy
    try rewrite(place.rawValue, of: .account) { present throws(ServiceError) in
      guard let present else { throw place.damage }
      var policy = try Policy(fields: place.fields(in: present))
      try change(&policy)
      return Array(JSONValue.object(policy.fields).text.utf8)
    }
  }
}
