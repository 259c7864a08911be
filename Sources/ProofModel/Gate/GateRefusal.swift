// SPDX-License-Identifier: Apache-2.0

/// The reason why a gate or a redeemer refuses a gate token, a request or an event token.
///
/// It is for logs and metrics; a client gets the ``kind`` alone. The numbers are stable.
public enum GateRefusal: UInt8, Error, Sendable, Hashable, CaseIterable {
  /// A gate token has another number of bytes.
  case tokenLength = 1
  /// Another kind of structure, such as a token for a lock.
  case tokenMagic = 2
  /// A version or suite that this build does not know.
  case tokenVersion = 3
  /// A token for another gate.
  case tokenGate = 4
  /// A token sealed to a key number that this gate does not hold.
  case tokenKey = 5
  /// A token that does not open: sealed to another key, or altered.
  case tokenSeal = 6
  /// A token of an issuer that this gate does not trust.
  case tokenIssuer = 7
  /// A token that its issuer did not sign.
  case tokenSignature = 8
  /// A development token at a production gate, or the reverse.
  case tokenMode = 9
  /// A token that was signed as another form.
  case tokenForm = 10
  /// A token with a field out of range.
  case tokenRange = 11
  /// A token that lives longer than 24 hours.
  case tokenLife = 12
  /// A token that was issued more than 5 minutes ahead of the gate's time.
  case tokenAhead = 13
  /// A token whose end has passed.
  case tokenExpired = 14
  /// A token that was issued before the floor of the gate's configuration.
  case tokenSuperseded = 15
  /// A token of an instance that the gate's configuration revokes.
  case tokenRevoked = 16
  /// A text that is not 88 characters of base64url.
  case text = 32
  /// A compact token that has not 66 bytes.
  case compactLength = 33
  /// A compact token of a version that this build does not know.
  case compactVersion = 34
  /// A compact token of another kind than the one asked for.
  case compactKind = 35
  /// The app says that it cannot prove anything.
  case errorState = 36
  /// A handle that is not known.
  case handle = 37
  /// A token that was forged, altered, or made with other keys.
  case tag = 48
  /// A token that looks made for another account, or for none.
  case otherAccount = 49
  /// A token that looks made for a request with another body.
  case otherBody = 50
  /// A token that looks made for another method, scheme, authority, target or authorization.
  case otherRequest = 51
  /// A token that looks made for other business data.
  case otherData = 52
  /// A flag that this version does not know, or another field that no app writes.
  case reserved = 64
  /// Another generation than that of the keys.
  case generation = 65
  /// Another event number.
  case event = 66
  /// A token whose moment is further ahead than the window.
  case ahead = 67
  /// A token that is older than the window.
  case stale = 68
  /// A token without a beacon of the last 15 minutes, where the rule asks for one.
  case unanchored = 69
  /// A token that rests on an older measurement than the rule allows.
  case measured = 70
  /// A token that the app kept while it made many others.
  case kept = 71
  /// A token that was used before.
  case replayed = 72

  /// The part of a refusal that a client is told.
  public enum Kind: UInt8, Sendable, Hashable, CaseIterable {
    /// Send a gate token; a new one if this one was sent before.
    case token = 1
    /// Ask for the gate's time and its beacon, and sign anew.
    case clock = 2
    /// Sign anew, over the request as it is really sent.
    case proof = 3
    /// The client can mend nothing.
    case refused = 4
  }

  /// The part that a client is told.
  public var kind: Kind { CoreGate.kind(of: self) }
}

extension GateRefusal: CustomStringConvertible {
  /// One sentence for a log.
  public var description: String {
    switch self {
    case .tokenLength: "The gate token has another number of bytes."
    case .tokenMagic: "The bytes are no gate token."
    case .tokenVersion: "The gate token has a version that this build does not know."
    case .tokenGate: "The gate token is for another gate."
    case .tokenKey: "The gate token is sealed to a key that this gate does not hold."
    case .tokenSeal: "The gate token does not open: it was altered, or sealed to another key."
    case .tokenIssuer: "The gate token names an issuer that this gate does not trust."
    case .tokenSignature: "The gate token's signature is not its issuer's."
    case .tokenMode: "The gate token is for the other mode, production or development."
    case .tokenForm: "The gate token was signed as another form."
    case .tokenRange: "The gate token has a field out of range."
    case .tokenLife: "The gate token lives longer than 24 hours."
    case .tokenAhead: "The gate token was issued ahead of this gate's time."
    case .tokenExpired: "The gate token has expired."
    case .tokenSuperseded: "The gate token was issued before the gate's floor."
    case .tokenRevoked: "The gate's configuration revokes this instance."
    case .text: "The compact token is not 88 characters of base64url."
    case .compactLength: "The compact token has another number of bytes."
    case .compactVersion: "The compact token has a version that this build does not know."
    case .compactKind: "The compact token is of another kind."
    case .errorState: "The app is in an error state and proves nothing."
    case .handle: "The handle is not known."
    case .tag: "The compact token was altered, or made with other keys."
    case .otherAccount: "The compact token looks made for another account."
    case .otherBody: "The compact token looks made for another body."
    case .otherRequest: "The compact token looks made for another request."
    case .otherData: "The compact token looks made for other business data."
    case .reserved: "The compact token has a field that no app writes."
    case .generation: "The compact token is of another generation."
    case .event: "The compact token is for another event."
    case .ahead: "The compact token's moment is ahead of the window."
    case .stale: "The compact token is older than the window."
    case .unanchored: "The compact token carries no beacon of the last 15 minutes."
    case .measured: "The measurement behind the compact token is too old."
    case .kept: "The compact token was kept while the app made many others."
    case .replayed: "The compact token was used before."
    }
  }
}
