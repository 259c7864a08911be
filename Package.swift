// swift-tools-version: 6.2
// SPDX-License-Identifier: Apache-2.0

import PackageDescription

// Every warning is an error, in both languages, and Swift checks each unsafe expression. An import
// is for the file's own use unless it says `public`.
let strictSwift: [SwiftSetting] = [
  .enableUpcomingFeature("InternalImportsByDefault"),
  .strictMemorySafety(),
  .treatAllWarnings(as: .error),
]
let strictC: [CSetting] = [
  .enableWarning("all"),
  .enableWarning("extra"),
  .enableWarning("pedantic"),
  .enableWarning("conversion"),
  .enableWarning("shadow"),
  .treatAllWarnings(as: .error),
]
// A program in C that links nothing of the core, and prints its version.
let versionC: [CSetting] = [.headerSearchPath("../../../../CSources/ProofCore/include")]
// Hashing without optimisation takes twenty times as long, so a debug build of an app optimises the
// C that measures and proves. From tools version 6.2 on, a package with such a flag can be a
// dependency by version; Tests/Process/Consumers shows it.
let optimisedC: [CSetting] =
  strictC + [.unsafeFlags(["-O2"], .when(configuration: .debug))]

// Targets stand in the order in which data flows: the core, the values, the app's SDK, then those
// who show, measure and test them.
let package = Package(
  name: "ProofKit",
  products: [
    .library(name: "ProofBytes", targets: ["ProofBytes"]),
    .library(name: "ProofModel", targets: ["ProofModel"]),
    .library(name: "ProofKit", targets: ["ProofKit"]),
    .library(name: "ProofRequest", targets: ["ProofRequest"]),
    .library(name: "ProofKitHTTP", targets: ["ProofKitHTTP"]),
    .library(name: "ProofKitKeys", targets: ["ProofKitKeys"]),
    .library(name: "ProofKitTPM", targets: ["ProofKitTPM"]),
    .library(name: "ProofLink", targets: ["ProofLink"]),
    .library(name: "ProofApp", targets: ["ProofApp"]),
    .library(name: "ProofMigration", targets: ["ProofMigration"]),
    .library(name: "ProofKitTesting", targets: ["ProofKitTesting"]),
    .library(name: "ProofJOSE", targets: ["ProofJOSE"]),
    .library(name: "ProofBackend", targets: ["ProofBackend"]),
    .library(name: "ProofGate", targets: ["ProofGate"]),
    .library(name: "HTTPServing", targets: ["HTTPServing"]),
    .library(name: "ProofService", targets: ["ProofService"]),
    .executable(name: "proof-hardware", targets: ["proof-hardware"]),
    .executable(name: "proof-relay", targets: ["proof-relay"]),
    .executable(name: "proof-demo", targets: ["proof-demo"]),
    .executable(name: "proof-service", targets: ["proof-service"]),
    .executable(name: "proof-unlock", targets: ["proof-unlock"]),
    .executable(name: "proof-shop", targets: ["proof-shop"]),
    .executable(name: "proof-gate", targets: ["proof-gate"]),
    .executable(name: "proofctl", targets: ["proofctl"]),
    .executable(name: "proof-bench", targets: ["proof-bench"]),
  ],
  targets: [
    .systemLibrary(
      name: "CSodium", path: "CSources/CSodium", pkgConfig: "libsodium",
      providers: [.apt(["libsodium-dev"])]),
    .target(
      name: "ProofCore", dependencies: ["CSodium"], path: "CSources/ProofCore",
      cSettings: optimisedC),
    .target(
      name: "ProofKey", dependencies: ["ProofCore"], path: "CSources/ProofKey",
      exclude: ["generate"], cSettings: optimisedC),

    .target(
      name: "ProofDevice", dependencies: ["ProofCore"], path: "CSources/ProofDevice",
      cSettings: strictC),
    .executableTarget(
      name: "proof-hardware", dependencies: ["ProofDevice", "ProofCore"],
      path: "CSources/proof-hardware", cSettings: strictC),

    .target(
      name: "ProofProbe", dependencies: ["ProofCore", "CSodium"], path: "CSources/ProofProbe",
      cSettings: optimisedC + [.headerSearchPath(".")]),

    .target(name: "ProofBytes", swiftSettings: strictSwift),
    .target(
      name: "ProofModel", dependencies: ["ProofBytes", "ProofCore", "CSodium"],
      swiftSettings: strictSwift),
    .target(name: "ProofRequest", dependencies: ["ProofModel"], swiftSettings: strictSwift),
    .target(name: "DurableFiles", swiftSettings: strictSwift),
    .target(
      name: "ProofKit",
      dependencies: [
        "ProofBytes", "ProofModel", "ProofRequest", "ProofKey", "ProofProbe", "DurableFiles",
      ],
      exclude: ["Bridge/proofkit-bridge.js"], swiftSettings: strictSwift),

    .systemLibrary(
      name: "LibCurl", path: "CSources/CCurl/libcurl", pkgConfig: "libcurl",
      providers: [.apt(["libcurl4-openssl-dev"])]),
    .target(
      name: "CCurl", dependencies: ["LibCurl"], path: "CSources/CCurl", exclude: ["libcurl"],
      cSettings: strictC),
    .target(
      name: "ProofKitHTTP", dependencies: ["ProofKit", "ProofModel", "CCurl"],
      swiftSettings: strictSwift),

    .target(
      name: "ProofLink", dependencies: ["ProofKit", "ProofModel", "DurableFiles"],
      swiftSettings: strictSwift),

    .target(
      name: "ProofApp", dependencies: ["ProofKit", "ProofKitHTTP", "ProofLink", "ProofModel"],
      swiftSettings: strictSwift),
    .target(
      name: "ProofMigration", dependencies: ["ProofApp", "ProofKit", "ProofModel"],
      swiftSettings: strictSwift),
    .target(
      name: "ProofKitTesting", dependencies: ["ProofApp", "ProofKit", "ProofLink", "ProofModel"],
      swiftSettings: strictSwift),

    .target(
      name: "LinkSimulation", dependencies: ["ProofBytes", "ProofLink", "ProofModel"],
      swiftSettings: strictSwift),

    .systemLibrary(
      name: "LibCrypto", path: "CSources/CCrypto/libcrypto", pkgConfig: "libcrypto",
      providers: [.apt(["libssl-dev"])]),
    .target(
      name: "CCrypto", dependencies: ["LibCrypto"], path: "CSources/CCrypto",
      exclude: ["libcrypto"], cSettings: strictC),
    .target(
      name: "ProofKitKeys", dependencies: ["ProofKit", "ProofModel", "DurableFiles", "CCrypto"],
      swiftSettings: strictSwift),
    .systemLibrary(
      name: "LibTSS2", path: "CSources/CTPM/libtss2", pkgConfig: "tss2-esys",
      providers: [.apt(["libtss2-dev"])]),
    .target(
      name: "CTPM", dependencies: ["LibTSS2"], path: "CSources/CTPM", exclude: ["libtss2"],
      cSettings: strictC),
    .target(
      name: "ProofKitTPM", dependencies: ["ProofKitKeys", "ProofKit", "ProofModel", "CTPM"],
      swiftSettings: strictSwift),

    .target(
      name: "ProofJOSE", dependencies: ["ProofBytes", "CCrypto"], swiftSettings: strictSwift),
    .systemLibrary(
      name: "CSQLite", path: "CSources/CSQLite", pkgConfig: "sqlite3",
      providers: [.apt(["libsqlite3-dev"])]),
    .systemLibrary(
      name: "LibPQ", path: "CSources/CPostgres/libpq", pkgConfig: "libpq",
      providers: [.apt(["libpq-dev"])]),
    .target(
      name: "CPostgres", dependencies: ["LibPQ"], path: "CSources/CPostgres", exclude: ["libpq"],
      cSettings: strictC),
    .target(
      name: "PostgresStore", dependencies: ["ProofModel", "CPostgres"],
      resources: [
        .embedInCode("Schema/Migrations/v1-tables.up.sql"),
        .embedInCode("Schema/Migrations/v1-tables.down.sql"),
        .embedInCode("Schema/Migrations/v2-use.up.sql"),
        .embedInCode("Schema/Migrations/v2-use.down.sql"),
        .embedInCode("Schema/Migrations/v3-operations.up.sql"),
        .embedInCode("Schema/Migrations/v3-operations.down.sql"),
        .embedInCode("Schema/Migrations/v4-store.up.sql"),
        .embedInCode("Schema/Migrations/v4-store.down.sql"),
        .embedInCode("Schema/Migrations/v5-replay.up.sql"),
        .embedInCode("Schema/Migrations/v5-replay.down.sql"),
        .embedInCode("Schema/Migrations/v6-move.up.sql"),
        .embedInCode("Schema/Migrations/v6-move.down.sql"),
        .embedInCode("Schema/Migrations/v7-lease.up.sql"),
        .embedInCode("Schema/Migrations/v7-lease.down.sql"),
        .embedInCode("Schema/Migrations/v8-gate.up.sql"),
        .embedInCode("Schema/Migrations/v8-gate.down.sql"),
        .embedInCode("Schema/Migrations/v9-ledger.up.sql"),
        .embedInCode("Schema/Migrations/v9-ledger.down.sql"),
        .embedInCode("Schema/Migrations/v10-plans.up.sql"),
        .embedInCode("Schema/Migrations/v10-plans.down.sql"),
        .embedInCode("Schema/Migrations/v11-replicas.up.sql"),
        .embedInCode("Schema/Migrations/v11-replicas.down.sql"),
      ], swiftSettings: strictSwift),
    .target(
      name: "PostgresBackend", dependencies: ["PostgresStore", "ProofBackend", "ProofModel"],
      swiftSettings: strictSwift),
    .target(
      name: "AccountStores",
      dependencies: [
        "PostgresBackend", "PostgresStore", "ProofService", "ProofBackend", "ProofModel",
      ],
      swiftSettings: strictSwift),
    .target(
      name: "ProofBackend",
      dependencies: ["ProofModel", "ProofRequest", "ProofJOSE", "DurableFiles", "CSQLite"],
      swiftSettings: strictSwift),

    .target(
      name: "ProofGate",
      dependencies: [
        "ProofBytes", "ProofBackend", "ProofRequest", "ProofJOSE", "ProofModel", "DurableFiles",
      ],
      resources: [
        .embedInCode("Page/page.html"), .embedInCode("Page/page-body.html"),
        .embedInCode("Page/page-plain.html"), .embedInCode("Page/page.css"),
        .embedInCode("Page/page.js"), .embedInCode("Page/work.js"),
      ], swiftSettings: strictSwift),

    .systemLibrary(
      name: "LibMicroHTTPD", path: "CSources/CMicroHTTPD/libmicrohttpd",
      pkgConfig: "libmicrohttpd", providers: [.apt(["libmicrohttpd-dev"])]),
    .systemLibrary(
      name: "LibGnuTLS", path: "CSources/CMicroHTTPD/libgnutls", pkgConfig: "gnutls",
      providers: [.apt(["libgnutls28-dev"])]),
    .target(
      name: "CMicroHTTPD", dependencies: ["LibMicroHTTPD", "LibGnuTLS"],
      path: "CSources/CMicroHTTPD", exclude: ["libmicrohttpd", "libgnutls"], cSettings: strictC),
    .target(
      name: "HTTPServing", dependencies: ["ProofBytes", "CMicroHTTPD", "ProofJOSE", "ProofModel"],
      swiftSettings: strictSwift),
    .target(
      name: "EventServing",
      dependencies: [
        "PostgresBackend", "ProofGate", "ProofBackend", "HTTPServing", "ProofJOSE", "ProofModel",
        "DurableFiles", "Console",
      ],
      swiftSettings: strictSwift),
    .target(
      name: "ProofService",
      dependencies: [
        "ProofBytes", "ProofBackend", "ProofModel", "ProofJOSE", "HTTPServing", "CSodium",
        "CSQLite", "CCrypto",
      ],
      swiftSettings: strictSwift),

    .target(
      name: "Console", dependencies: ["ProofBytes", "ProofCore"], swiftSettings: strictSwift),
    .executableTarget(
      name: "proofctl",
      dependencies: [
        "AccountStores", "PostgresStore", "ProofService", "ProofBackend", "ProofKit",
        "ProofKitHTTP", "ProofJOSE", "ProofModel", "DurableFiles", "Console", "ProofCore",
      ],
      swiftSettings: strictSwift),
    .executableTarget(
      name: "proof-unlock",
      dependencies: [
        "AccountStores", "ProofBackend", "ProofService", "HTTPServing", "ProofJOSE", "ProofModel",
        "DurableFiles", "Console",
      ],
      swiftSettings: strictSwift),
    .executableTarget(
      name: "proof-shop",
      dependencies: [
        "ProofBackend", "ProofRequest", "HTTPServing", "ProofJOSE", "ProofModel", "DurableFiles",
        "Console",
      ],
      swiftSettings: strictSwift),
    .executableTarget(
      name: "proof-gate",
      dependencies: [
        "EventServing", "PostgresBackend", "ProofGate", "ProofBackend", "ProofRequest",
        "ProofKitHTTP", "ProofKit",
        "HTTPServing", "ProofJOSE", "ProofModel", "DurableFiles", "Console",
      ],
      swiftSettings: strictSwift),
    .executableTarget(
      name: "proof-relay", dependencies: ["LinkSimulation", "ProofLink", "Console"],
      swiftSettings: strictSwift),
    .executableTarget(
      name: "proof-demo",
      dependencies: [
        "ProofApp", "ProofBytes", "ProofKit", "ProofKitHTTP", "ProofLink", "ProofRequest",
        "ProofModel", "Console",
      ],
      exclude: ["Props"], swiftSettings: strictSwift),
    // The demonstration's props. The Makefile builds one more, a library to preload.
    .executableTarget(
      name: "proof-child", path: "Sources/proof-demo/Props/proof-child",
      cSettings: strictC + versionC),
    .executableTarget(
      name: "proof-tracer", path: "Sources/proof-demo/Props/proof-tracer",
      cSettings: strictC + versionC),
    .executableTarget(
      name: "proof-elsewhere", path: "Sources/proof-demo/Props/proof-elsewhere",
      cSettings: strictC + versionC),
    .executableTarget(
      name: "proof-service",
      dependencies: [
        "AccountStores", "ProofService", "EventServing", "ProofBackend", "HTTPServing", "ProofJOSE",
        "ProofModel", "DurableFiles", "Console",
      ],
      swiftSettings: strictSwift),
    .target(
      name: "AllocationCounter", path: "Benchmarks/AllocationCounter", cSettings: strictC),
    .target(
      name: "BenchInstruments", dependencies: ["LibCrypto"], path: "Benchmarks/BenchInstruments",
      cSettings: strictC),
    .target(
      name: "ProofBench", dependencies: ["ProofBytes", "Console"], path: "Benchmarks/ProofBench",
      swiftSettings: strictSwift),
    .target(
      name: "SimulatedDevices", dependencies: ["ProofKit", "ProofModel"],
      path: "Benchmarks/SimulatedDevices", swiftSettings: strictSwift),
    .executableTarget(
      name: "proof-bench",
      dependencies: [
        "ProofKit", "ProofBackend", "ProofGate", "ProofService", "HTTPServing", "ProofLink",
        "LinkSimulation",
        "ProofJOSE", "ProofModel", "ProofRequest", "ProofCore", "CSodium", "CCrypto", "LinkBench",
        "SimulatedDevices", "Console", "ProofBench", "AllocationCounter", "BenchInstruments",
      ],
      path: "Benchmarks/proof-bench", swiftSettings: strictSwift),
    .systemLibrary(
      name: "LibSSL", path: "Benchmarks/LoadLink/libssl", pkgConfig: "libssl",
      providers: [.apt(["libssl-dev"])]),
    .target(
      name: "LoadLink", dependencies: ["LibSSL", "LibCrypto"], path: "Benchmarks/LoadLink",
      exclude: ["libssl"], cSettings: strictC),
    .executableTarget(
      name: "proof-load",
      dependencies: ["SimulatedDevices", "ProofKit", "ProofModel", "Console", "LoadLink"],
      path: "Benchmarks/proof-load", swiftSettings: strictSwift),

    .target(
      name: "ReasonRows", path: "Tests/Support/ReasonRows", swiftSettings: strictSwift),
    .target(
      name: "RealProcess", dependencies: ["ProofModel"], path: "Tests/Support/RealProcess",
      swiftSettings: strictSwift),
    .testTarget(
      name: "ConsoleTests", dependencies: ["Console"], path: "Tests/Unit/ConsoleTests",
      swiftSettings: strictSwift),
    .target(name: "DeepCall", path: "Tests/Unit/ProofBenchTests/DeepCall", cSettings: strictC),
    .testTarget(
      name: "ProofBenchTests",
      dependencies: ["ProofBytes", "ProofBench", "BenchInstruments", "DeepCall", "Console"],
      path: "Tests/Unit/ProofBenchTests", exclude: ["DeepCall"], swiftSettings: strictSwift),
    .target(name: "MemoryScan", path: "Tests/Support/MemoryScan", cSettings: strictC),
    .target(
      name: "MemoryWitness", dependencies: ["MemoryScan"],
      path: "Tests/Unit/ProofModelTests/MemoryWitness", cSettings: strictC),
    .testTarget(
      name: "ProofModelTests",
      dependencies: [
        "ProofKit", "ProofModel", "ProofCore", "MemoryWitness", "ReasonRows", "SeededRandom",
        "VectorFiles",
      ],
      path: "Tests/Unit/ProofModelTests", exclude: ["MemoryWitness", "Mutants"],
      swiftSettings: strictSwift),
    .testTarget(
      name: "ProofRequestTests", dependencies: ["ProofRequest", "ProofModel", "SeededRandom"],
      path: "Tests/Unit/ProofRequestTests", swiftSettings: strictSwift),
    .target(
      name: "FolderModel", dependencies: ["DurableFiles"], path: "Tests/Support/FolderModel",
      swiftSettings: strictSwift),
    .testTarget(
      name: "ProofKitTests",
      dependencies: [
        "ProofKit", "ProofModel", "ProofRequest", "ProofGate", "ProofBackend", "ProofJOSE",
        "DurableFiles", "FolderModel", "ReasonRows", "SeededRandom", "AllocationCounter",
        "ProofMigration", "ProofKitTesting", "OpenFiles", "OwnThreads",
      ],
      path: "Tests/Unit/ProofKitTests", swiftSettings: strictSwift),
    .testTarget(
      name: "ProofKitKeysTests",
      dependencies: ["ProofKitKeys", "ProofKitTPM", "ProofKit", "ProofModel", "SeededRandom"],
      path: "Tests/Unit/ProofKitKeysTests", swiftSettings: strictSwift),
    .executableTarget(
      name: "app-peer",
      dependencies: ["ProofKit", "ProofKitHTTP", "ProofKitKeys", "ProofKitTPM", "ProofModel"],
      path: "Tests/Process/Backend/app-peer", swiftSettings: strictSwift),
    .executableTarget(
      name: "request-peer",
      dependencies: [
        "ProofBackend", "ProofRequest", "ProofKitKeys", "ProofKitTPM", "ProofKit", "ProofModel",
      ],
      path: "Tests/Process/Backend/request-peer", swiftSettings: strictSwift),
    .executableTarget(
      name: "gate-app", dependencies: ["ProofKit", "ProofKitHTTP", "ProofModel"],
      path: "Tests/Process/Gate/gate-app", swiftSettings: strictSwift),
    .executableTarget(
      name: "event-judge", dependencies: ["ProofBackend", "ProofJOSE", "ProofModel"],
      path: "Tests/Process/WebKit/event-judge", swiftSettings: strictSwift),
    .executableTarget(
      name: "store-victim",
      dependencies: ["ProofBackend", "ProofService", "ProofLink", "ProofKit", "ProofModel"],
      path: "Tests/Adversary/Store/store-victim", swiftSettings: strictSwift),
    .target(
      name: "SilentResolver", path: "Tests/Unit/ProofKitHTTPTests/SilentResolver",
      cSettings: strictC),
    .testTarget(
      name: "ProofKitHTTPTests",
      dependencies: [
        "ProofKitHTTP", "ProofKitKeys", "ProofKit", "ProofModel", "ProofRequest", "ProofJOSE",
        "ProofBackend", "ProofService", "HTTPServing", "SilentResolver", "RealProcess",
        "ProofMigration", "proof-service", "OwnThreads",
      ],
      path: "Tests/Unit/ProofKitHTTPTests", exclude: ["SilentResolver"], swiftSettings: strictSwift),
    .executableTarget(
      name: "jose-peer", dependencies: ["ProofJOSE"], path: "Tests/Process/JOSE/jose-peer",
      swiftSettings: strictSwift),
    .target(
      name: "JOSEWitness", dependencies: ["LibCrypto", "MemoryScan"],
      path: "Tests/Unit/ProofJOSETests/JOSEWitness", cSettings: strictC),
    .testTarget(
      name: "ProofJOSETests",
      dependencies: ["ProofJOSE", "JOSEWitness", "ReasonRows", "SeededRandom"],
      path: "Tests/Unit/ProofJOSETests", exclude: ["JOSEWitness"],
      swiftSettings: strictSwift),
    .executableTarget(
      name: "service-store",
      dependencies: ["AccountStores", "ProofService", "ProofKit", "ProofModel", "ProofJOSE"],
      path: "Tests/Process/Service/service-store", swiftSettings: strictSwift),
    .testTarget(
      name: "ProofBackendTests",
      dependencies: [
        "AccountStores", "PostgresBackend", "PostgresServers", "PostgresStore", "ProofBackend",
        "ProofService", "ProofRequest", "ProofKit", "ProofKitKeys", "ProofModel",
        "ProofJOSE", "DurableFiles", "FolderModel", "ReasonRows", "SeededRandom", "OpenFiles",
        "OwnThreads",
      ],
      path: "Tests/Unit/ProofBackendTests", swiftSettings: strictSwift),
    .testTarget(
      name: "ProofGateTests",
      dependencies: [
        "ProofGate", "ProofBackend", "ProofRequest", "ProofModel", "ProofJOSE", "DurableFiles",
        "SeededRandom", "VectorFiles",
      ],
      path: "Tests/Unit/ProofGateTests", swiftSettings: strictSwift),
    .target(
      name: "VectorFiles", dependencies: ["ProofBytes"], path: "Tests/Support/VectorFiles",
      swiftSettings: strictSwift),
    .target(
      name: "SeededRandom", dependencies: ["ProofBytes"], path: "Tests/Support/SeededRandom",
      swiftSettings: strictSwift),
    .target(name: "OpenFiles", path: "Tests/Support/OpenFiles", swiftSettings: strictSwift),
    .target(name: "OwnThreads", path: "Tests/Support/OwnThreads", swiftSettings: strictSwift),
    .testTarget(
      name: "HTTPServingTests",
      dependencies: ["HTTPServing", "ProofJOSE", "ProofModel", "SeededRandom", "OwnThreads"],
      path: "Tests/Unit/HTTPServingTests", swiftSettings: strictSwift),
    .testTarget(
      name: "ProofServiceTests",
      dependencies: [
        "AccountStores", "EventServing", "ProofService", "Console", "HTTPServing", "ProofBackend",
        "ProofKit", "ProofKitKeys", "ProofModel", "PostgresServers", "PostgresStore",
        "ProofJOSE", "SeededRandom", "OpenFiles", "OwnThreads", "VectorFiles",
      ],
      path: "Tests/Unit/ProofServiceTests", swiftSettings: strictSwift),
    .target(
      name: "HistoryChecker", dependencies: ["ProofModel"], path: "Tests/Support/HistoryChecker",
      swiftSettings: strictSwift),
    .testTarget(
      name: "HistoryCheckerTests", dependencies: ["HistoryChecker", "SeededRandom", "OwnThreads"],
      path: "Tests/Unit/HistoryCheckerTests", swiftSettings: strictSwift),
    .target(
      name: "PostgresServers", dependencies: ["PostgresStore", "ProofModel", "OwnThreads"],
      path: "Tests/Support/PostgresServers", swiftSettings: strictSwift),
    .testTarget(
      name: "PostgresStoreTests",
      dependencies: [
        "PostgresServers", "PostgresStore", "ProofModel", "HistoryChecker", "SeededRandom",
        "OwnThreads",
      ],
      path: "Tests/Unit/PostgresStoreTests", swiftSettings: strictSwift),
    .target(
      name: "HardwareBench", dependencies: ["ProofDevice", "ProofCore"],
      path: "Tests/Unit/ProofLinkTests/HardwareBench", cSettings: strictC),
    .target(
      name: "LinkBench",
      dependencies: ["LinkSimulation", "ProofLink", "ProofKit", "ProofModel", "HardwareBench"],
      path: "Tests/Support/LinkBench", swiftSettings: strictSwift),
    .testTarget(
      name: "ProofLinkTests",
      dependencies: [
        "LinkSimulation", "ProofLink", "ProofKit", "ProofModel", "LinkBench", "RealProcess",
        "ProofBackend", "ProofJOSE", "ReasonRows", "OpenFiles", "OwnThreads",
      ],
      path: "Tests/Unit/ProofLinkTests", exclude: ["HardwareBench"], swiftSettings: strictSwift),
    .target(
      name: "VirtualHardware", dependencies: ["ProofDevice", "ProofCore"],
      path: "Tests/Unit/AccidentTests/VirtualHardware", cSettings: strictC),
    .testTarget(
      name: "AccidentTests",
      dependencies: [
        "VirtualHardware", "ProofKit", "ProofKitTesting", "ProofLink", "ProofModel", "ProofBytes",
        "ProofService", "ProofBackend", "ProofJOSE", "HTTPServing", "FolderModel", "DurableFiles",
      ],
      path: "Tests/Unit/AccidentTests", exclude: ["VirtualHardware"], swiftSettings: strictSwift),
  ],
  swiftLanguageModes: [.v6],
  cLanguageStandard: .c11
)
