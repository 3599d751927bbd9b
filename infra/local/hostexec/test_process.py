"""Functions that do what functions do when they fail."""

import json
import stat
import sys
import tempfile
import threading
import time
import unittest
import unittest.mock
from pathlib import Path

from hostexec.process import FunctionProcess

# A bootstrap that does what its invocation says.
BOOTSTRAP = """#!{python}
import json, os, sys, time, urllib.request
api = "http://" + os.environ["AWS_LAMBDA_RUNTIME_API"] + "/2018-06-01/runtime/"
def post(path, body):
    urllib.request.urlopen(urllib.request.Request(api + path, data=json.dumps(body).encode(), method="POST"))
if os.environ.get("START") == "fail":
    post("init/error", {{"errorType": "Own", "errorMessage": "cannot start"}})
    sys.exit(1)
if os.environ.get("START") == "hang":
    time.sleep(600)
if os.environ.get("START") == "exit":
    sys.exit(7)
while True:
    with urllib.request.urlopen(api + "invocation/next") as r:
        event, request, deadline = json.load(r), r.headers["Lambda-Runtime-Aws-Request-Id"], int(r.headers["Lambda-Runtime-Deadline-Ms"])
    print("got", event["do"], flush=True)
    if event["do"] == "exit":
        sys.exit(3)
    if event["do"] == "hang":
        time.sleep(600)
    if event["do"] == "wait":
        time.sleep(event["for"])
    if event["do"] == "fail":
        post(f"invocation/{{request}}/error", {{"errorType": "Own", "errorMessage": "failed"}})
    else:
        post(f"invocation/{{request}}/response", {{"pid": os.getpid(), "left": deadline / 1000 - time.time()}})
"""


class FunctionProcessTest(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.code = Path(folder.name)
        bootstrap = self.code / "bootstrap"
        bootstrap.write_text(BOOTSTRAP.format(python=sys.executable))
        bootstrap.chmod(bootstrap.stat().st_mode | stat.S_IXUSR)

    def start(self, timeout=20.0, **env) -> FunctionProcess:
        process = FunctionProcess(self.code, env, timeout)
        self.addCleanup(process.close)
        return process

    def invoke(self, process, do, **more):
        body, failed = process.invoke("r1", json.dumps({"do": do, **more}).encode(), {})
        return json.loads(body), failed

    def assert_ends(self, process):
        for _ in range(100):
            if process.ended:
                return
            time.sleep(0.05)
        self.fail("the process still runs")

    def test_invocations_are_answered_by_one_process(self):
        process = self.start()
        self.assertIsNone(process.wait_until_ready())
        first, failed = self.invoke(process, "answer")
        second, _ = self.invoke(process, "answer")
        self.assertFalse(failed)
        self.assertEqual(first["pid"], second["pid"])
        self.assertTrue(10 < first["left"] <= 20, first)
        self.assertEqual(process.log_from(0), b"got answer\ngot answer\n")
        self.assertEqual(process.log_from(len("got answer\n")), b"got answer\n")

    def test_an_error_is_the_functions_own(self):
        process = self.start()
        process.wait_until_ready()
        self.assertEqual(self.invoke(process, "fail"), ({"errorType": "Own", "errorMessage": "failed"}, True))

    def test_a_process_that_ends_fails_its_invocation_and_later_ones_at_once(self):
        process = self.start()
        process.wait_until_ready()
        for _ in range(2):
            body, failed = self.invoke(process, "exit")
            self.assertTrue(failed)
            self.assertEqual(body["errorType"], "Runtime.ExitError")
            self.assertIn("exit status 3", body["errorMessage"])
        self.assert_ends(process)

    def test_a_process_that_hangs_is_ended_at_its_timeout(self):
        process = self.start(timeout=0.5)
        process.wait_until_ready()
        body, failed = self.invoke(process, "hang")
        self.assertTrue(failed)
        self.assertEqual(body["errorType"], "Sandbox.Timedout")
        self.assert_ends(process)

    def test_a_process_that_cannot_start_says_why(self):
        for start, kind in (("fail", "Own"), ("exit", "Runtime.ExitError"), ("hang", "Sandbox.Timedout")):
            with self.subTest(start), unittest.mock.patch("hostexec.process.INIT_TIMEOUT", 0.5 if start == "hang" else 10):
                process = self.start(START=start)
                self.assertEqual(json.loads(process.wait_until_ready())["errorType"], kind)
                self.assert_ends(process)

    def test_closing_lets_an_invocation_end_and_nothing_else(self):
        busy, idle = self.start(), self.start()
        for process in (busy, idle):
            process.wait_until_ready()
        answers = []
        worker = threading.Thread(target=lambda: answers.append(self.invoke(busy, "wait", **{"for": 0.5})))
        worker.start()
        while b"got wait" not in busy.log_from(0):
            time.sleep(0.01)
        busy.close()
        idle.close()
        worker.join()
        self.assertFalse(answers[0][1], answers)
        self.assert_ends(busy)
        self.assert_ends(idle)

    def test_an_idle_process_ends_with_the_api(self):
        process = self.start()
        process.wait_until_ready()
        process._api.close()  # as when the emulator is killed
        self.assert_ends(process)
