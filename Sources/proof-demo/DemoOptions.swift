import Console

/// The options of the command line.
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

  private static let usage = Usage(
    "proof-demo",
    """
    [options]
           proof-demo app --help        the sample app, by hand
           proof-demo attack --help     the thief's programs
    """,
    """
    Plays a lock, the app that opens it, the service that believes the app, and thieves,
    all as processes of their own, on this machine. Ends with 0 only if every line
    ended as it must.
    """, known)

  init(_ arguments: some Collection<String>) {
    self = Self.usage.made(of: arguments) { try Self($0) }
  }

  private init(_ options: Options) throws(UsageError) {
    json = options.has("--json")
    isSlow = options.has("--slow")
    seed = try options.number("--seed", within: 0...UInt64.max) ?? 5
    hardware = options.value("--hardware")
    prepared = options.value("--prepare")
  }
}
