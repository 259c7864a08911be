// SPDX-License-Identifier: Apache-2.0

import Foundation
import Glibc
import ProofJOSE
import ProofKit
import ProofKitHTTP
import ProofModel
import ProofService
import RealProcess
import Testing

/// One account, and processes of `proof-service` that serve it: each its own address, all one store.
@Suite("The way to real services")
struct RealRouteTests {
  private static let keyBytes = [UInt8](repeating: 7, count: 32)
  let reference: ReferenceService
  let folder: URL
  let management: Management
  let authority: String

  init() throws {
    // The reference service only makes the certificates.
    reference = try ReferenceService()
    authority = reference.greeting.authority
    folder = URL(fileURLWithPath: "/var/tmp/proofkit-route-\(UUID().uuidString.prefix(8))")
    try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
    let (account, _) = try Account.create(
      "demo", in: SQLiteStore(creatingAt: folder.path + "/store"),
      lockedBy: .keyFile(JOSESecret(copying: Self.keyBytes.span)), url: "https://127.0.0.1:1")
    management = Management(account)
    try Data(Self.keyBytes).write(to: folder.appendingPathComponent("key"))
    try FileManager.default.setAttributes(
      [.posixPermissions: 0o600], ofItemAtPath: folder.path + "/key")
    try management.setServicePins([#require(reference.greeting.pins["good"])])
    let sdkKey = MeasurementProofKey.sdk.withBytes { bytes in
      JOSESecret(count: bytes.byteCount) { secret in
        for index in 0..<bytes.byteCount {
          secret[index] = unsafe bytes.unsafeLoad(fromByteOffset: index, as: UInt8.self)
        }
      }
    }
    try management.addSDKBuild(key: sdkKey, name: "test", mode: .development)
    try management.add(API("api.example.com"))
    var policy = try management.policy()
    policy.rejection = []
    policy.deviceRate = 0
    policy.addressRate = 0
    try management.set(policy)
  }

  /// A service, and its port.
  private func serve(
    _ address: String = "127.0.0.1", certificate: String = "good"
  ) async throws -> (process: RealProcess, port: Int) {
    let certificates = (authority as NSString).deletingLastPathComponent
    let process = try await RealProcess(
      "proof-service",
      [
        "--store", folder.path + "/store", "--key-file", folder.path + "/key", "--listen",
        "\(address):0", "--log", "json", "--certificate", "\(certificates)/\(certificate).pem",
        "--private-key", "\(certificates)/\(certificate).key",
      ], until: #""event":"listening""#)
    guard let line = process.lines.last,
      let said = try JSONSerialization.jsonObject(with: Data(line.utf8)) as? [String: Any],
      let port = said["port"] as? Int
    else { throw RealProcess.Ended(description: process.lines.joined(separator: "\n")) }
    return (process, port)
  }

  private func attestor(
    _ route: ServiceRoute = ServiceRoute(), connectTimeout: Duration = .seconds(5)
  ) throws -> Attestor {
    let attestor = Attestor(
      observer: FixedScene(),
      over: CurlTransport(.init(authorities: authority, connectTimeout: connectTimeout)),
      route: route)
    try attestor.initializeAndWait(management.signedConfiguration())
    return attestor
  }

  /// A fetch of its own, with nothing kept.
  private func fetch(_ attestor: Attestor) -> FetchResult {
    attestor.setDataHash(of: UUID().uuidString)
    return attestor.fetchTokenAndWait(for: "api.example.com")
  }

  private func reports(_ process: RealProcess) -> Int {
    process.lines.count { $0.contains("/v1/report") }
  }

  @Test("a killed service is replaced by the one on the fail-over address, and comes back")
  func killed() async throws {
    let (first, port) = try await serve()
    let (second, standby) = try await serve()
    try management.setURL("https://127.0.0.1:\(port)")
    try management.setFailover("https://127.0.0.1:\(standby)")
    let attestor = try attestor()
    #expect(fetch(attestor).status == .success)
    await first.end(SIGKILL)
    #expect(reports(first) == 1)
    let result = fetch(attestor)
    #expect(result.status == .success, "\(result)")
    #expect(try management.check(token: result.token).isValid)
    await second.end(SIGKILL)
    #expect(reports(second) == 1)
    // Both are gone: the status is that of the network, and names both addresses.
    let failed = fetch(attestor)
    #expect(failed.status == .noNetwork, "\(failed)")
    #expect(failed.reason.contains("\(port)") && failed.reason.contains("\(standby)"))
    try? FileManager.default.removeItem(at: folder)
  }

  @Test("a first address that accepts and never answers costs half of a fetch's time at most, once")
  func hanging() async throws {
    let (stopped, port) = try await serve()
    let (second, standby) = try await serve()
    try management.setURL("https://127.0.0.1:\(port)")
    try management.setFailover("https://127.0.0.1:\(standby)")
    let attestor = try attestor()
    stopped.signal(SIGSTOP)
    #expect(fetch(attestor).status == .success)
    #expect(fetch(attestor).status == .success)
    stopped.signal(SIGCONT)
    await stopped.end()
    await second.end()
    #expect(reports(stopped) == 0 && reports(second) == 2)
    try? FileManager.default.removeItem(at: folder)
  }

  /// A socket that has a port of this machine's other loopback address and does not listen, so that
  /// no other program can; nil if one has the port.
  private func keepFree(_ port: Int, of family: AddressFamily) -> Int32? {
    let file = socket(
      family == .v6 ? AF_INET6 : AF_INET, Int32(SOCK_STREAM.rawValue | SOCK_CLOEXEC.rawValue), 0)
    let isBound: Bool
    if family == .v6 {
      var address = sockaddr_in6()
      address.sin6_family = sa_family_t(AF_INET6)
      address.sin6_port = in_port_t(port).bigEndian
      address.sin6_addr = in6addr_loopback
      isBound = bind(file, to: address)
    } else {
      var address = sockaddr_in()
      address.sin_family = sa_family_t(AF_INET)
      address.sin_port = in_port_t(port).bigEndian
      address.sin_addr.s_addr = UInt32(0x7F00_0001).bigEndian
      isBound = bind(file, to: address)
    }
    if isBound { return file }
    close(file)
    return nil
  }

  private func bind(_ file: Int32, to address: some Any) -> Bool {
    unsafe withUnsafePointer(to: address) { pointer in
      unsafe pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) {
        unsafe Glibc.bind(file, $0, socklen_t(MemoryLayout.size(ofValue: address))) == 0
      }
    }
  }

  /// A service at one address, whose port is free at the other.
  private func serveAlone(
    _ address: String, besides other: AddressFamily
  ) async throws -> (process: RealProcess, port: Int, kept: Int32) {
    while true {
      let (process, port) = try await serve(address)
      if let kept = keepFree(port, of: other) { return (process, port, kept) }
      await process.end()
    }
  }

  @Test("IPv6 alone and IPv4 alone reach a service that listens there; the other is no network")
  func families() async throws {
    for (address, own, other) in [
      ("127.0.0.1", AddressFamily.v4, AddressFamily.v6), ("[::1]", .v6, .v4),
    ] {
      let (process, port, kept) = try await serveAlone(address, besides: other)
      defer { close(kept) }
      // The address itself, and a name that has both.
      for host in [address, "localhost"] {
        try management.setURL("https://\(host):\(port)")
        for family in [own, .any] {
          let result = fetch(try attestor(ServiceRoute(addressFamily: family)))
          #expect(result.status == .success, "\(host) \(family): \(result)")
        }
        let refused = fetch(try attestor(ServiceRoute(addressFamily: other)))
        #expect(refused.status == .noNetwork, "\(host) \(other): \(refused)")
      }
      await process.end()
      #expect(reports(process) == 4)
    }
    try? FileManager.default.removeItem(at: folder)
  }

  @Test("an app of a region reports to the region's service alone, and to its fail-over address")
  func regions() async throws {
    let (home, port) = try await serve()
    let (abroad, abroadPort) = try await serve()
    let dead = "https://127.0.0.1:1"
    try management.setURL("https://127.0.0.1:\(port)")
    let addresses = try RegionAddresses(url: dead, failover: "https://127.0.0.1:\(abroadPort)")
    try management.setRegion("abroad", to: addresses)
    #expect(fetch(try attestor(ServiceRoute(region: .abroad))).status == .success)
    let lost = fetch(try attestor(ServiceRoute(region: ServiceRegion("mars"))))
    #expect(lost.status == .internalError && lost.reason.contains("home, abroad"), "\(lost)")
    #expect(fetch(try attestor()).status == .success)
    await home.end()
    await abroad.end()
    #expect(reports(home) == 1 && reports(abroad) == 1)
    try? FileManager.default.removeItem(at: folder)
  }

  @Test(
    "an endpoint with the account's key is taken by its given name; one with another key is not")
  func endpoints() async throws {
    let (good, port) = try await serve()
    let (other, otherPort) = try await serve(certificate: "otherkey")
    // The account's own address is dead.
    func result(_ port: Int, host: String?) throws -> FetchResult {
      let endpoint = try ServiceEndpoint(url: "https://127.0.0.1:\(port)", host: host)
      return fetch(try attestor(ServiceRoute(endpoint: endpoint)))
    }
    #expect(try result(port, host: nil).status == .success)
    #expect(try result(port, host: "localhost").status == .success)
    let stranger = try result(otherPort, host: nil)
    #expect(stranger.status == .mitmDetected, "\(stranger)")
    // The right key under a name that the certificate does not have.
    let wrongName = try result(port, host: "attest.example.com")
    #expect(wrongName.status == .mitmDetected, "\(wrongName)")
    await good.end()
    await other.end()
    #expect(reports(good) == 2 && reports(other) == 0)
    try? FileManager.default.removeItem(at: folder)
  }

  @Test("the pins of the service hold for a fail-over address, too")
  func pinnedFailover() async throws {
    let (other, port) = try await serve(certificate: "otherkey")
    try management.setFailover("https://127.0.0.1:\(port)")
    let result = fetch(try attestor())
    #expect(result.status == .mitmDetected, "\(result)")
    await other.end()
    #expect(reports(other) == 0)
    try? FileManager.default.removeItem(at: folder)
  }
}
