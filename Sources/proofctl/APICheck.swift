// SPDX-License-Identifier: Apache-2.0

import ProofJOSE
import ProofKit
import ProofKitHTTP
import ProofService

/// Connects to APIs as apps will, with the account's pins.
enum APICheck {
  static func run(_ invocation: Invocation) throws -> Answer {
    let account = try AccountAccess(invocation)
    let hosts = try names(try account.perform("api/list"), "host")
      .filter { host in invocation.operand(0).map { $0 == host } ?? true }
    guard !hosts.isEmpty else {
      throw Failure("there is no such API; \"proofctl api list\" lists the APIs")
    }
    let pins = try account.perform("pin/list")
    let transport = CurlTransport(.init(authorities: invocation.value("--ca")))
    var isGood = true
    let findings = hosts.map { host -> JSONValue in
      let known = Self.pins(of: host, in: pins)
      let count = JSONNumber(Int64(known.count))
      var finding: JSONObject = ["host": .string(host), "pins": .number(count)]
      do throws(TransportError) {
        let answer = try transport.send(
          TransportRequest(url: "https://\(host)/", pins: known, timeout: .seconds(10)))
        finding["state"] = .string("well")
        finding["detail"] = .string("answers with status \(answer.status)")
      } catch {
        isGood = false
        finding["state"] = .string("failed")
        finding["detail"] = .string("\(error)")
      }
      return .object(finding)
    }
    return Answer(.array(findings), isGood: isGood)
  }

  private static func names(_ list: JSONValue, _ name: String) throws -> [String] {
    guard case .array(let values) = list else { throw Failure("the list of APIs is none") }
    return values.compactMap { value in
      if case .object(let object) = value { object.text(name) } else { nil }
    }
  }

  /// A host that is listed with no pins uses the roots' pins; an unlisted host has none.
  private static func pins(of host: String, in list: JSONValue) -> [String] {
    guard case .array(let values) = list else { return [] }
    func texts(_ name: String) -> [String]? {
      for case .object(let object) in values where object.text("host") == name {
        return object.texts("pins")
      }
      return nil
    }
    return texts(host) ?? []
  }
}
