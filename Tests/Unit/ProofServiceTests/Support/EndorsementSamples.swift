// SPDX-License-Identifier: Apache-2.0

import ProofModel

/// Certificates of endorsement keys, valid from 2020 to 2099, in DER, made with OpenSSL.
enum EndorsementSamples {
  /// An authority, which signs itself.
  static let first = bytes(
    """
    MIIBXjCCAQSgAwIBAgIUUIWINEFFr8GfChebF33gGGNBMAMwCgYIKoZIzj0EAwIwDDEKMAgGA1UEAwwBQTAgFw0yMDAx
    MDEwMDAwMDBaGA8yMDk5MTIzMTIzNTk1OVowDDEKMAgGA1UEAwwBQTBZMBMGByqGSM49AgEGCCqGSM49AwEHA0IABNNV
    spw5DDPPaCSojr9QL1C4b9HGz7pgrsDcE5QIHhssFLUt2gnrYJRO8Mq3P2V91GMvXYSbdxeGYsIHkxWxikyjQjBAMA8G
    A1UdEwEB/wQFMAMBAf8wDgYDVR0PAQH/BAQDAgIEMB0GA1UdDgQWBBTwrhR7agJel1Xe8IA3SypCY3PBFTAKBggqhkjO
    PQQDAgNIADBFAiEA/1r7EDx3qa8lIEnW7GA3NH9pxxKWxwrw3NpPJ714/JECIDUgFss5jqiieBgCs10trM07VsZBNcF8
    rhkyoL5qF6/0
    """)
  /// Another one.
  static let second = bytes(
    """
    MIIBXjCCAQSgAwIBAgIUKcEyF4YjfcCY8h3MpZPvZlINfCUwCgYIKoZIzj0EAwIwDDEKMAgGA1UEAwwBQjAgFw0yMDAx
    MDEwMDAwMDBaGA8yMDk5MTIzMTIzNTk1OVowDDEKMAgGA1UEAwwBQjBZMBMGByqGSM49AgEGCCqGSM49AwEHA0IABCCU
    ERNS7+W+hquibIx9Bpjm/aIx8rD7aRgEZKNzXGuL5fIu1kWaVz9OjmVIcCERscoN+gVQFqzlFRJbL7XqNWqjQjBAMA8G
    A1UdEwEB/wQFMAMBAf8wDgYDVR0PAQH/BAQDAgIEMB0GA1UdDgQWBBTqLW7HlzVyODv/dr4cTDkqsNgYijAKBggqhkjO
    PQQDAgNIADBFAiB7/o6sZvBhkvzkxq0MjjM2TU21fzGB9BGrlIwNl8X4OQIhAP02pSEmdiARAsHOgriiFEhXWt6YcAIg
    YeUR6L7iPgGZ
    """)
  /// An authority that the first one signed.
  static let intermediate = bytes(
    """
    MIIBfjCCASWgAwIBAgIUVZJ8x9UZ0AMP41jPLcp8sZ9dDFgwCgYIKoZIzj0EAwIwDDEKMAgGA1UEAwwBQTAgFw0yMDAx
    MDEwMDAwMDBaGA8yMDk5MTIzMTIzNTk1OVowDDEKMAgGA1UEAwwBSTBZMBMGByqGSM49AgEGCCqGSM49AwEHA0IABDyx
    UqHYECaIktbTFO981rLB/dZExFDt+WmY3mO4FsxX35ogJXf1cPlshMowgTdmveu1r1DW1r3Dk7BidyYbZTCjYzBhMA8G
    A1UdEwEB/wQFMAMBAf8wDgYDVR0PAQH/BAQDAgIEMB0GA1UdDgQWBBQFvo7CtffM8KicntO1d4DQsj89YjAfBgNVHSME
    GDAWgBTwrhR7agJel1Xe8IA3SypCY3PBFTAKBggqhkjOPQQDAgNHADBEAiA+XsQ9jJ4qwcg66mRDbWh49DowLsIh2Zyp
    F/I7VvUbYgIgMjpWvLwCsjHGSAjOIh8kD+CZawakt21SbKDV9CyWHoQ=
    """)
  /// An RSA key of 2,048 bits, for an endorsement key.
  static let good = bytes(
    """
    MIICSTCCAe+gAwIBAgIUKJ86jeLp2uPDX+CBoXD6NRTM/RowCgYIKoZIzj0EAwIwDDEKMAgGA1UEAwwBQTAgFw0yMDAx
    MDEwMDAwMDBaGA8yMDk5MTIzMTIzNTk1OVowDDEKMAgGA1UEAwwBazCCASIwDQYJKoZIhvcNAQEBBQADggEPADCCAQoC
    ggEBAJdeMRf26kLt5pp/VHToXC8D8leLnBHiv1/StzpeSLSlteOGanzfq4blQq99Labi4/Cg6OaBmHf2q52iWjY+Nb49
    CCb5VJTZvUTuAt2ABSS0ofQ9amDpzrrOWVA0dt8Ja1yHwLL8HfVNPI7SsSdgnbb08yw9xg3HxlFf7NycvwJpnzwl6YCT
    wjyVjSuzO7N1rYjYY0ROqmV69ohKTm+rWhmYVus71tAOHhFCwre9s+LYUtqY4x4Uvs+nd49AqKuTpxQl+FzDYOMCppyc
    sIaBqDNiWc01mSY2YQFIhbs2Qt/48bz1lWTB4FU4hte2t/nTPcscV4htUaUblFEpLRaBCEkCAwEAAaNiMGAwDAYDVR0T
    AQH/BAIwADAQBgNVHSUECTAHBgVngQUIATAdBgNVHQ4EFgQUSc+/ujloCx7wy2Oa0qTU08vWaeswHwYDVR0jBBgwFoAU
    8K4Ue2oCXpdV3vCAN0sqQmNzwRUwCgYIKoZIzj0EAwIDSAAwRQIge/vbDzLcNepCM42KLlH+tQk0/Ckneg9KRD13fs4V
    klYCIQDsYWaIV7NHhLIIZAGniSRVTCdUtzmgKH81MYWXnh4X0A==
    """)
  /// The same key, for a server and for an endorsement key.
  static let several = bytes(
    """
    MIICUzCCAfmgAwIBAgIUNDyn6oyuKBWV5FVmoRmo3FnM/KgwCgYIKoZIzj0EAwIwDDEKMAgGA1UEAwwBQTAgFw0yMDAx
    MDEwMDAwMDBaGA8yMDk5MTIzMTIzNTk1OVowDDEKMAgGA1UEAwwBazCCASIwDQYJKoZIhvcNAQEBBQADggEPADCCAQoC
    ggEBAJdeMRf26kLt5pp/VHToXC8D8leLnBHiv1/StzpeSLSlteOGanzfq4blQq99Labi4/Cg6OaBmHf2q52iWjY+Nb49
    CCb5VJTZvUTuAt2ABSS0ofQ9amDpzrrOWVA0dt8Ja1yHwLL8HfVNPI7SsSdgnbb08yw9xg3HxlFf7NycvwJpnzwl6YCT
    wjyVjSuzO7N1rYjYY0ROqmV69ohKTm+rWhmYVus71tAOHhFCwre9s+LYUtqY4x4Uvs+nd49AqKuTpxQl+FzDYOMCppyc
    sIaBqDNiWc01mSY2YQFIhbs2Qt/48bz1lWTB4FU4hte2t/nTPcscV4htUaUblFEpLRaBCEkCAwEAAaNsMGowDAYDVR0T
    AQH/BAIwADAaBgNVHSUEEzARBggrBgEFBQcDAQYFZ4EFCAEwHQYDVR0OBBYEFEnPv7o5aAse8MtjmtKk1NPL1mnrMB8G
    A1UdIwQYMBaAFPCuFHtqAl6XVd7wgDdLKkJjc8EVMAoGCCqGSM49BAMCA0gAMEUCICGChgDQZBpagzIq+w7HltNrypg0
    O2xNa8nTETg8Rd6eAiEA6woqcmwldj1Gartnzd8DB9hV2FyHkm+17cRZZJGC9aI=
    """)
  /// The same key, for no use.
  static let useless = bytes(
    """
    MIICNzCCAd2gAwIBAgIUNHM2TEgaA30BHoC1S/nX1JM9NbowCgYIKoZIzj0EAwIwDDEKMAgGA1UEAwwBQTAgFw0yMDAx
    MDEwMDAwMDBaGA8yMDk5MTIzMTIzNTk1OVowDDEKMAgGA1UEAwwBazCCASIwDQYJKoZIhvcNAQEBBQADggEPADCCAQoC
    ggEBAJdeMRf26kLt5pp/VHToXC8D8leLnBHiv1/StzpeSLSlteOGanzfq4blQq99Labi4/Cg6OaBmHf2q52iWjY+Nb49
    CCb5VJTZvUTuAt2ABSS0ofQ9amDpzrrOWVA0dt8Ja1yHwLL8HfVNPI7SsSdgnbb08yw9xg3HxlFf7NycvwJpnzwl6YCT
    wjyVjSuzO7N1rYjYY0ROqmV69ohKTm+rWhmYVus71tAOHhFCwre9s+LYUtqY4x4Uvs+nd49AqKuTpxQl+FzDYOMCppyc
    sIaBqDNiWc01mSY2YQFIhbs2Qt/48bz1lWTB4FU4hte2t/nTPcscV4htUaUblFEpLRaBCEkCAwEAAaNQME4wDAYDVR0T
    AQH/BAIwADAdBgNVHQ4EFgQUSc+/ujloCx7wy2Oa0qTU08vWaeswHwYDVR0jBBgwFoAU8K4Ue2oCXpdV3vCAN0sqQmNz
    wRUwCgYIKoZIzj0EAwIDSAAwRQIhAOTXxoziiUylCmRyOiSg3N/qeFkC8hhB3CxjQj2uM7GIAiA813umYu0PkcpFMUrk
    X3Ei9s78Ox7GooffqcBEG4HW2A==
    """)
  /// The same key, for an attestation key.
  static let attestation = bytes(
    """
    MIICSTCCAe+gAwIBAgIUT0fdh96syz2DO50sSAUEFX6NYwwwCgYIKoZIzj0EAwIwDDEKMAgGA1UEAwwBQTAgFw0yMDAx
    MDEwMDAwMDBaGA8yMDk5MTIzMTIzNTk1OVowDDEKMAgGA1UEAwwBazCCASIwDQYJKoZIhvcNAQEBBQADggEPADCCAQoC
    ggEBAJdeMRf26kLt5pp/VHToXC8D8leLnBHiv1/StzpeSLSlteOGanzfq4blQq99Labi4/Cg6OaBmHf2q52iWjY+Nb49
    CCb5VJTZvUTuAt2ABSS0ofQ9amDpzrrOWVA0dt8Ja1yHwLL8HfVNPI7SsSdgnbb08yw9xg3HxlFf7NycvwJpnzwl6YCT
    wjyVjSuzO7N1rYjYY0ROqmV69ohKTm+rWhmYVus71tAOHhFCwre9s+LYUtqY4x4Uvs+nd49AqKuTpxQl+FzDYOMCppyc
    sIaBqDNiWc01mSY2YQFIhbs2Qt/48bz1lWTB4FU4hte2t/nTPcscV4htUaUblFEpLRaBCEkCAwEAAaNiMGAwDAYDVR0T
    AQH/BAIwADAQBgNVHSUECTAHBgVngQUIAzAdBgNVHQ4EFgQUSc+/ujloCx7wy2Oa0qTU08vWaeswHwYDVR0jBBgwFoAU
    8K4Ue2oCXpdV3vCAN0sqQmNzwRUwCgYIKoZIzj0EAwIDSAAwRQIhALW2yT3KnJvc0nT9St8PwPiyNlvjFPgb5u+KCc8x
    e3DcAiAhUMatUJ73lfD/8K/+DgWRipPjdxTewhoNPvBcJVU1Hw==
    """)
  /// The same key, signed by the second authority.
  static let ofSecond = bytes(
    """
    MIICSjCCAe+gAwIBAgIUJQzhHNnWzksfWuK9+vFyGsjSOKUwCgYIKoZIzj0EAwIwDDEKMAgGA1UEAwwBQjAgFw0yMDAx
    MDEwMDAwMDBaGA8yMDk5MTIzMTIzNTk1OVowDDEKMAgGA1UEAwwBazCCASIwDQYJKoZIhvcNAQEBBQADggEPADCCAQoC
    ggEBAJdeMRf26kLt5pp/VHToXC8D8leLnBHiv1/StzpeSLSlteOGanzfq4blQq99Labi4/Cg6OaBmHf2q52iWjY+Nb49
    CCb5VJTZvUTuAt2ABSS0ofQ9amDpzrrOWVA0dt8Ja1yHwLL8HfVNPI7SsSdgnbb08yw9xg3HxlFf7NycvwJpnzwl6YCT
    wjyVjSuzO7N1rYjYY0ROqmV69ohKTm+rWhmYVus71tAOHhFCwre9s+LYUtqY4x4Uvs+nd49AqKuTpxQl+FzDYOMCppyc
    sIaBqDNiWc01mSY2YQFIhbs2Qt/48bz1lWTB4FU4hte2t/nTPcscV4htUaUblFEpLRaBCEkCAwEAAaNiMGAwDAYDVR0T
    AQH/BAIwADAQBgNVHSUECTAHBgVngQUIATAdBgNVHQ4EFgQUSc+/ujloCx7wy2Oa0qTU08vWaeswHwYDVR0jBBgwFoAU
    6i1ux5c1cjg7/3a+HEw5KrDYGIowCgYIKoZIzj0EAwIDSQAwRgIhAIa1QyvSCcgHJhntKui3UcJxk9og8UBjS8plhZ0g
    Hej9AiEAtqJggBikvgpsqkmbmODEbj4RSrrYkYKzUpM1aMtWl6Y=
    """)
  /// The same key, signed by the intermediate authority.
  static let ofIntermediate = bytes(
    """
    MIICSTCCAe+gAwIBAgIUKspLSPYHTTr9XV45Tb79MDPFlkUwCgYIKoZIzj0EAwIwDDEKMAgGA1UEAwwBSTAgFw0yMDAx
    MDEwMDAwMDBaGA8yMDk5MTIzMTIzNTk1OVowDDEKMAgGA1UEAwwBazCCASIwDQYJKoZIhvcNAQEBBQADggEPADCCAQoC
    ggEBAJdeMRf26kLt5pp/VHToXC8D8leLnBHiv1/StzpeSLSlteOGanzfq4blQq99Labi4/Cg6OaBmHf2q52iWjY+Nb49
    CCb5VJTZvUTuAt2ABSS0ofQ9amDpzrrOWVA0dt8Ja1yHwLL8HfVNPI7SsSdgnbb08yw9xg3HxlFf7NycvwJpnzwl6YCT
    wjyVjSuzO7N1rYjYY0ROqmV69ohKTm+rWhmYVus71tAOHhFCwre9s+LYUtqY4x4Uvs+nd49AqKuTpxQl+FzDYOMCppyc
    sIaBqDNiWc01mSY2YQFIhbs2Qt/48bz1lWTB4FU4hte2t/nTPcscV4htUaUblFEpLRaBCEkCAwEAAaNiMGAwDAYDVR0T
    AQH/BAIwADAQBgNVHSUECTAHBgVngQUIATAdBgNVHQ4EFgQUSc+/ujloCx7wy2Oa0qTU08vWaeswHwYDVR0jBBgwFoAU
    Bb6OwrX3zPConJ7TtXeA0LI/PWIwCgYIKoZIzj0EAwIDSAAwRQIgQLkKyIqmi+zAgLgX+Th9WpfyKtczak8EZAF/AYyo
    5QwCIQDAE9TypzuxgnQ5jwNUef6nZ6K7tzVhNHnUY3OryQP4Cg==
    """)
  /// An RSA key of 3,072 bits.
  static let long = bytes(
    """
    MIICyTCCAm+gAwIBAgIUFphLwNo6Bnl/+jjexOBkmERiN8YwCgYIKoZIzj0EAwIwDDEKMAgGA1UEAwwBQTAgFw0yMDAx
    MDEwMDAwMDBaGA8yMDk5MTIzMTIzNTk1OVowDDEKMAgGA1UEAwwBazCCAaIwDQYJKoZIhvcNAQEBBQADggGPADCCAYoC
    ggGBALqX2qsOiGoDyJla02dG+8KahuRdKH3L9HxsiXXNChtbhR723pLR0eYSA0FPPyHFjWXDgwQjKTSqCjNt+7MpF3SG
    zrbRYW9q1z1csPaLSTnGmuwaL59dGwDPIexEMTpxmlVd15usAS4dc0vNSk0sV2VtwVqr4w/zdO/zHEAZ4ea8uv5/4bYE
    EBtp09LaUNUaHJP4M7Ieu6fAgQHUWnmskXxizdTDR/Ypl/LVvzS/fofbntlsQ+0rNvd9bQk1iaD3JKQ3oYoHr56JOEWa
    Ro2DMKRWxZOE+9NehLRsrTGPSYdeN5QQcYzAZpkX3rCJVlnYksNObNtL3mTd4ITJ4jLoInfwcr704qneMEsiRgveaZut
    e8Mn6X1RbpFlvUky5vKx2KOQ1qyBT64blgsvXGc7lII0Ig6rRx2V8uCgOpJLhNCWwWAdoV5Zn2P8u5qdKozFCHIz4/iR
    7WU5eOPLZ24BOgNjuzTDhPwvHvr5jkfqXyEHevKCMbjtSOeKlnPWE9VE4QIDAQABo2IwYDAMBgNVHRMBAf8EAjAAMBAG
    A1UdJQQJMAcGBWeBBQgBMB0GA1UdDgQWBBSY8IBHF8+oDDrwVzz5heEUen6bWzAfBgNVHSMEGDAWgBTwrhR7agJel1Xe
    8IA3SypCY3PBFTAKBggqhkjOPQQDAgNIADBFAiEAsJircxk7XJxcV/byom5ObcgXRDUZaLRVNdpgAXzrqpECIB0bEddn
    nVIYyQtnGt4jUWxRDGOCktxpXsh6B5hg0b8U
    """)
  /// A key on P-256.
  static let curve = bytes(
    """
    MIIBfjCCASSgAwIBAgIUVAP++7qai7pyCP/g7lWeTmCE1RQwCgYIKoZIzj0EAwIwDDEKMAgGA1UEAwwBQTAgFw0yMDAx
    MDEwMDAwMDBaGA8yMDk5MTIzMTIzNTk1OVowDDEKMAgGA1UEAwwBazBZMBMGByqGSM49AgEGCCqGSM49AwEHA0IABFco
    ScqrbnTgYgNagMiqxX3plFgZcWBsTUA8Z3bI5MsLMh6iex+s4TY1g7jdL1UyfwEDSdF5tzXBTi8IgI9QW4WjYjBgMAwG
    A1UdEwEB/wQCMAAwEAYDVR0lBAkwBwYFZ4EFCAEwHQYDVR0OBBYEFJJ5mEchyqpEi/cJ7xvq4D/NzGskMB8GA1UdIwQY
    MBaAFPCuFHtqAl6XVd7wgDdLKkJjc8EVMAoGCCqGSM49BAMCA0gAMEUCIE+LKgz6KYRKODEmAqkMQOIutOQ/g0L5IOtF
    tQ5uSFfBAiEA2D4VrY7+KyIbep1ivpPSjcIEQM1zG97E2mlfKXSBW4E=
    """)

  private static func bytes(_ text: String) -> [UInt8] {
    Base64.decode(text.filter { !$0.isWhitespace }) ?? []
  }

  /// Certificates in PEM, one after the other.
  static func pem(_ certificates: [UInt8]...) -> [UInt8] {
    let texts = certificates.map { certificate in
      "-----BEGIN CERTIFICATE-----\n" + lines(Base64.encode(certificate))
        + "-----END CERTIFICATE-----\n"
    }
    return Array(texts.joined().utf8)
  }

  private static func lines(_ text: String) -> String {
    var (rest, lines) = (text[...], "")
    while !rest.isEmpty {
      lines += rest.prefix(64) + "\n"
      rest = rest.dropFirst(64)
    }
    return lines
  }
}
