#!/usr/bin/env python3
"""Tests of the comparison of outputs with pages."""

import unittest

import pages
import readings
import shape

TABLE = r"""mean of the last 5m
MACHINE  COUNTER                  VALUE  UNIT
web-1    \Memory\Available Bytes  22.84  GiB
"""


class ShapeTest(unittest.TestCase):
    def test_other_values_have_the_same_shape(self):
        other = TABLE.replace("22.84  GiB", "720.1  MiB").replace("web-1", "box")
        self.assertEqual(shape.shape_of(TABLE), shape.shape_of(other))

    def test_other_columns_units_and_texts_differ(self):
        for old, new in (("VALUE", "TOTAL"), ("GiB", "%"), ("mean", "sum")):
            other = TABLE.replace(old, new)
            self.assertNotEqual(shape.shape_of(TABLE), shape.shape_of(other))

    def test_columns_of_some_values_may_be_absent(self):
        other = (TABLE.replace("UNIT", "UNIT  COVERED")
                 .replace("GiB", "GiB     12.0 %"))
        self.assertEqual(shape.shape_of(TABLE), shape.shape_of(other))

    def test_common_names_may_be_above_a_table(self):
        other = (TABLE.replace("MACHINE  COUNTER                  ", "")
                 .replace("web-1    \\Memory\\Available Bytes  ", "")
                 .replace("mean of the last 5m",
                          "mean of the last 5m\n\\\\web-1\\Memory\\Available Bytes"))
        self.assertEqual(shape.shape_of(TABLE), shape.shape_of(other))

    def test_lines_that_are_left_out_may_have_other_units(self):
        on_page = shape.shape_of(TABLE)
        actual = shape.shape_of(TABLE + TABLE.split("\n")[2].replace("GiB", "%"))
        self.assertTrue(shape.agree(on_page, actual, has_left_out=True))
        self.assertFalse(shape.agree(on_page, actual, has_left_out=False))
        self.assertFalse(shape.agree(actual, on_page, has_left_out=True))

    def test_keys_of_json_differ(self):
        self.assertNotEqual(shape.shape_of('{"time":1,"value":2}'),
                            shape.shape_of('{"time":1,"unit":"%"}'))

    def test_rows_of_csv_have_as_many_fields(self):
        text = ("machine,path,time,value\n"
                'web-1,\\Memory\\Available Bytes,2026-11-29T19:00:00Z,12.5\n'
                'web-1,"\\Processor(0,1)\\% Time",2026-11-29T19:00:00Z,3\n')
        self.assertEqual(shape.shape_of(text), [
            ("line", "machine,path,time,value"), ("csv", 4)])
        text = ('"(PDH-CSV 4.0) (UTC)(0)","\\\\web-1\\System\\Processes"\n'
                '"11/29/2026 19:00:00.000","92"\n')
        self.assertEqual(shape.shape_of(text),
                         shape.shape_of(text.replace("web-1", "box")))
        self.assertEqual(shape.shape_of(text)[1], ("csv", 2))

    def test_legends_differ(self):
        self.assertEqual(shape.shape_of("** yes:12  ++ a:3"),
                         shape.shape_of("xx bash:1"))

    def test_a_time_axis_at_midnight_has_a_date(self):
        for axis in ("23:40  23:50  Dec 01  00:10", "Dec 01  00:02"):
            self.assertEqual(shape.shape_of("  23:30  23:40\n"),
                             shape.shape_of(f"  {axis}\n"))

    def test_a_table_needs_a_row(self):
        self.assertTrue(shape.has_data(TABLE))
        self.assertFalse(shape.has_data("\n".join(TABLE.split("\n")[:2])))


class ReadingsTest(unittest.TestCase):
    def setUp(self):
        self.proc = readings.Readings()
        self.proc.stop()
        self.proc.bounds[r"\Memory\Available Bytes"] = (22 * 2**30, 23 * 2**30)

    def test_a_value_of_the_machine_is_confirmed(self):
        self.assertEqual(self.proc.check(TABLE), (1, []))

    def test_another_value_is_an_error(self):
        found, errors = self.proc.check(TABLE.replace("GiB", "MiB"))
        self.assertEqual((found, len(errors)), (1, 1))

    def test_checks_have_values(self):
        self.proc.bounds[r"\System\Processes"] = (90, 95)
        text = r"FLEETPERF OK | '\\web-1\System\Processes'=%d;;"
        self.assertEqual(self.proc.check(text % 92), (1, []))
        self.assertEqual(len(self.proc.check(text % 192)[1]), 1)


class PagesTest(unittest.TestCase):
    def test_lines_that_are_not_complete_continue(self):
        block = pages.Block("sh", 1, ["one \\", "  more", "# comment", "two ||", "  three"])
        self.assertEqual(pages.commands_of(block), ["one \\\n  more", "two ||\n  three"])

    def test_here_documents_belong_to_their_command(self):
        block = pages.Block("sh", 1, ["cat >file <<END", "one", "END", "two"])
        self.assertEqual(pages.commands_of(block), ["cat >file <<END\none\nEND", "two"])


if __name__ == "__main__":
    unittest.main()
