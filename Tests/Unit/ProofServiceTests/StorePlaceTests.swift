// SPDX-License-Identifier: Apache-2.0

import AccountStores
import ProofService
import Testing

/// The values that `--store` takes and refuses.
@Suite struct StorePlaceTests {
  private static let good = "postgres://proof_service@db1,db2/proof?sslrootcert=/etc/proof/db.pem"

  @Test func `a path is a file, and a URI is a database with its account`() throws {
    guard case .file("folder/account.store") = try StorePlace("folder/account.store") else {
      Issue.record("no file")
      return
    }
    for (text, account) in [
      (Self.good, nil), (Self.good + "&account=door", "door"),
      (Self.good.replacing("?", with: "?account=door&"), "door"),
      (Self.good.replacing("postgres://", with: "postgresql://"), nil),
      ("postgres:///proof?host=/run/postgresql&user=proof_service&account=door", "door"),
    ] {
      guard case .database(_, account) = try StorePlace(text) else {
        Issue.record("\(text)")
        continue
      }
    }
    // The description is for logs and errors.
    #expect(try StorePlace(Self.good).description == "postgres://proof_service@db1,db2/proof")
  }

  @Test(arguments: [
    (good.replacing("proof_service@", with: "proof_service:guess-me@"), "holds a password"),
    (good + "&password=guess-me", "holds a password"),
    (good.replacing("proof_service@", with: "proof_service:%67uess-me@"), "holds a password"),
    (good + "&sslmode=prefer", "sslmode=verify-full"),
    (good + "&channel_binding=disable", "channel_binding=require"),
    (good + "&target_session_attrs=any", "target_session_attrs=read-write"),
    (good + "&options=-c%20synchronous_commit%3Doff", "options"),
    ("postgres://proof_service@db1/proof", "sslrootcert"),
    ("postgres://db1/proof?sslrootcert=x", "user"),
    ("postgres://proof_service@db1?sslrootcert=x", "dbname"),
    ("postgres://proof_service@db1/proof?sslrootcert", "malformed"),
    ("postgres://[", "malformed"),
  ])
  func `a URI that asks for less than TLS and SCRAM, or holds a password, is refused`(
    _ text: String, _ words: String
  ) throws {
    let error = #expect(throws: StoreError.self) { try StorePlace(text) }
    let said = try #require(error).description
    #expect(said.contains(words), "\(said)")
    #expect(!said.contains("guess-me"))
  }
}
