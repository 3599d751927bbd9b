"""Filter patterns for JSON."""

import json
import unittest

from hostexec.filterpattern import holds, parsed

RECORD = json.dumps({"status": "SUCCESS", "a": {"b": "x  y", "n": 3, "t": True}})


class FilterPatternTest(unittest.TestCase):
    def test_records_are_told_apart(self):
        for pattern, want in {
            '$.status = "SUCCESS"': True,
            '$.status != "SUCCESS"': False,
            '$.a.b = "x  y"': True,
            '$.a.b = "x y"': False,
            "$.a.n = 3 && $.a.t = true": True,
            "$.a.n = 4 || $.a.t = true": True,
            "$.a.n = 4 || $.a.t = true && $.a.n = 5": False,
            '($.a.n = 4 || $.a.t = true) && $.status = "SUCCESS"': True,
            "$.a.gone = null": True,
            '$.a.b.c = "x"': False,
        }.items():
            with self.subTest(pattern):
                self.assertEqual(holds(parsed(pattern), RECORD), want)

    def test_what_is_no_record_does_not_match(self):
        self.assertFalse(holds(parsed("$.a != 1"), "START RequestId: 1"))

    def test_what_is_not_understood_is_refused(self):
        for pattern in ("$.a > 1", "$.a = x", '$.a = "x" and $.b = "y"'):
            with self.subTest(pattern), self.assertRaises(ValueError):
                parsed(pattern)
