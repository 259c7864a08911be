import Console

/// What the command line asked for.
struct DemoOptions {
  let json: Bool
  let isSlow: Bool
  let seed: UInt64
  let hardware: String?
  let prepared: String?

  private static let known = [
    Option("--json", help: "prints every line as JSON, at the end"),
    Option("--seed", "N", help: "what is left to chance; 5 if missing"),
    Option("--slow", help: "waits before every step, for an audience"),
    Option(
      "--hardware", "PROGRAM", help: "another lock than proof-hardware, with its options"),
    Option(
      "--prepare", "FOLDER", help: "only enrols a phone, and leaves all there to go on by hand"),
  ]

  private static let usage = """
    proof-demo [options]
           proof-demo app --help        the sample app, by hand
           proof-demo attack --help     the thief's programs
    """

  init(_ arguments: some Collection<String>) {
    do throws(UsageError) {
      let options = try Options(arguments, taking: Self.known)
      if options.has("--help") {
        print(
          Options.help(
            Self.usage,
            "Plays a lock, the app that opens it, the service that believes the app, and thieves,\n"
              + "all as processes of their own, on this machine. Ends with 0 only if every line\n"
              + "ended as it must.", Self.known))
        Terminal.end(0)
      }
      json = options.has("--json")
      isSlow = options.has("--slow")
      hardware = options.value("--hardware")
      prepared = options.value("--prepare")
      if let text = options.value("--seed") {
        guard let number = UInt64(text) else {
          throw UsageError("--seed is \(text); it must be a whole number")
        }
        seed = number
      } else {
        seed = 5
      }
    } catch {
      Terminal.complain("proof-demo: \(error); --help tells more")
      Terminal.end(2)
    }
  }
}
