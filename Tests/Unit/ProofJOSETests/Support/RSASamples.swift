// SPDX-License-Identifier: Apache-2.0

@testable import ProofJOSE

/// Two keys of RSA, 2048 bits, that many tests begin with: making one takes time.
enum RSASample {
  /// The key of RFC 7515, A.2.
  private static let first: [String: String] = [
    "n":
      "ofgWCuLjybRlzo0tZWJjNiuSfb4p4fAkd_wWJcyQoTbji9k0l8W26mPddxHmfHQp-Vaw-4qPCJrcS2mJPMEzP1"
      + "Pt0Bm4d4QlL-yRT-SFd2lZS-pCgNMsD1W_YpRPEwOWvG6b32690r2jZ47soMZo9wGzjb_7OMg0LOL-bSf63kpa"
      + "SHSXndS5z5rexMdbBYUsLA9e-KXBdQOS-UTo7WTBEMa2R2CapHg665xsmtdVMTBQY4uDZlxvb3qCo5ZwKh9kG4"
      + "LT6_I5IhlJH7aGhyxXFvUK-DWNmoudF8NAco9_h9iaGNj8q2ethFkMLs91kzk2PAcDTW9gb54h4FRWyuXpoQ",
    "e": "AQAB",
    "d":
      "Eq5xpGnNCivDflJsRQBXHx1hdR1k6Ulwe2JZD50LpXyWPEAeP88vLNO97IjlA7_GQ5sLKMgvfTeXZx9SE-7YwV"
      + "ol2NXOoAJe46sui395IW_GO-pWJ1O0BkTGoVEn2bKVRUCgu-GjBVaYLU6f3l9kJfFNS3E0QbVdxzubSu3Mkqzj"
      + "kn439X0M_V51gfpRLI9JYanrC4D4qAdGcopV_0ZHHzQlBjudU2QvXt4ehNYTCBr6XCLQUShb1juUO1ZdiYoFaF"
      + "QT5Tw8bGUl_x_jTj3ccPDVZFD9pIuhLhBOneufuBiB4cS98l2SR_RQyGWSeWjnczT0QU91p1DhOVRuOopznQ",
    "p":
      "4BzEEOtIpmVdVEZNCqS7baC4crd0pqnRH_5IB3jw3bcxGn6QLvnEtfdUdiYrqBdss1l58BQ3KhooKeQTa9AB0H"
      + "w_Py5PJdTJNPY8cQn7ouZ2KKDcmnPGBY5t7yLc1QlQ5xHdwW1VhvKn-nXqhJTBgIPgtldC-KDV5z-y2XDwGUc",
    "q":
      "uQPEfgmVtjL0Uyyx88GZFF1fOunH3-7cepKmtH4pxhtCoHqpWmT8YAmZxaewHgHAjLYsp1ZSe7zFYHj7C6ul7T"
      + "jeLQeZD_YwD66t62wDmpe_HlB-TnBA-njbglfIsRLtXlnDzQkv5dTltRJ11BKBBypeeF6689rjcJIDEz9RWdc",
    "dp":
      "BwKfV3Akq5_MFZDFZCnW-wzl-CCo83WoZvnLQwCTeDv8uzluRSnm71I3QCLdhrqE2e9YkxvuxdBfpT_PI7Yz-F"
      + "OKnu1R6HsJeDCjn12Sk3vmAktV2zb34MCdy7cpdTh_YVr7tss2u6vneTwrA86rZtu5Mbr1C1XsmvkxHQAdYo0",
    "dq":
      "h_96-mK1R_7glhsum81dZxjTnYynPbZpHziZjeeHcXYsXaaMwkOlODsWa7I9xXDoRwbKgB719rrmI2oKr6N3Do"
      + "9U0ajaHF-NKJnwgjMd2w9cjz3_-kyNlxAr2v4IKhGNpmM5iIgOS1VZnOZ68m6_pbLBSp3nssTdlqvd0tIiTHU",
    "qi":
      "IYd7DHOhrWvxkwPQsRM2tOgrjbcrfvtQJipd-DlcxyVuuM9sQLdgjVk2oy26F0EmpScGLq2MowX7fhd_QJQ3yd"
      + "y5cY7YIBi87w93IKLEdfnbJtoOPLUW0ITrJReOgo1cq9SbsxYawBgfp_gh6A5603k2-ZQwVK0JKSHuLFkuQ3U",
  ]

