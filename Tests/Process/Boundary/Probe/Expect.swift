// SPDX-License-Identifier: Apache-2.0

/// A probe's expectation; the line tells which one failed.
struct Unexpected: Error, CustomStringConvertible {
  let description: String
}

func expect(_ condition: Bool, line: Int = #line, file: String = #fileID) throws(Unexpected) {
  guard condition else { throw Unexpected(description: "\(file):\(line): not as expected") }
}
