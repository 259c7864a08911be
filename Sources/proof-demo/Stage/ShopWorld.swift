// SPDX-License-Identifier: Apache-2.0

import ProofModel

/// All parts of the second act: a shop with an API, and its customers.
struct ShopWorld {
  let cast: Cast
  let tool: Tool
  let service: AttestationSide
  let shop: ShopSide
  let user: ShopUser
  /// A user with an empty purse.
  let otherUser: ShopUser
  /// The thief's accounts. An event token has a hint of one byte of its user's account: of so many at least one has
  /// another hint.
  let thieves: [ShopUser]
  let phone: Phone
  let otherPhone: Phone

  /// Makes all parts; none runs yet.
  init(_ cast: Cast, _ tool: Tool, _ service: AttestationSide) throws {
    self.cast = cast
    self.tool = tool
    self.service = service
    let shop = try ShopSide(cast, tool, service: service)
    self.shop = shop
    user = shop.addUser("ada", cents: 5_000)
    otherUser = shop.addUser("bob", cents: 0)
    thieves = [otherUser] + (2...8).map { shop.addUser("bob\($0)", cents: 0) }
    phone = Phone("customer", cast, tool, options: ["--shop"])
    otherPhone = Phone("other-customer", cast, tool, options: ["--shop"])
  }

  /// Registers the app on a phone, as it is now.
  func register(_ phone: Phone) throws {
    try service.register(tool.path("proof-demo"), bundle: phone.bundle)
  }
}
