// SPDX-License-Identifier: Apache-2.0

import AccountStores
import Console
import Glibc
import ProofJOSE
import ProofKit
import ProofModel
import ProofService

/// Checks everything that was named, and reports the state and the next step of each.
enum Diagnosis {
  static let verb = Verb(
    "diagnose", [],
    [
      Option("--app", "FOLDER", help: "looks at an app's stored measurement"),
      Option("--regions", help: "looks at each address that apps get, in each region"),
    ],
    "looks at store, service and an app's stored measurement", run: run)

  private struct Finding {
    let what: String
    let isGood: Bool
    let detail: String
  }

  private static func run(_ invocation: Invocation) throws -> Answer {
    guard !invocation.has("--regions") || AccountAccess.isNamed(invocation) else {
      throw Failure.usage("--regions needs the account: --service URL, or --store FILE")
    }
    var findings = [Finding(what: "SDK key", isGood: true, detail: "\(MeasurementProofKey.sdk)")]
    func look(_ what: String, _ body: () throws -> String) {
      do {
        findings.append(Finding(what: what, isGood: true, detail: try body()))
      } catch {
        findings.append(Finding(what: what, isGood: false, detail: "\(error)"))
      }
    }
    if let path = invocation.value("--store", else: "PROOF_STORE") {
      look("store") {
        let (name, lock) = try Account.identity(in: StorePlace(path).open())
        return "account \(name), locked by a \(lock)"
      }
      look("account") { try account(invocation) }
    }
    if let url = invocation.value("--service", else: "PROOF_SERVICE") {
      let remote = try RemoteAccount(url, invocation)
      look("service") {
        let answer = try remote.get("/health")
        guard answer.status == 200 else {
          throw Failure("/health answers with status \(answer.status)")
        }
        return String(decoding: answer.body.prefix { $0 != 10 }, as: UTF8.self)
      }
      look("clock") { try clock(try remote.get("/health").serverTime) }
      look("management") { try account(invocation) }
    }
    if invocation.has("--regions") {
      do {
        for address in try addresses(invocation) {
          look(address.what) { try health(address, invocation) }
        }
      } catch {
        findings.append(Finding(what: "regions", isGood: false, detail: "\(error)"))
      }
    }
    if let folder = invocation.value("--app") {
      look("stored measurement") { try stored(folder) }
    }
    let isGood = findings.allSatisfy(\.isGood)
    return Answer(
      .array(
        findings.map {
          [
            "what": .string($0.what), "state": $0.isGood ? "well" : "failed",
            "detail": .string($0.detail),
          ]
        }), isGood: isGood)
  }

  /// An address that apps get.
  private struct Address {
    let what: String
    let url: String
    let pins: [String]
  }

  /// The addresses of the account's configuration: those of home, then those of each region.
  private static func addresses(_ invocation: Invocation) throws -> [Address] {
    let value = try AccountAccess(invocation).perform("config/show")
    guard case .object(let shown) = value, let url = shown.text("url") else {
      throw Failure("the account's configuration has no address")
    }
    let pins = shown.texts("servicePins") ?? []
    var addresses: [Address] = []
    func add(_ region: String, _ url: String, _ failover: String?) {
      addresses.append(Address(what: "region \(region)", url: url, pins: pins))
      if let failover {
        addresses.append(Address(what: "fail-over of \(region)", url: failover, pins: pins))
      }
    }
    add("home", url, shown.text("failover"))
    if case .object(let regions) = shown["regions"] {
      for (name, value) in regions.members {
        guard case .object(let region) = value, let url = region.text("url") else { continue }
        add(name, url, region.text("failover"))
      }
    }
    return addresses
  }

  /// Asks an address as an app does: under the account's pins.
  private static func health(_ address: Address, _ invocation: Invocation) throws -> String {
    let answer = try RemoteAccount(address.url, invocation).get("/health", pins: address.pins)
    guard answer.status == 200 else {
      throw Failure("\(address.url)/health answers with status \(answer.status)")
    }
    return "\(address.url) answers, \(address.pins.isEmpty ? "not pinned" : "with a pinned key")"
  }

  private static func account(_ invocation: Invocation) throws -> String {
    let value = try AccountAccess(invocation).perform("metrics/show")
    guard case .object(let object) = value else { return value.text }
    return object.members.map { "\($0.name) \($0.value.text)" }.joined(separator: ", ")
  }

  /// Tokens are valid to the second, so a wrong clock refuses valid ones.
  private static func clock(_ theirs: UnixTime?) throws -> String {
    guard let theirs else { throw Failure("the service does not tell its time") }
    let difference = .now - theirs
    guard abs(difference) <= 30 else {
      throw Failure("this machine's clock differs by \(difference) seconds; set one of the two")
    }
    return "differs by \(difference) seconds"
  }

  private static func stored(_ folder: String) throws -> String {
    guard unsafe access(folder, F_OK) == 0 else {
      throw Failure("\(folder) does not exist; name the folder that the app's MeasurementStore has")
    }
    guard let stored = try MeasurementStore.inspect(folder: folder) else {
      return "nothing is stored"
    }
    return "instance \(stored.instance), generation \(stored.generation), "
      + "\(stored.tokens.count) tokens; \(stored.config)"
  }
}
