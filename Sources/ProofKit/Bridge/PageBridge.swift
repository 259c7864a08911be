// SPDX-License-Identifier: Apache-2.0

import ProofModel

/// Gives event tokens to pages in a web view of the app.
///
/// The bridge knows no web view: a web view's adapter hands it what the script ``script`` posted, and the frame that
/// the message came from. Each origin may ask for the events that the app lists for it, and for no others.
public struct PageBridge: Sendable {
  /// The longest message of a page, in bytes.
  public static let messageByteCountMax = 4096
  /// The name under which an adapter registers its message handler, in a script world of its own.
  public static let handlerName = "proofkit"

  /// An exact `https` origin.
  public struct Origin: Sendable, Hashable, CustomStringConvertible {
    /// Scheme, host in lower case, and the port unless it is 443.
    public let description: String

    /// Takes an origin.
    ///
    /// - Parameter text: `https://HOST` or `https://HOST:PORT` in ASCII, without user, path and query.
    /// - Throws: ``BridgeError/origin``.
    public init(_ text: String) throws(BridgeError) {
      guard text.hasPrefix(Self.scheme),
        let authority = APIAuthority(text.dropFirst(Self.scheme.count))
      else { throw .origin }
      description = Self.scheme + authority.text
    }

    /// The origin of a page; nil for every address that is no `https` one.
    ///
    /// - Parameter url: The page's address, as the web view has it.
    public init?(of url: String) {
      // A web view gives addresses in one spelling. Backslashes and blanks are read in two ways.
      guard url.hasPrefix(Self.scheme), url.utf8.allSatisfy({ $0 > 0x20 && $0 != 0x5C }) else {
        return nil
      }
      let authority = url.dropFirst(Self.scheme.count).prefix { !"/?#".contains($0) }
      guard let origin = try? Origin(Self.scheme + authority) else { return nil }
      self = origin
    }

    private static let scheme = "https://"
  }

  /// The frame that a message came from, as the web view has it: never as the message says.
  public struct Frame: Sendable, Hashable {
    /// The address of the frame's document.
    public let url: String
    /// Whether it is the top frame of its window.
    public let isTop: Bool

    /// Describes a frame.
    public init(url: String, isTop: Bool) {
      self.url = url
      self.isTop = isTop
    }
  }

  private typealias Make = @Sendable (EventID, String?, [UInt8]) throws(GateError) -> EventToken

  private let make: Make
  private let origins: [Origin: Set<EventID>]

  /// Makes a bridge.
  ///
  /// - Parameters:
  ///   - attestor: Makes the tokens.
  ///   - origins: The pages that may ask, and for which events.
  public init(_ attestor: Attestor, origins: [Origin: Set<EventID>]) {
    make = { event, account, data throws(GateError) in
      try attestor.eventToken(for: event, account: account, data: data)
    }
    self.origins = origins
  }

  /// Makes a bridge to one gate.
  package init(_ session: GateSession, origins: [Origin: Set<EventID>]) {
    make = { event, account, data throws(GateError) in
      try session.eventToken(for: event, account: account, data: data)
    }
    self.origins = origins
  }

  /// Answers a message of the script. Call it on the thread of the web view.
  ///
  /// - Parameters:
  ///   - message: A JSON object of at most 4 KiB: `origin`, which the script adds, `event` as a number or as decimal
  ///     text, and where wanted the texts `account` and `data`.
  ///   - frame: Reads the frame now; nil if it is gone. It is read again before the answer: a page that moved away
  ///     gets nothing.
  /// - Returns: `{"z":"TOKEN"}`. The token is in the error state if the app can prove nothing now.
  /// - Throws: ``BridgeError``.
  public func answer(_ message: String, from frame: () -> Frame?) throws(BridgeError) -> String {
    guard let first = frame(), first.isTop else { throw .frame }
    guard let origin = Origin(of: first.url), let events = origins[origin] else { throw .origin }
    let asked = try Asked(message)
    guard asked.origin == origin.description else { throw .origin }
    guard events.contains(asked.event) else { throw .event }
    let token: EventToken
    do throws(GateError) {
      token = try make(asked.event, asked.account, asked.data)
    } catch {
      if case .malformedAccount = error { throw .message }
      throw .event
    }
    guard let last = frame(), last.isTop, Origin(of: last.url) == origin else { throw .moved }
    return "{\"z\":\(JSONText.quote(token.text))}"
  }

  /// Answers a message of the script with JSON in every case: `{"z":"TOKEN"}`, or `{"error":"WORD"}` with the word of
  /// the ``BridgeError``.
  public func reply(to message: String, from frame: () -> Frame?) -> String {
    do throws(BridgeError) {
      return try answer(message, from: frame)
    } catch {
      return "{\"error\":\(JSONText.quote(error.rawValue))}"
    }
  }
}

/// The reason why a page gets no token. The raw value is the word that the page is told.
public enum BridgeError: String, Error, Sendable, Hashable, CaseIterable {
  /// The page's origin is not on the app's list, or is no `https` origin.
  case origin
  /// The message comes from a frame within a page, or from a page that is gone.
  case frame
  /// The message is no JSON object of the form that ``PageBridge`` reads, or is too long.
  case message
  /// The origin may not ask for this event, or the account does not list it.
  case event
  /// The page moved to another origin while the token was made.
  case moved
}

extension BridgeError: CustomStringConvertible {
  /// The reason and the next step.
  public var description: String {
    switch self {
    case .origin: "The page's origin is not on the list. Add it to the origins of the PageBridge."
    case .frame: "The message does not come from the top frame. Ask from the page itself."
    case .message: "The message has another form. Post an object with event, account and data."
    case .event: "The page may not ask for this event. Add the number to the page's origin."
    case .moved: "The page moved to another origin before its token was ready."
    }
  }
}

/// The request of a page.
private struct Asked {
  let origin: String
  let event: EventID
  let account: String?
  let data: [UInt8]

  private static let members: Set = ["origin", "event", "account", "data"]

  init(_ message: String) throws(BridgeError) {
    guard message.utf8.count <= PageBridge.messageByteCountMax,
      let members = (try? JSONText.parse(Array(message.utf8)))?.members,
      members.keys.allSatisfy(Self.members.contains), let origin = members["origin"]?.text,
      let number = Self.number(members["event"])
    else { throw .message }
    self.origin = origin
    event = EventID(number)
    switch members["account"] {
    case nil, .null?: account = nil
    case .string(let text)?: account = text
    default: throw .message
    }
    switch members["data"] {
    case nil, .null?: data = []
    case .string(let text)?: data = Array(text.utf8)
    default: throw .message
    }
  }

  /// A number, or decimal text of one spelling.
  private static func number(_ value: JSONText?) -> UInt16? {
    switch value {
    case .integer(let number): return UInt16(exactly: number)
    case .string(let text):
      guard let number = UInt16(text), "\(number)" == text else { return nil }
      return number
    default: return nil
    }
  }
}
