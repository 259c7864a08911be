// SPDX-License-Identifier: Apache-2.0

/// The members of a JSON object: each name once, in the order of code points.
///
/// Names are compared byte by byte, not by Swift's equivalence of characters.
public struct JSONObject: Sendable {
  /// Names and values, sorted by name.
  public private(set) var members: [(name: String, value: JSONValue)] = []

  /// An object without members.
  public init() {}

  /// The value of a member; `nil` if it is missing. Setting `nil` removes it.
  ///
  /// - Parameter name: The member's name.
  public subscript(name: String) -> JSONValue? {
    get {
      let place = place(of: name)
      return isName(name, at: place) ? members[place].value : nil
    }
    set {
      let place = place(of: name)
      switch (newValue, isName(name, at: place)) {
      case (let value?, true): members[place].value = value
      case (let value?, false): members.insert((name, value), at: place)
      case (nil, true): members.remove(at: place)
      case (nil, false): break
      }
    }
  }

  private func isName(_ name: String, at place: Int) -> Bool {
    place < members.count && ExactText.areEqual(members[place].name, name)
  }

  /// The index of the member, or the index to insert it at.
  private func place(of name: String) -> Int {
    var low = 0
    var high = members.count
    while low < high {
      let middle = (low + high) / 2
      if ExactText.precedes(members[middle].name, name) {
        low = middle + 1
      } else {
        high = middle
      }
    }
    return low
  }
}

extension JSONObject: ExpressibleByDictionaryLiteral {
  /// Makes an object of the members; if a name is given twice, the last value counts.
  ///
  /// - Parameter elements: Names and values.
  public init(dictionaryLiteral elements: (String, JSONValue)...) {
    members.reserveCapacity(elements.count)
    for (name, value) in elements { self[name] = value }
  }
}

extension JSONObject: Equatable {
  /// Whether both have the same names, byte by byte, with the same values.
  ///
  /// - Parameters:
  ///   - one: An object.
  ///   - other: Another.
  /// - Returns: Whether they are equal.
  public static func == (one: JSONObject, other: JSONObject) -> Bool {
    one.members.elementsEqual(other.members) { first, second in
      ExactText.areEqual(first.name, second.name) && first.value == second.value
    }
  }
}
