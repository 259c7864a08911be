// SPDX-License-Identifier: Apache-2.0

import AccountStores
import Console
import DurableFiles
import Glibc
import ProofJOSE
import ProofKit
import ProofModel
import ProofService

/// The verbs about an account. Each is one of the management API, performed here or by a service.
enum AccountVerbs {
  static let all: [Verb] = [
    [initialise], KeyVerbs.all, apis, registrations, policy, devices, pins, strings,
  ].flatMap { $0 }

  /// A verb whose arguments come from the command line alone.
  static func verb(
    _ path: String, _ operands: [Operand] = [], _ flags: [Option] = [], _ summary: String,
    as api: String,
    _ arguments: @escaping @Sendable (Invocation) throws -> JSONObject = { _ in [:] }
  ) -> Verb {
    Verb(path, operands, flags, summary) { invocation in
      let arguments = try arguments(invocation)
      return Answer(try AccountAccess(invocation).perform(api, arguments))
    }
  }

  private static let initialise = Verb(
    "init", [Operand("ACCOUNT")],
    [
      Option(
        "--url", "URL", help: "where the service will be, such as https://attest.example.com:8443"),
      Option(
        "--management-token", "FILE", help: "writes the management token there; else it is shown"),
    ], "makes a store with an account and fresh keys; in a database, the account alone"
  ) { invocation in try makeAccount(invocation) }

  private static func makeAccount(_ invocation: Invocation) throws -> Answer {
    guard let path = invocation.value("--store", else: "PROOF_STORE") else {
      throw Failure.usage("--store is missing")
    }
    let url = try invocation.needed("--url")
    // The token is shown only once: if it cannot be written, make no account.
    if let file = invocation.value("--management-token"), unsafe access(file, F_OK) == 0 {
      throw Failure("\(file) is there already; name another file for the management token")
    }
    // Make the key file if it is missing; otherwise use it.
    if let file = invocation.value("--key-file"), unsafe access(file, F_OK) != 0 {
      try KeyFile.create(file)
    }
    let lock = try AccountAccess.lock(invocation)
    // An existing store names its account itself.
    let store = try StorePlace(path).create(for: invocation.operands[0])
    let (account, token) = try Account.create(
      invocation.operands[0], in: store, lockedBy: lock, url: url)
    var value: JSONObject = [
      "account": .string(account.name), "store": .string(path),
      "config": .string(try Management(account).initialConfiguration()),
    ]
    if let file = invocation.value("--management-token") {
      do { try SecretFile.create(file, Array(token.utf8).span) } catch {
        throw Failure(
          "\(error) The account was made, and its management token is lost: draw another one, "
            + "\"proofctl management change\".")
      }
      value["managementToken"] = .string("in \(file)")
    } else {
      value["managementToken"] = .string(token)
    }
    return Answer(.object(value))
  }

  static func verb(_ path: String, _ summary: String, as api: String) -> Verb {
    verb(path, [], [], summary, as: api)
  }

  static func set(
    _ object: inout JSONObject, _ name: String, _ value: String?
  ) {
    if let value { object[name] = .string(value) }
  }

