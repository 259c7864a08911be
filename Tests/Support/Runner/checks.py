# SPDX-License-Identifier: Apache-2.0

"""The checks of a program that is no collection of tests: counted as they are made, with a closing line."""


class Checks:
    def __init__(self, tells=True):
        """`tells`: whether what fails is printed; not for those who expect failures."""
        self.tells = tells
        self.passed = 0
        self.failed = 0
        self.faults = []

    def that(self, holds, fault):
        """Counts; names the fault if it does not hold. Whether it does."""
        if holds:
            self.passed += 1
        else:
            self.failed += 1
            self.faults.append(fault)
            if self.tells:
                print(f"FAILED {fault}", flush=True)
        return bool(holds)

    def close(self):
        """Prints the closing line; the exit status. Who checked nothing has failed."""
        print(f"{self.passed} passed, {self.failed} failed")
        return 0 if self.failed == 0 and self.passed > 0 else 1
