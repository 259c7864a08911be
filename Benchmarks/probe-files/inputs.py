# SPDX-License-Identifier: Apache-2.0

"""The folders that are measured. All bytes are real, on the disk of the build folder; made once and kept."""

import os

BLOCK = 1 << 20
NOISE = os.urandom(BLOCK)
FILES_OF_ONE_FOLDER = 500

# The trees: files, bytes of each.
TREES = {"a": (1, 256 << 20), "b": (2_000, 64 << 10), "c": (20_000, 4 << 10), "d": (2_000, 100 << 10)}


def write_file(path: str, size: int, number: int) -> None:
    """Bytes that are no other file's."""
    with open(path, "wb") as file:
        for at in range(0, size, BLOCK):
            head = b"%032d" % (number * size + at)
            file.write((head + NOISE)[: min(BLOCK, size - at)])


def path_of(number: int) -> str:
    return f"{number // FILES_OF_ONE_FOLDER:03d}/{number:06d}"


def make(root: str, count: int, size: int) -> str:
    """A folder of `count` files. Answers its path."""
    mark = f"{root}.made"
    if not os.path.exists(mark):
        for number in range(count):
            path = f"{root}/{path_of(number)}"
            os.makedirs(os.path.dirname(path), exist_ok=True)
            write_file(path, size, number)
        with open(mark, "w", encoding="ascii"):
            pass
    return root


def make_part(whole: str, root: str, count: int) -> str:
    """A folder of the first `count` files of another: the same inodes, hence the same pages in memory."""
    mark = f"{root}.made"
    if not os.path.exists(mark):
        for number in range(count):
            path = f"{root}/{path_of(number)}"
            os.makedirs(os.path.dirname(path), exist_ok=True)
            # An interrupted run before has linked some of them.
            if not os.path.exists(path):
                os.link(f"{whole}/{path_of(number)}", path)
        with open(mark, "w", encoding="ascii"):
            pass
    return root