  private static let apis: [Verb] = [
    Verb(
      "api add", [Operand("DOMAIN")],
      [
        Option("--jwe", help: "its tokens are sealed, so that they may carry measurements"),
        Option("--no-token", help: "no tokens: the host is pinned only"),
        Option("--gate", "NAME", help: "no tokens: the gate of this name judges each request"),
        Option("--keyset", "KID", help: "the key that signs or seals its tokens"),
        Option(
          "--audience", "on|off",
          help: "whether its tokens name it in “aud”; the policy's choice if missing"),
        Option("--signed-by", "KID", help: "with --jwe: the key that signs the inner token"),
        Option("--pin", "PIN,…", help: "its pins: base64 of the SHA-256 of public keys"),
      ], "adds an API"
    ) { invocation in
      let kinds = ["--jwe", "--no-token", "--gate"].filter { invocation.has($0) }
      guard kinds.count <= 1 else {
        throw Failure.usage("\(kinds.joined(separator: " and ")) exclude each other")
      }
      let account = try AccountAccess(invocation)
      let host = invocation.operands[0]
      let kind =
        switch kinds.first {
        case "--jwe": "measurement"
        case "--no-token": "none"
        case "--gate": "proof"
        default: "token"
        }
      var api: JSONObject = ["host": .string(host), "kind": .string(kind)]
      set(&api, "kid", invocation.value("--keyset"))
      set(&api, "signedBy", invocation.value("--signed-by"))
      set(&api, "gate", invocation.value("--gate"))
      if let word = invocation.value("--audience") {
        guard ["on", "off"].contains(word) else {
          throw Failure.usage("--audience is on or off")
        }
        api["audience"] = .bool(word == "on")
      }
      // Use one step: a refusal leaves no API without pins, and changes no other one's pins.
      if let pins = invocation.value("--pin") { api["pins"] = list(pins) }
      return Answer(try account.perform("api/add", api))
    },
    verb(
      "api change", [Operand("DOMAIN")],
      [
        Option("--keyset", "KID", help: "the key that signs or seals its tokens from now on"),
        Option("--own-key", help: "the account's own key instead of one of a key set"),
        Option("--signed-by", "KID", help: "the key that signs the inner token, from now on"),
        Option("--unsigned", help: "removes the signature of the inner token"),
        Option("--audience", "on|off|policy", help: "whether its tokens name it in “aud”"),
        KeyVerbs.atOnce,
      ], "changes the keys or the audience of an API's tokens", as: "api/change"
    ) { invocation in
      var change: JSONObject = ["host": .string(invocation.operands[0])]
      let flags = ["--keyset", "--own-key", "--signed-by", "--unsigned", "--audience"]
      guard flags.contains(where: { invocation.has($0) }) else {
        throw Failure.usage(
          "say what to change: --keyset KID, --own-key, --signed-by KID, --unsigned or --audience")
      }
      set(&change, "kid", invocation.value("--keyset"))
      if invocation.has("--own-key") { change["ownKey"] = .bool(true) }
      set(&change, "signedBy", invocation.value("--signed-by"))
      if invocation.has("--unsigned") { change["unsigned"] = .bool(true) }
      set(&change, "audience", invocation.value("--audience"))
      change["atOnce"] = .bool(invocation.has("--at-once"))
      return change
    },
    verb("api list", "lists the APIs", as: "api/list"),
    verb("api remove", [Operand("DOMAIN")], [], "removes an API with its pins", as: "api/remove") {
      ["host": .string($0.operands[0])]
    },
    Verb(
      "api check", [Operand("DOMAIN", .optional)], [],
      "connects to the APIs, and says whether their keys are among the pins", run: APICheck.run),
  ]

  static func list(_ text: String) -> JSONValue {
    .array(text.split(separator: ",").map { .string(String($0)) })
  }

  private static let bundleOption = Option(
    "--bundle", "FOLDER",
    help: "the app's bundle, as it is installed; NAME=FOLDER: a further folder", isRepeatable: true)

