// SPDX-License-Identifier: Apache-2.0

import Testing

@testable import ProofJOSE

@Suite("A backend's key file")
struct KeyFileTests {
  private static let k = "AAECAwQFBgcICQoLDA0ODxAREhMUFRYXGBkaGxwdHh8"
  private static let x = "11qYAYKxCrfVS_7TyWQHOg7hcvPapiMlrwIaaPcHURo"
  private static let mac = #"{"kty":"oct","alg":"HS256","k":"\#(k)","kid":"a"}"#
  private static let point = #"{"kty":"OKP","crv":"Ed25519","x":"\#(x)","kid":"b"}"#

  private func keys(_ text: String) throws(JOSEError) -> [JSONWebKey] {
    try JSONWebKey.keys(parsing: Array(text.utf8).span)
  }

  @Test("holds one key, or a set of them, in its order")
  func read() throws {
    let one = try keys(Self.mac)
    #expect(one.map(\.algorithm) == [.hs256] && one.map(\.id) == ["a"])
    let set = try keys(#"{"keys":[\#(Self.mac),\#(Self.point)]}"#)
    #expect(set.map(\.algorithm) == [.hs256, .edDSA] && set.map(\.id) == ["a", "b"])
    // Other members may stand before and behind, with arrays and objects of their own.
    let more = try keys(
      #"{"note":{"keys":[1]},"more":["keys"],"keys":[\#(Self.point)],"last":1}"#)
    #expect(more.map(\.id) == ["b"])
    // A member of this name within a key is none of the set.
    let within = #"{"kty":"oct","alg":"HS256","k":"\#(Self.k)","more":{"keys":[]}}"#
    #expect(try keys(within).map(\.algorithm) == [.hs256])
    let unnamed = #"{"kty":"oct","alg":"HS256","k":"\#(Self.k)"}"#
    #expect(try keys(unnamed).map(\.id) == [nil])
    #expect(error { try keys(#"{"keys":[\#(unnamed)]}"#) } != nil)
  }

  @Test("is refused with the reason")
  func refused() throws {
    for text in ["[]", "1", "\"keys\"", "[\(Self.mac)]"] {
      #expect(error { try keys(text) } == .notAnObject(.key), "\(text)")
    }
    for text in ["", "{", #"{"keys":[}"#] {
      guard case .notJSON(.key, _)? = error(of: { try keys(text) }) else {
        Issue.record("\(text)")
        continue
      }
    }
    for value in ["{}", "1", "null", "\"x\"", Self.mac] {
      #expect(
        error { try keys(#"{"keys":\#(value)}"#) } == .keyInvalid("“keys” is no array"))
    }
    #expect(error { try keys(#"{"keys":[]}"#) } == .keyInvalid("the set is empty"))
    #expect(error { try keys(#"{"keys":[1]}"#) } == .notAnObject(.key))
    #expect(
      error { try keys(#"{"keys":[\#(Self.mac),\#(Self.mac)]}"#) } == .keyIDRepeated("“a”"))
  }

  @Test("a fresh key of RSA has one of three sizes, and another key has one")
  func sizes() throws {
    for bits in [0, 1_024, 2_047, 2_049, 4_097] {
      #expect(
        error { try JSONWebKey.random(.rs256, bits: bits) }
          == .keyUnsupported("RSA of \(bits) bits; 2048, 3072 and 4096 are"))
    }
    #expect(
      error { try JSONWebKey.random(.es256, bits: 256) }
        == .keyUnsupported("ES256 of 256 bits; it has one size"))
    let key = try JSONWebKey.random(.rs256, bits: 2_048, id: "r")
    #expect(key.publicBytes?.count == 256 && key.id == "r")
    #expect(try JSONWebKey.random(.es256, id: "e").publicBytes?.count == 64)
    #expect(try JSONWebKey.random(.edDSA).publicBytes?.count == 32)
    #expect(try JSONWebKey.random(.hs256).publicBytes == nil)
  }
}
