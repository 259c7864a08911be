// SPDX-License-Identifier: Apache-2.0

/// The failure of a call to the database.
package struct PostgresError: Error, Equatable, Sendable {
  package enum Reason: Equatable, Sendable {
    /// No host accepted a session that can write.
    case unreachable
    /// The server's certificate or its proof of the password does not verify.
    case untrusted
    /// The server refused the user, the password or a right.
    case denied
    /// The server did not answer before the deadline. The socket was closed.
    case timedOut
    /// The connection ended before the answer.
    case brokenOff
    /// The server is read-only or ends sessions: the primary is elsewhere, or soon will be.
    case notPrimary
    /// Another transaction won (40001, 40P01).
    case conflict
    /// The server has no room: connections, memory or disk.
    case full
    /// More calls wait than the batcher holds.
    case busy
    /// A settings text, a schema or an answer is not as this program needs it.
    case mismatch
    /// The server refused the statement for another reason; `state` is its SQLSTATE.
    case refused
  }

  /// The changes of a call that failed.
  package enum Commit: Equatable, Sendable {
    /// The call changed nothing.
    case none
    /// The call may have been committed, or may be committed later. Repeat it under the same key.
    case unknown
  }

  /// The party whose action ends the failure.
  package enum Mender: Equatable, Sendable {
    /// The program: it calls again, with a back-off.
    case program
    /// The operator of the database or of this node.
    case operatorOfDatabase
    /// A developer of this package.
    case developer
  }

  package let reason: Reason
  /// The server's SQLSTATE, or nil: the error is the client's.
  package let state: String?
  package let commit: Commit
  /// The server's or libpq's primary message, for people. The password is not in it.
  package let words: String

  package init(_ reason: Reason, state: String? = nil, commit: Commit = .none, _ words: String) {
    self.reason = reason
    self.state = state
    self.commit = commit
    self.words = words
  }

  package var mender: Mender {
    switch reason {
    case .unreachable, .timedOut, .brokenOff, .notPrimary, .conflict, .busy: .program
    case .untrusted, .denied, .full: .operatorOfDatabase
    case .mismatch: state == nil ? .operatorOfDatabase : .developer
    case .refused: .developer
    }
  }

  /// Whether the same call on a new connection may succeed without any other change.
  package var mayRepeat: Bool { mender == .program }
}

extension PostgresError {
  /// The reason for a SQLSTATE.
  static func reason(ofState state: String) -> Reason {
    switch state {
    case "40001", "40P01": .conflict
    case "25006", "57P01", "57P02", "57P03": .notPrimary
    case "42501": .denied
    case "0A000", "26000", "42P01", "42883", "42703", "3F000": .mismatch
    // A lock that is not granted in time is like a race that was lost.
    case "55P03": .conflict
    case "57014", "25P03": .timedOut
    default:
      switch state.prefix(2) {
      case "08": .brokenOff
      case "28": .denied
      case "53": .full
      default: .refused
      }
    }
  }
}

extension PostgresError: CustomStringConvertible {
  package var description: String {
    let what =
      switch reason {
      case .unreachable: "the database is unreachable"
      case .untrusted: "the database server is not trusted"
      case .denied: "the database refused access"
      case .timedOut: "the database did not answer in time"
      case .brokenOff: "the connection to the database ended"
      case .notPrimary: "the database server is not the primary"
      case .conflict: "another transaction won"
      case .full: "the database has no room"
      case .busy: "too many calls wait for the database"
      case .mismatch: "the database is not as this program needs it"
      case .refused: "the database refused a statement"
      }
    let code = state.map { " (SQLSTATE \($0))" } ?? ""
    let outcome = commit == .unknown ? "; the call may have been committed" : ""
    return "\(what)\(code): \(words)\(outcome)"
  }
}
