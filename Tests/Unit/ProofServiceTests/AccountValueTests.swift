// SPDX-License-Identifier: Apache-2.0

import ProofJOSE
import ProofModel
import Testing

@testable import ProofService

/// Values of an account at their bounds: its lock, its address, strings of devices, findings.
@Suite struct AccountValueTests {
  @Test func `a lock's parameters are in their ranges, and a key file has 32 bytes at least`()
    throws
  {
    let account = secret([UInt8](repeating: 7, count: 32))
    let whole = try WrappedKey.wrap(account, by: keyFile())
    #expect(whole.passes == 2 && whole.memory == 64 << 20 && whole.salt.count == 16)
    func opens(_ change: (inout WrappedKey) -> Void) throws -> Bool {
      var changed = whole
      change(&changed)
      return try changed.open(with: keyFile()).matches(account)
    }
    // A key file is not stretched, so the numbers may be any that are allowed.
    for passes in [1, 16] as [UInt64] {
      let isOpen = try opens { $0.passes = passes }
      #expect(isOpen)
    }
    for memory in [8 << 10, 1 << 30] {
      let isOpen = try opens { $0.memory = memory }
      #expect(isOpen)
    }
    for change: (inout WrappedKey) -> Void in [
      { $0.passes = 0 }, { $0.passes = 17 }, { $0.memory = 8_191 }, { $0.memory = 1 << 30 + 1 },
      { $0.salt.removeLast() }, { $0.salt.append(0) },
    ] { #expect(throws: ServiceError.damaged("lock")) { try opens(change) } }
    for change: (inout WrappedKey) -> Void in [
      { $0.salt[0] ^= 1 }, { $0.wrapped[0] ^= 1 }, { $0.wrapped.removeLast() },
      { $0.wrapped = [] },
    ] { #expect(throws: ServiceError.wrongKeyFile) { try opens(change) } }
    func file(_ count: Int) -> AccountLock {
      .keyFile(secret([UInt8](repeating: 7, count: count)))
    }
    let least = try WrappedKey.wrap(account, by: file(32)).open(with: file(32)).matches(account)
    #expect(least)
    #expect(
      throws: ServiceError.invalid(
        "size of the key file", value: "31 bytes", allowed: "at least 32 random bytes")
    ) { try WrappedKey.wrap(account, by: file(31)) }
    #expect(
      throws: ServiceError.invalid("passphrase", value: "", allowed: "at least one character")
    ) { try WrappedKey.wrap(account, by: passphrase("")) }
    #expect(throws: ServiceError.otherLock(expected: "a key file")) {
      _ = try whole.open(with: passphrase("p"))
    }
  }

  @Test func `an address is a host with or without a port, and http is for this machine`() throws {
    for (url, checked) in [
      ("https://a.example.com", nil), ("https://a.example.com/", "https://a.example.com"),
      ("https://a.example.com:8443///", "https://a.example.com:8443"), ("https://127.0.0.1:1", nil),
      ("http://localhost", nil), ("http://localhost:80/", "http://localhost:80"),
      ("http://127.0.0.1:8080", nil), ("http://[::1]:8080", nil), ("https://[2001:db8::1]", nil),
    ] { #expect(try ServiceURL.checked(url) == checked ?? url, "\(url)") }
    let long = "http://" + String(repeating: "a", count: 150)
    for url in [
      "http://127.0.0.2", "http://[::2]", "http://localhost.example.com", "HTTPS://a.example.com",
      "https:/a.example.com", "https://", "", "/", "ws://localhost", long,
    ] {
      let told = String(url.reversed().drop { $0 == "/" }.reversed())
      #expect(
        throws: ServiceError.invalid(
          "address of the service", value: String(told.prefix(120)),
          allowed: "https://HOST or https://HOST:PORT (http for localhost alone)")
      ) { try ServiceURL.checked(url) }
    }
    #expect(ServiceURL.authority("https://a.example.com:8443") == "a.example.com:8443")
    #expect(ServiceURL.authority("http://localhost") == "localhost")
    #expect(ServiceURL.authority("a.example.com") == "a.example.com")
  }

  @Test func `findings for a gate have a class and a number, each once, 16 at most`() {
    func findings(_ names: String...) -> [[UInt8]] {
      TokenMinter.findings(in: names.map { .init($0, "v") }).map { [$0.category, $0.number] }
    }
    #expect(
      findings("finding.3.2", "finding.1.255.x.y", "finding.1.1", "finding.3.2.other")
        == [[1, 1], [1, 255], [3, 2]])
    #expect(
      findings(
        "finding", "finding.1", "finding.0.1", "finding.4.1", "finding.1.0", "finding.1.256",
        "finding.a.1", "finding.1.b", "found.1.1", "Finding.1.1") == [])
    let many = (1...20).reversed().map { AttestationReport.Property("finding.2.\($0)", "") }
    #expect(TokenMinter.findings(in: many).map(\.number) == [UInt8](1...16))
  }

  // MARK: Strings of a device

  private func define(
    _ bench: Bench, _ name: String, _ count: Int
  ) throws -> AttestationAnswer.Outcome {
    let payload = [1] + [UInt8](repeating: UInt8(ascii: "v"), count: count)
    return try bench.attest(
      bench.app, AttestationReport.Subject(.secureString, name: name, payload: payload)
    ).outcome
  }

  @Test func `the strings of a device take 128 KiB together, and one takes 65,535 bytes`() throws {
    let bench = try Bench(policy: [.secureStrings: "on", .deviceRate: "0"])
    #expect(try define(bench, "a", 65_535) == .done)
    #expect(try define(bench, "b", 65_535) == .badKey)
    #expect(try bench.management.devices(latest: 1).count == 1)
    // A refused definition leaves the earlier ones, and a shorter one makes room.
    #expect(try define(bench, "a", 65_000) == .done)
    // As JSON with base64, these two take 131,072 bytes, and with one byte more 131,076.
    #expect(try define(bench, "bb", 33_213) == .badKey)
    #expect(try define(bench, "bb", 33_212) == .done)
    let row = try #require(try bench.store.rows(of: .deviceString).first)
    #expect(row.value.count == 131_072)
    #expect(try define(bench, "c", 1) == .badKey)
  }
}
