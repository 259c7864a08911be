// SPDX-License-Identifier: Apache-2.0

/// An nginx configuration with the files that it includes.
package struct NginxFiles: Sendable {
  /// A file with its name.
  package struct Part: Sendable, Hashable {
    /// The name, as nginx opens it.
    package var name: String
    /// The whole file.
    package var bytes: [UInt8]

    package init(name: String, bytes: [UInt8]) {
      self.name = name
      self.bytes = bytes
    }
  }

  /// Reads the files that a path or a pattern leads to, in the order of their names.
  package typealias Source = (String) throws(NginxSyntaxError) -> [Part]

  /// How deep files may include one another.
  static let depthMax = 16
  /// How many files are read at most.
  static let countMax = 1000
  /// How many bytes all files have at most.
  package static let byteCountMax = 8 << 20

  /// The directives in their order. Those of an included file stand in the place of its `include`.
  package private(set) var directives: [NginxDirective] = []
  private var fileCount = 0
  private var byteCount = 0

  /// Reads a configuration.
  ///
  /// - Parameters:
  ///   - file: The path of the main file. Includes without a slash at their start are relative to its folder.
  ///   - source: Reads files.
  /// - Throws: ``NginxSyntaxError``.
  package init(_ file: String, from source: Source) throws(NginxSyntaxError) {
    let folder = file.lastIndex(of: "/").map { String(file[...$0]) } ?? ""
    let parts = try source(file)
    guard !parts.isEmpty else {
      throw NginxSyntaxError(
        place: NginxDirective.Place(file: file, line: 1), problem: "there is no such file")
    }
    for part in parts { directives += try read(part, folder, depth: 0, source) }
  }

  private mutating func read(
    _ part: Part, _ folder: String, depth: Int, _ source: Source
  ) throws(NginxSyntaxError) -> [NginxDirective] {
    let place = NginxDirective.Place(file: part.name, line: 1)
    fileCount += 1
    byteCount += part.bytes.count
    guard depth <= Self.depthMax else {
      throw NginxSyntaxError(place: place, problem: "files include one another too deeply")
    }
    guard fileCount <= Self.countMax, byteCount <= Self.byteCountMax else {
      throw NginxSyntaxError(place: place, problem: "the configuration is too large")
    }
    let read = try NginxReader.directives(of: part.bytes, named: part.name)
    return try included(read, folder, depth: depth, source)
  }

  private mutating func included(
    _ directives: [NginxDirective], _ folder: String, depth: Int, _ source: Source
  ) throws(NginxSyntaxError) -> [NginxDirective] {
    var all: [NginxDirective] = []
    for var directive in directives {
      if let block = directive.block {
        directive.block = try included(block, folder, depth: depth, source)
      }
      guard directive.name == "include", directive.words.count == 1, directive.block == nil else {
        all.append(directive)
        continue
      }
      let pattern = directive.words[0]
      let path = pattern.hasPrefix("/") ? pattern : folder + pattern
      let parts = try source(path)
      // As nginx does: a pattern may lead to no file, a plain path may not.
      guard !parts.isEmpty || pattern.utf8.contains(where: { "*?[".utf8.contains($0) }) else {
        throw NginxSyntaxError(place: directive.place, problem: "there is no file \(path)")
      }
      for part in parts { all += try read(part, folder, depth: depth + 1, source) }
    }
    return all
  }
}