  private static let registrations: [Verb] = [
    Verb(
      "registration add", [Operand("EXECUTABLE")],
      [
        bundleOption,
        Option("--name", "TEXT", help: "what people call the build"),
        Option("--development", help: "a build for development"),
        Option("--expire-after", "TIME", help: "such as 90s, 15m, 1h, 30d"),
        Option(
          "--without", "SOURCE,…", help: "evidence that does not count, such as 3/4/anonymous"),
        Option(
          "--upcoming", "DIGEST",
          help: "an update of this registered build: apps get the pair for it before they update"),
        Option(
          "--records", "FILE",
          help: "with --upcoming: records of a reference machine, one a line (SDK.md)"),
        Option("--key-id", "ID", help: "with --upcoming: key id of its SDK build, if it differs"),
      ], "registers a build of an app by its files"
    ) { invocation in
      let executable = invocation.operands[0]
      let evidence = try InstalledApp(
        executable: executable, folderArguments: invocation.values("--bundle")
      ).evidence()
      let digest = AppDigest(of: evidence)
      let name = executable.split(separator: "/").last.map(String.init) ?? ""
      var arguments: JSONObject = [
        "digest": .string(digest.description),
        "development": .bool(invocation.has("--development")),
        "name": .string(invocation.value("--name") ?? name),
      ]
      set(&arguments, "without", invocation.value("--without"))
      if let time = invocation.value("--expire-after") {
        arguments["expireAfter"] = .number(JSONNumber(try seconds(time)))
      }
      try UpcomingVerbs.add(to: &arguments, evidence, invocation)
      return Answer(try AccountAccess(invocation).perform("registration/add", arguments))
    },
    UpcomingVerbs.environment,
    Verb(
      "registration digest", [Operand("EXECUTABLE")],
      [bundleOption],
      "computes the name of a build from its files, without an account"
    ) { invocation in
      let digest = try InstalledApp(
        executable: invocation.operands[0], folderArguments: invocation.values("--bundle")
      ).digest()
      return Answer(["digest": .string(digest.description)], text: digest.description)
    },
    verb("registration list", "lists the registered builds", as: "registration/list"),
    verb(
      "registration remove", [Operand("DIGEST")], [], "removes a build", as: "registration/remove"
    ) { ["digest": .string($0.operands[0])] },
  ]

  static func seconds(_ text: String) throws(Failure) -> Int64 {
    let units: [Character: Int64] = ["s": 1, "m": 60, "h": 3_600, "d": 86_400]
    guard let unit = text.last.flatMap({ units[$0] }), let count = Int64(text.dropLast()),
      count > 0, count < 1_000_000_000
    else { throw .usage("\"\(text)\" is no time; write 90s, 15m, 1h or 30d") }
    return count * unit
  }

  private static let policy: [Verb] = [
    verb("policy show", "shows the policy", as: "policy/show"),
    policySet,
  ]

  private static let policySet: Verb = {
    var set = verb(
      "policy set", [Operand("NAME=VALUE", .some)], [], "changes settings", as: "policy/set"
    ) { invocation in
      var settings = JSONObject()
      for operand in invocation.operands {
        guard let equals = operand.firstIndex(of: "=") else {
          throw Failure.usage("\"\(operand)\" is no setting; write NAME=VALUE")
        }
        settings[String(operand[..<equals])] = .string(String(operand[equals...].dropFirst()))
      }
      return settings
    }
    let settings = PolicySetting.allCases.map { ($0.rawValue, $0.meaning) }
    set.details =
      "Settings; “proofctl policy show” prints their values:\n\n" + Usage.columns(settings)
    return set
  }()

  private static let device = [Operand("DEVICE|latest")]

  private static let devices: [Verb] = [
    verb(
      "device list", [], [Option("--count", "N", help: "at most so many; 50 if missing")],
      "lists the devices seen last", as: "device/list"
    ) { invocation in
      guard let text = invocation.value("--count") else { return [:] }
      guard let count = Int64(text) else { throw Failure.usage("--count takes a number") }
      return ["count": .number(JSONNumber(count))]
    },
    verb("device pass", device, [], "lets a device pass, whatever it shows", as: "device/pass") {
      ["device": .string($0.operands[0])]
    },
    verb("device fail", device, [], "lets a device fail, whatever it shows", as: "device/fail") {
      ["device": .string($0.operands[0])]
    },
    verb("device clear", device, [], "removes pass and fail", as: "device/clear") {
      ["device": .string($0.operands[0])]
    },
    verb(
      "device annotate", device + [Operand("PROPERTIES")], [],
      "puts properties of a device into its tokens (“anno”)", as: "device/annotate"
    ) {
      ["device": .string($0.operands[0]), "annotations": .string($0.operands[1])]
    },
  ]

