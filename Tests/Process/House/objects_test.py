# SPDX-License-Identifier: Apache-2.0

"""The checks of symbols, stack and circles see what they are there to see: each meets a planted fault."""

import unittest

from place import OBJECTS, fresh, run


class Objects(unittest.TestCase):
    def compiled(self, source, name="planted", flags=()):
        folder = fresh(self.id().rsplit(".", 1)[1])
        (folder / f"{name}.c").write_text(source)
        result = run("gcc", "-std=c11", "-O2", "-fstack-usage", "-fcallgraph-info=su,da", *flags, "-c",
                     folder / f"{name}.c", "-o", folder / f"{name}.o")
        self.assertEqual(result.returncode, 0, result.stderr)
        return folder

    def assert_symbols(self, source, finding, name="planted"):
        result = run(OBJECTS / "symbols.py", self.compiled(source, name) / f"{name}.o")
        if finding is None:
            self.assertEqual((result.returncode, result.stdout), (0, "3 passed, 0 failed\n"))
        else:
            self.assertEqual(result.returncode, 1)
            self.assertIn(finding, result.stdout)

    def assert_stack(self, source, finding):
        result = run(OBJECTS / "stack.py", self.compiled(source))
        if finding is None:
            self.assertEqual(result.returncode, 0, result.stdout)
        else:
            self.assertEqual(result.returncode, 1)
            self.assertIn(finding, result.stdout)

    # Symbols

    def test_a_core_that_keeps_to_itself_passes(self):
        self.assert_symbols("#include <string.h>\nvoid pfc_x(char *a, const char *b, size_t n);\n"
                            "void pfc_x(char *a, const char *b, size_t n) { memcpy(a, b, n); }\n", None)

    def test_malloc_is_found(self):
        self.assert_symbols("#include <stdlib.h>\nvoid *pfc_x(size_t n) { return malloc(n); }\n",
                            "planted.o asks for malloc")

    def test_output_is_found(self):
        self.assert_symbols('#include <stdio.h>\nvoid pfc_x(int n) { printf("%d", n); }\n', "planted.o asks for printf")

    def test_libsodium_outside_its_door_is_found(self):
        self.assert_symbols("void sodium_memzero(void *, unsigned long);\n"
                            "void pfc_x(void *p) { sodium_memzero(p, 1); }\n", "planted.o asks for sodium_memzero")

    def test_libsodium_through_its_door_passes(self):
        self.assert_symbols("void sodium_memzero(void *, unsigned long);\n"
                            "void pfc_x(void *p) { sodium_memzero(p, 1); }\n", None, name="crypto")

    def test_randomness_of_its_own_is_found_even_in_the_door(self):
        self.assert_symbols("void randombytes_buf(void *, unsigned long);\n"
                            "void pfc_x(void *p) { randombytes_buf(p, 1); }\n", "crypto.o asks for randombytes_buf",
                            name="crypto")

    def test_the_byte_of_the_hash_path_passes_in_its_object_alone(self):
        source = ("static unsigned char chosen;\nunsigned char *pfc_x(void);\n"
                  "unsigned char *pfc_x(void) { return &chosen; }\n")
        self.assert_symbols(source, None, name="sha256")
        self.assert_symbols(source, "planted.o keeps writable data in chosen")

    def test_more_than_the_byte_of_the_hash_path_is_found(self):
        self.assert_symbols("static int chosen;\nint *pfc_x(void);\nint *pfc_x(void) { return &chosen; }\n",
                            "sha256.o keeps writable data in chosen", name="sha256")
        self.assert_symbols("static char other;\nchar *pfc_x(void);\nchar *pfc_x(void) { return &other; }\n",
                            "sha256.o keeps writable data in other", name="sha256")

    def test_a_memory_function_in_the_native_hash_is_found(self):
        self.assert_symbols("#include <string.h>\nvoid pfc_x(char *a, const char *b, size_t n);\n"
                            "void pfc_x(char *a, const char *b, size_t n) { memcpy(a, b, n); }\n",
                            "sha256_native.o asks for memcpy", name="sha256_native")

    def test_the_self_test_may_ask_for_sha256_alone(self):
        self.assert_symbols("void crypto_hash_sha256_init(void *);\n"
                            "void pfc_x(void *p) { crypto_hash_sha256_init(p); }\n", None, name="sha256_trial")
        self.assert_symbols("void sodium_memzero(void *, unsigned long);\n"
                            "void pfc_x(void *p) { sodium_memzero(p, 1); }\n",
                            "sha256_trial.o asks for sodium_memzero", name="sha256_trial")

    def test_a_name_without_the_prefix_is_found(self):
        self.assert_symbols("int helper(int n) { return n + 1; }\n", "planted.o shows helper")

    def test_a_variable_that_outlives_a_call_is_found(self):
        self.assert_symbols("int pfc_x(void) { static int calls; return ++calls; }\n",
                            "planted.o keeps writable data in calls")

    # Stack

    def test_small_frames_pass(self):
        self.assert_stack("int pfc_x(int n) { return n; }\n", None)

    def test_a_frame_of_two_kibibytes_is_found(self):
        self.assert_stack("void take(char *);\nvoid pfc_x(void) { char big[2048]; take(big); }\n",
                          "pfc_x takes 20")

    def test_a_frame_whose_size_depends_on_data_is_found(self):
        self.assert_stack("void take(char *);\nvoid pfc_x(int n) { char any[n]; take(any); }\n",
                          "pfc_x has a stack frame whose size depends on data")

    def test_a_program_that_measures_nothing_has_failed(self):
        result = run(OBJECTS / "stack.py", "--peak", "true")
        self.assertEqual((result.returncode, result.stdout),
                         (1, "stack: true: no operation was measured\n0 passed, 1 failed\n"))

    def test_recursion_is_found_through_another_function(self):
        self.assert_stack("int pfc_b(int *);\n"
                          "int pfc_a(int *n) { int m[4] = {*n}; return *n < 9 ? pfc_b(m) + 1 : 0; }\n"
                          "int pfc_b(int *n) { int m[4] = {*n + 1}; return pfc_a(m) * 3 + m[0]; }\n",
                          "recursion: ")

    def test_a_chain_that_is_too_deep_is_found_though_each_frame_is_small(self):
        source = "void take(char *);\n__attribute__((noinline)) void pfc_0(void) { char big[900]; take(big); }\n"
        for n in range(1, 6):
            source += (f"__attribute__((noinline)) void pfc_{n}(void) "
                       f"{{ char big[900]; take(big); pfc_{n - 1}(); take(big); }}\n")
        self.assert_stack(source, "pfc_5 → pfc_4 → pfc_3 → pfc_2 → pfc_1 → pfc_0 takes")

    # Circles

    def circles(self, sources):
        folder = fresh(self.id().rsplit(".", 1)[1])
        for name, text in sources.items():
            (folder / name).parent.mkdir(exist_ok=True)
            (folder / name).write_text(text)
        for source in folder.rglob("*.c"):
            result = run("gcc", "-c", f"-I{folder}", source, "-o", source.with_suffix(".o"))
            self.assertEqual(result.returncode, 0, result.stderr)
        result = run(OBJECTS / "circles.py", folder)
        return result.returncode, result.stdout

    def test_calls_that_go_one_way_pass(self):
        self.assertEqual(self.circles({
            "roof.c": "void wall(void), ground(void); void roof(void) { wall(); ground(); }",
            "wall.c": "void ground(void); void wall(void) { ground(); }",
            "ground.c": '#include "ground.h"\nvoid ground(void) {}',
            "ground.h": "void ground(void);"}), (0, "2 passed, 0 failed\n"))

    def test_calls_that_come_back_by_a_third_file_are_found(self):
        status, output = self.circles({
            "roof.c": "void wall(void); void roof(void) { wall(); }",
            "wall.c": "extern const int stone; int wall(void) { return stone; }",
            "ground.c": "void roof(void); const int stone = 1; void ground(void) { roof(); }"})
        self.assertEqual(status, 1)
        self.assertIn("ground.c -> roof.c (roof), roof.c -> wall.c (wall), wall.c -> ground.c (stone)", output)

    def test_headers_that_include_one_another_are_found(self):
        status, output = self.circles({"one.h": '#pragma once\n#include "two.h"\n',
                                       "two.h": '#pragma once\n  #  include "one.h"\n'})
        self.assertEqual(status, 1)
        self.assertIn("one.h -> two.h (two.h), two.h -> one.h (one.h)", output)

    def test_folders_of_one_direction_pass(self):
        self.assertEqual(self.circles({
            "roof/roof.c": '#include "wall/wall.h"\nvoid roof(void) { wall(); }',
            "wall/wall.c": '#include "wall/wall.h"\nvoid wall(void) {}',
            "wall/wall.h": "void wall(void);"}), (0, "3 passed, 0 failed\n"))

    def test_folders_that_need_one_another_are_found_though_no_two_files_do(self):
        sources = {"roof/roof.c": "void wall(void); void roof(void) { wall(); }",
                   "wall/wall.c": "void wall(void) {}",
                   "wall/ladder.c": "void roof(void); void ladder(void) { roof(); }"}
        status, output = self.circles(sources)
        self.assertEqual(status, 1)
        self.assertIn("folders: roof -> wall (roof.c: wall), wall -> roof (ladder.c: roof)", output)
        self.assertIn("2 passed, 1 failed", output)

    def test_folders_whose_headers_need_one_another_are_found(self):
        status, output = self.circles({
            "roof/roof.c": '#include "wall/wall.h"\nint roof = WALL;', "roof/roof.h": "#define ROOF 2",
            "wall/wall.c": '#include "roof/roof.h"\nint wall = ROOF;', "wall/wall.h": "#define WALL 1"})
        self.assertEqual(status, 1)
        self.assertIn("roof -> wall (roof.c: wall/wall.h), wall -> roof (wall.c: roof/roof.h)", output)
