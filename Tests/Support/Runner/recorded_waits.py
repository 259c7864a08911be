# SPDX-License-Identifier: Apache-2.0

"""The time limits and waits of single processes, recorded as they begin."""

import pathlib
import subprocess

CURL_TIMEOUT = 155  # CURLOPT_TIMEOUT_MS


class RecordedWaits:
    """`environment` is for the processes to record. Their first `sleeps` sleeps return at once."""

    def __init__(self, folder, sleeps=0):
        library, self.file = pathlib.Path(folder) / "recorded_waits.so", pathlib.Path(folder) / "recorded"
        subprocess.run(["cc", "-shared", "-fPIC", "-Wall", "-Wextra", "-Werror", "-o", library,
                        pathlib.Path(__file__).parent / "recorded_waits.c"], check=True)
        self.environment = {"LD_PRELOAD": str(library), "RECORDED_WAITS": str(self.file),
                            "RECORDED_SLEEPS": str(sleeps)}

    def of(self, kind):
        """The words behind the kind of each line: a wait of seconds, or the option and the value."""
        lines = (line.split() for line in self.file.read_text().splitlines()) if self.file.exists() else ()
        return [[float(word) for word in line[1:]] for line in lines if line[0] == kind]

    def sleeps(self):
        """Seconds of each sleep."""
        return [seconds for seconds, in self.of("sleep")]

    def limits(self):
        """Seconds that a request of libcurl may take, for each request."""
        return [value / 1000 for option, value in self.of("curl") if option == CURL_TIMEOUT]
