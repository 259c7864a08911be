import Console

/// What the command line asked for.
struct DemoOptions {
  let json: Bool

  private static let known = [Option("--json", help: "prints every line as JSON")]

  init(_ arguments: [String]) {
    do throws(UsageError) {
      let options = try Options(arguments.dropFirst(), taking: Self.known)
      if options.has("--help") {
        print(
          Options.help(
            "proof-demo [options]",
            "Shows an offline measurement proof from the baseline to the receipt, then what is\n"
              + "refused. Ends with 0 only if every line ended as it must.",
            Self.known))
        Terminal.end(0)
      }
      json = options.has("--json")
    } catch {
      Terminal.complain("proof-demo: \(error); --help tells more")
      Terminal.end(2)
    }
  }
}
