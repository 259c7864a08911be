import Console
import Glibc

/// What the command line asked for.
struct BenchOptions {
  let json: Bool
  let checks: Bool
  let checksRatios: Bool
  let rounds: Int
  let thresholds: String
  private let filter: String?

  private static let known = [
    Option(
      "--filter", "WORD",
      help: "runs the groups whose name contains WORD: proof, token, verify, peers"),
    Option("--rounds", "N", help: "rounds of each group, 11 to 10001; 301 unless told"),
    Option("--json", help: "prints everything as JSON"),
    Option("--check", help: "ends with 1 if a deterministic figure is not as in the thresholds"),
    Option(
      "--check-ratios", help: "holds ratios of times too: for a machine that does nothing else"),
    Option("--thresholds", "FILE", help: "Benchmarks/Thresholds unless told"),
  ]

  init(_ arguments: [String]) {
    do throws(UsageError) {
      let options = try Options(arguments.dropFirst(), taking: Self.known)
      if options.has("--help") {
        print(
          Options.help(
            "proof-bench [options]",
            "Measures proofs, tokens and the verifier, side by side with C and with libsodium.",
            Self.known))
        Terminal.end(0)
      }
      json = options.has("--json")
      checksRatios = options.has("--check-ratios")
      checks = options.has("--check") || checksRatios
      filter = options.value("--filter")
      thresholds = options.value("--thresholds") ?? "Benchmarks/Thresholds"
      guard let rounds = Int(options.value("--rounds") ?? "301"), (11...10_001).contains(rounds)
      else { throw UsageError("--rounds takes 11 to 10001") }
      self.rounds = rounds
    } catch {
      Terminal.complain("proof-bench: \(error); --help tells more")
      Terminal.end(2)
    }
  }

  /// The groups that the filter lets through. Ends the process if there are none.
  func wanted(_ groups: [() throws -> Group]) throws -> [Group] {
    let wanted = try groups.map { try $0() }.filter { filter.map($0.name.contains) ?? true }
    guard !wanted.isEmpty else {
      Terminal.complain("proof-bench: no group is called like \"\(filter ?? "")\"")
      Terminal.end(2)
    }
    return wanted
  }
}

/// A whole text file, without Foundation; nil if it cannot be read.
func contents(of path: String) -> String? {
  guard let file = unsafe fopen(path, "re") else { return nil }
  defer { _ = unsafe fclose(file) }
  var bytes: [UInt8] = []
  var chunk = [UInt8](repeating: 0, count: 4096)
  while true {
    let count = unsafe fread(&chunk, 1, chunk.count, file)
    if count == 0 { return String(decoding: bytes, as: UTF8.self) }
    bytes += chunk.prefix(count)
  }
}