  /// One that was made for these tests.
  private static let second: [String: String] = [
    "n":
      "ydMUEYZZS57o-0CVxNTrKf-Ze8MnSWgLNo8bAjNfhfRRske_zt2tW9aYHSlUfgyl_jKZC2PjC-yIa76IYglX-Q"
      + "ycGTR0YhyHq8j0yI7jN58JKN2TVTcOYIezAj0UWucByIiuL0hjHCYW61MrFO5MtGRPnTcMtZSJ2pFruhIUFlux"
      + "d_CopUiQrjHTCBuhyFhgbnFGqIOSBJRT1XFrlvAELEYaF-jRIqSAy0Od3W-ugkB86_hV2ooN27whY7jVzuPtre"
      + "qEOGhV4mRpV-SMKG2yCOkVN7d8Ehid0jw9DRGsBn5Y9sqNzycdv1uJSuFfPibTYzJNi6nmjO7m9uUKqU6WKQ",
    "e": "AQAB",
    "d":
      "AtynZYg42UWrmsR-WzLZvYK5CR7p_l8nVDgQnftfLhBviCOpqKP5bVqhqugxy90fYsy84YMibmza57blSt6Zt2"
      + "0NBEkmIq4HjnwPBzkKJ85thtLS4AZ5LGKVkJaPz1TZ8EoKjkkXKV2w6C1fEwY-DYt5RYrI91o1NOWTAtR2zHUB"
      + "7P9vjdcaOiLr41VCo8X0DXeQEncPA_EJjOjULtksIR3rFyXGwhB4JNoSO8aFdrVXrewOvJHgVeTgDUC9Y6Tcon"
      + "nyMaPT17mlb_xnI1Yahe3WArNCLIJGH7WUfMVkKrk4S-1zHm0DWHS6OUHg-Q5b8Yh-99DWB73CP2J86HD1MQ",
    "p":
      "_K8vguhQ7nYq4Z5LVX6EEHm3d5DJIJvtH5x-0_7HgzMbVCjYmZPaEcuta2ejs9rBZ2BJ71ztkarxkiYFV9ip0c"
      + "O2gD8LP0V002N_sAenHf2BHhwPFmJYOHiOp5v0Sh2HQ2LTkY6NYuxM5n1aHhMEpsaqGcJgCNKu6_TnbUMcEus",
    "q":
      "zHkLjhBYNkMYv_Fk36dTEyVQVypVB-e4bD-jUwAYQedXKHDYO0ZHziEiYs0A5QNHs1CeyvRxoVmYEoLmjUg_LK"
      + "AI26-3ZnAVdqcfrwX9KMmQBC7GRinvawxDBBUkeEhyB04Q9U7jbyAq6eCZXzZWDcn0ag8glq6OCEhOtHdQLjs",
    "dp":
      "4Jqfss7p0W08JJxd_jqdDUAD8sXB4bh4CBdFLQ9VLKvq6N392lVwC01ucwAGpUIXk9olHh0OFuNKI0ykhzdRi-"
      + "FZgZmIV89XTucsgr3qsF-7u5XZW15DaL7Qnu-jL5Ybu6xGvyVlS78bg-18gysIgW4pmQgL8QvE7HwekiKK-80",
    "dq":
      "pjATtimOqLusGAWI6UbD_KGtRMtBRSWO_VxT0JgZHyd57YKaHMMohV7k5cydV4Vs908lYOuAl5WMRi9iV55Kym"
      + "hgCr4sn_OlXkTDOavycP4yMVQbDtfyodzbcywD8kdfdpR6sAaoT5-jgWdtALfXBWoJX1JgOFgzVIQAhCkdYBU",
    "qi":
      "1bxRTXB-e0H9slvp8_AlL7c9PhyRbQqwJT1b3tTjLmnSN9zsImy089vU9HeXCNF0jyd8SfouZsDoE3kKF5vsjd"
      + "8MNDVPmZtwcHrCtHCqy-8BePitvYhuhJVgOMz2ykomOsRqB5-adH1AncZRc8ZWkZR8MkhnNXgz8ItT-nsDBfk",
  ]

  /// The key as JSON; `changes` replaces members, or adds them.
  static func json(isFirst: Bool = true, _ changes: [String: JSONValue?] = [:]) -> String {
    var object: JSONObject = ["kty": "RSA"]
    for (name, value) in isFirst ? first : second { object[name] = .string(value) }
    for (name, value) in changes { object[name] = value }
    return JSONValue.object(object).text
  }

  static func key(_ algorithm: KeyAlgorithm, id: String?, isFirst: Bool = true) throws -> JSONWebKey
  {
    try JSONWebKey(parsing: json(isFirst: isFirst), as: algorithm).named(id)
  }

  static func number(_ name: String) -> [UInt8] { Forge.decoded(first[name] ?? "") }
}
