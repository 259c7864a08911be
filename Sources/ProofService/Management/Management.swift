// SPDX-License-Identifier: Apache-2.0

public import ProofJOSE
public import ProofModel

/// The actions of an operator on an account: on the store directly, or behind a running service
/// (`/v1/manage/`), which calls the same through ``perform(_:_:)``.
///
/// Every change is atomic and durable when its function returns. A change that apps must know of
/// raises the serial of the account's configuration in the same step.
public struct Management: Sendable {
  /// The account.
  public let account: Account
  let clock: UnixClock

  /// Makes the management of an account.
  ///
  /// - Parameters:
  ///   - account: The account.
  ///   - clock: Gives the time of changes.
  public init(_ account: Account, clock: UnixClock = .system) {
    self.account = account
    self.clock = clock
  }

  var store: any Store { account.store }
  var now: UnixTime { clock.now.whole }

  // MARK: Secrets

  /// The secret of HS256, for API backends.
  public func secret() throws(ServiceError) -> JOSESecret {
    try Self.copied(account.snapshot().secret.key)
  }

  /// The key of custom tokens, for their readers. No API needs it.
  public func customKey() throws(ServiceError) -> JOSESecret {
    try Self.copied(account.snapshot().customKey.key)
  }

  /// The key that seals the tokens of measurement APIs (`dir`, A256GCM), for API backends.
  public func sealingKey() throws(ServiceError) -> JOSESecret {
    try Self.copied(account.snapshot().sealingKey.key)
  }

  private static func copied(_ key: JSONWebKey) throws(ServiceError) -> JOSESecret {
    try ServiceError.ofJOSE { () throws(JOSEError) in
      try key.withSecret { JOSESecret(copying: $0) }
    }
  }

  /// The development key. An app that sets it in the SDK passes. Nil if the account has none.
  public func developmentKey() throws(ServiceError) -> String? {
    try account.snapshot().developmentKey.map { String(decoding: $0, as: UTF8.self) }
  }

  /// Draws a new development key; the old one is refused from now on.
  ///
  /// - Returns: The key.
  public func changeDevelopmentKey() throws(ServiceError) -> String {
    let text = Base64.encode(RandomSource.bytes(18), .url)
    var fields = JSONObject()
    fields.set(
      "key",
      account.vault.seal(Array(text.utf8).span, for: AccountDocument.developmentKey.rawValue))
    try account.apply([AccountDocument.developmentKey.put(fields)])
    return text
  }

  /// Removes the development key.
  public func removeDevelopmentKey() throws(ServiceError) {
    try account.apply([.remove(.account, AccountDocument.developmentKey.rawValue)])
  }

  /// The key that apps sign messages with, and its name in tokens (`mskid`). Nil if the account has
  /// none.
  public func messageKey() throws(ServiceError) -> (id: String, key: MessageKey)? {
    try account.snapshot().messageKey
  }

  /// Removes the message key: apps cannot sign any more from their next token on.
  public func removeMessageKey() throws(ServiceError) {
    try account.apply([.remove(.account, AccountDocument.messageKey.rawValue)])
  }

  // MARK: Registrations

  /// The registered apps.
  public func registrations() throws(ServiceError) -> [Registration] {
    try store.all(Registration.self)
  }

  /// Registers a build of an app, or replaces its registration.
  ///
  /// - Parameters:
  ///   - digest: The digest of the build.
  ///   - name: The name that people use for it.
  ///   - isDevelopment: Whether it is a build for development.
  ///   - seconds: The registration's lifetime, in seconds; nil for no end.
  ///   - without: The evidence to ignore when its reports are checked.
  ///   - prediction: What the service predicts of a build that is still to come; nil for one that is
  ///     here.
  /// - Returns: The registration.
  /// - Throws: ``ServiceError``.
  @discardableResult
  public func register(
    _ digest: AppDigest, name: String, isDevelopment: Bool = false, expireAfter seconds: Int? = nil,
    without: LeftOutEvidence = .none, prediction: Prediction? = nil
  ) throws(ServiceError) -> Registration {
    if let seconds, !(1...315_360_000).contains(seconds) {
      throw .invalid("expiry", value: "\(seconds) seconds", allowed: "1 second to 10 years")
    }
    let registration = Registration(
      digest, name: try Self.checked(name: name), isDevelopment: isDevelopment, added: now,
      expiry: seconds.map { now + Int64($0) }, without: without, prediction: prediction)
    try prediction?.check(for: registration, under: account.snapshot())
    try account.apply([.put(.registration, registration.key, registration.bytes)])
    return registration
  }

  /// Removes a registration.
  ///
  /// - Throws: ``ServiceError/unknown(_:name:)``.
  public func removeRegistration(_ digest: AppDigest) throws(ServiceError) {
    try remove(digest.description, Registration.self)
  }

  // MARK: Policy

  /// The policy.
  public func policy() throws(ServiceError) -> Policy { try account.snapshot().policy }

  /// Sets the policy.
  public func set(_ policy: Policy) throws(ServiceError) {
    try account.apply([AccountDocument.policy.put(policy.fields)])
  }

  // MARK: Secure strings

  /// The names of the secure strings.
  public func secureStrings() throws(ServiceError) -> [SecureString] {
    try store.all(SecureString.self)
  }

  /// Defines a secure string for all apps that pass.
  ///
  /// - Throws: ``ServiceError/invalid(_:value:allowed:)``.
  public func setSecureString(_ name: String, to value: String) throws(ServiceError) {
    guard (1...SecureString.nameMax).contains(name.count) else {
      throw .invalid(
        "name of the secure string", value: String(name.prefix(80)),
        allowed: "1 to \(SecureString.nameMax) characters")
    }
    guard (1...DeviceStrings.valueMax).contains(value.utf8.count) else {
      throw .invalid(
        "size of the secure string", value: "\(value.utf8.count) bytes",
        allowed: "1 to \(DeviceStrings.valueMax)")
    }
    let sealed = account.vault.seal(Array(value.utf8).span, for: SecureString.place(of: name))
    let string = SecureString(name, sealedValue: sealed)
    try account.apply([.put(.secureString, name, string.bytes)])
  }

  /// Removes a secure string.
  ///
  /// - Throws: ``ServiceError/unknown(_:name:)``.
  public func removeSecureString(_ name: String) throws(ServiceError) {
    try remove(name, SecureString.self)
  }
}

extension SecureString {
  static func place(of name: String) -> String { "string/\(name)" }
}

extension Management {
  func one<R: Record>(_ key: String, _: R.Type) throws(ServiceError) -> R {
    guard let record = try store.one(key, R.self) else {
      throw .unknown(R.noun, name: String(key.prefix(80)))
    }
    return record
  }

  func add(_ record: some Record) throws(ServiceError) {
    do {
      try account.apply([.insert(type(of: record).table, record.key, record.bytes)])
    } catch .store(.alreadyThere) {
      throw .alreadyThere(type(of: record).noun, name: record.key)
    }
  }

  func remove<R: Record>(_ key: String, _: R.Type) throws(ServiceError) {
    _ = try one(key, R.self)
    try account.apply([.remove(R.table, key)])
  }

  /// Checks a name for people: no control characters, at most 128 bytes.
  static func checked(name: String) throws(ServiceError) -> String {
    guard name.utf8.count <= 128, name.unicodeScalars.allSatisfy({ $0.value >= 0x20 }) else {
      throw .invalid(
        "name", value: String(name.prefix(80)), allowed: "128 bytes without control characters")
    }
    return name
  }
}
