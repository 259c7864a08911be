import Foundation

/// Vectors of the project Wycheproof, which stand outside the package.
enum Wycheproof {
  struct Case: @unchecked Sendable, CustomStringConvertible {
    let number: Int
    let comment: String
    let isValid: Bool
    // Sendable because a parsed JSON text never changes.
    let fields: [String: Any]
    let group: [String: Any]

    var description: String { "\(number): \(comment)" }
    func text(_ name: String) -> String { fields[name] as? String ?? "" }
    func bytes(_ name: String) -> [UInt8] { Hex.bytes(text(name)) }
  }

  /// Said when tests are skipped.
  static let absence: String = """
    No Wycheproof vectors: set PROOFKIT_WYCHEPROOF to their folder, or put them at \
    ../shared/vectors/wycheproof beside the package.
    """

  static let folder: URL? = {
    let root = URL(fileURLWithPath: #filePath)
      .deletingLastPathComponent().deletingLastPathComponent()
      .deletingLastPathComponent().deletingLastPathComponent()
    let named = ProcessInfo.processInfo.environment["PROOFKIT_WYCHEPROOF"]
    let folder =
      named.map { URL(fileURLWithPath: $0) }
      ?? root.appendingPathComponent("../shared/vectors/wycheproof").standardized
    return FileManager.default.fileExists(atPath: folder.path) ? folder : nil
  }()

  static var isPresent: Bool { folder != nil }

  static func cases(_ name: String) throws -> [Case] {
    guard let folder else { return [] }
    let data = try Data(contentsOf: folder.appendingPathComponent("\(name).json"))
    let file = try JSONSerialization.jsonObject(with: data) as? [String: Any] ?? [:]
    var cases: [Case] = []
    for group in file["testGroups"] as? [[String: Any]] ?? [] {
      for test in group["tests"] as? [[String: Any]] ?? [] {
        cases.append(
          Case(
            number: test["tcId"] as? Int ?? 0, comment: test["comment"] as? String ?? "",
            isValid: test["result"] as? String == "valid", fields: test, group: group))
      }
    }
    return cases
  }

  /// A group's key as JSON text; of a pair, the named half.
  static func key(_ name: String, of group: [String: Any]) throws -> String {
    let value = group[name] ?? group["private"] ?? [:]
    return String(decoding: try JSONSerialization.data(withJSONObject: value), as: UTF8.self)
  }
}
