// SPDX-License-Identifier: Apache-2.0

import Console
import DurableFiles
import ProofGate

/// `proof-gate check --nginx FILE`: finds the known mistakes in the proxy's configuration.
struct NginxVerb {
  private static let usage = Usage(
    "proof-gate check", "--nginx FILE [--routes FILE] [--allow NAME,…]",
    """
    Finds the known mistakes in an nginx configuration that asks a gate, in FILE and the files that it includes.
    Ends with 0 if there is none, and with 1 otherwise. docs/GATE.md has the names.
    """,
    [
      Option("--nginx", "FILE", help: "the configuration, such as /etc/nginx/nginx.conf"),
      Option("--routes", "FILE", help: "the gate's rules, which are compared with it"),
      Option("--allow", "NAME,…", help: "names of findings that are intended"),
    ])

  private let file: String
  private let routes: String?
  private let allowed: Set<NginxFinding.Kind>

  /// Runs the verb; only returns for arguments that are another verb's.
  static func check(_ arguments: some Collection<String>) {
    guard arguments.contains("--nginx") else { return }
    let verb = usage.made(of: arguments) { try Self($0) }
    do {
      Terminal.end(try verb.run() ? 0 : 1)
    } catch {
      Terminal.complain("proof-gate check: \(error)")
      Terminal.end(1)
    }
  }

  private init(_ options: Options) throws(UsageError) {
    file = try options.needed("--nginx")
    routes = options.value("--routes")
    allowed = Set(
      try options.list("--allow").map { name throws(UsageError) in
        guard let kind = NginxFinding.Kind(rawValue: name) else {
          let names = NginxFinding.Kind.allCases.map(\.rawValue).joined(separator: ", ")
          throw UsageError("--allow is \(name); it takes \(names)")
        }
        return kind
      })
  }

  /// Prints the findings.
  ///
  /// - Returns: Whether there is none.
  private func run() throws -> Bool {
    let rules = try routes.map { try GateFiles.routes($0) }
    let files = try NginxFiles(file) { path throws(NginxSyntaxError) in try Self.parts(path) }
    let findings = NginxCheck.findings(in: files, routes: rules)
      .filter { !allowed.contains($0.kind) }
    for finding in findings { print("\(finding)") }
    print("\(file): \(findings.count) found")
    return findings.isEmpty
  }

  private static func parts(_ path: String) throws(NginxSyntaxError) -> [NginxFiles.Part] {
    let isPattern = path.utf8.contains { "*?[".utf8.contains($0) }
    var parts: [NginxFiles.Part] = []
    for name in isPattern ? FileNames.matching(path) : [path] {
      do {
        guard
          let bytes = try SmallFile.beginning(of: name, byteCount: NginxFiles.byteCountMax + 1)
        else { continue }
        parts.append(NginxFiles.Part(name: name, bytes: bytes))
      } catch {
        throw NginxSyntaxError(
          place: NginxDirective.Place(file: name, line: 1), problem: "\(error)")
      }
    }
    return parts
  }
}