  private static let pins: [Verb] = [
    verb("pin list", "lists the pins", as: "pin/list"),
    verb(
      "pin set", [Operand("HOST|*"), Operand("PIN|none", .some)], [],
      "sets a host's pins; none: the host is known, and not pinned", as: "pin/set"
    ) { invocation in
      ["host": .string(invocation.operands[0]), "pins": try pins(invocation, from: 1)]
    },
    verb("pin remove", [Operand("HOST|*")], [], "removes a host's pins", as: "pin/remove") {
      ["host": .string($0.operands[0])]
    },
    verb(
      "pin service", [Operand("PIN|none", .some)], [], "sets the pins of the service itself",
      as: "pin/service"
    ) { ["pins": try pins($0, from: 0)] },
    Verb(
      "pin force", [], [], "makes running apps apply the present pins at once",
      run: PinForce.run),
    verb("config show", "shows the apps' configuration", as: "config/show"),
    verb(
      "config change-key", "signs the configuration with a fresh key, which the present one names",
      as: "config/change-key"),
    verb(
      "config retire-keys", [Operand("YES")], [],
      "leaves out how apps get from earlier keys to the present one", as: "config/retire-keys"
    ) { ["confirm": .string($0.operands[0])] },
    verb("config url", [Operand("URL")], [], "says where the service is", as: "config/url") {
      ["url": .string($0.operands[0])]
    },
    verb(
      "config failover", [Operand("URL|none")], [],
      "says where apps go while the service's address does not answer", as: "config/failover"
    ) { $0.operands[0] == "none" ? [:] : ["url": .string($0.operands[0])] },
    verb(
      "config region", [Operand("REGION"), Operand("URL|none")],
      [Option("--failover", "URL", help: "where its apps go while URL does not answer")],
      "says where the service is for apps of a region", as: "config/region"
    ) { invocation in
      var arguments: JSONObject = ["region": .string(invocation.operands[0])]
      if invocation.operands[1] != "none" { arguments["url"] = .string(invocation.operands[1]) }
      if let url = invocation.value("--failover") { arguments["failover"] = .string(url) }
      return arguments
    },
  ]

  private static func pins(_ invocation: Invocation, from index: Int) throws -> JSONValue {
    let pins = invocation.operands.dropFirst(index).filter { $0 != "none" }
    return .array(pins.map { .string($0) })
  }

  private static let strings: [Verb] = [
    verb("arc read", [Operand("CODE")], [], "says what a response code means", as: "arc/read") {
      ["code": .string($0.operands[0])]
    },
    verb("string list", "lists the secure strings", as: "string/list"),
    verb(
      "string set", [Operand("NAME"), Operand("VALUE|@FILE|-")], [],
      "defines a secure string for apps that pass", as: "string/set"
    ) {
      [
        "name": .string($0.operands[0]),
        "value": .string(try Invocation.content(of: $0.operands[1])),
      ]
    },
    verb("string remove", [Operand("NAME")], [], "removes a secure string", as: "string/remove") {
      ["name": .string($0.operands[0])]
    },
    verb(
      "stringkey list", "shows which secrets of apps' own strings there are",
      as: "stringkey/list"),
    verb(
      "stringkey rotate", "creates a new secret; strings under the previous one stay readable",
      as: "stringkey/rotate"),
    verb(
      "stringkey retire", [], [KeyVerbs.atOnce], "drops the previous secret",
      as: "stringkey/retire"
    ) { ["atOnce": .bool($0.has("--at-once"))] },
    verb("saltkey list", "shows which keys of challenges there are", as: "saltkey/list"),
    verb(
      "saltkey rotate", "creates a new key of challenges; those of the previous one stay valid",
      as: "saltkey/rotate"),
    verb(
      "saltkey replace", "creates a new key of challenges, and ends pending challenges",
      as: "saltkey/replace"),
    verb(
      "metrics show", "shows the numbers of devices, APIs, registrations, builds and keys",
      as: "metrics/show"),
  ]
}
