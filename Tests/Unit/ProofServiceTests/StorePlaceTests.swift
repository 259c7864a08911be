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
      guard case .database(_, account, nil) = try StorePlace(text) else {
        Issue.record("\(text)")
        continue
      }
    }
    // The description is for logs and errors.
    #expect(try StorePlace(Self.good).description == "postgres://proof_service@db1,db2/proof")
  }

  @Test func `readers are other servers of the same database`() throws {
    for (text, described) in [
      (Self.good + "&readers=db3", "db3"), (Self.good + "&readers=db2,db3:5433", "db2,db3"),
      (Self.good.replacing("?", with: "?readers=db3&account=door&"), "db3"),
      (Self.good + "&hostaddr=10.0.0.1,10.0.0.2&readers=db3", "db3"),
      ("postgres:///proof?host=/run/a&user=proof_service&readers=/run/b:5433", "/run/b"),
    ] {
      guard case .database(let options, _, let readers?) = try StorePlace(text) else {
        Issue.record("\(text)")
        continue
      }
      #expect(readers.description == "postgres://proof_service@\(described)/proof")
      #expect(readers.description != options.description)
    }
  }

  @Test(arguments: [
    (good + "&readers=", "none empty"), (good + "&readers=db3,", "none empty"),
    (good + "&readers=db3:0", "HOST:PORT"), (good + "&readers=db3:65536", "HOST:PORT"),
    (good + "&readers=db3:1:2", "HOST:PORT"), (good + "&readers=/run/b", "all TCP"),
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
