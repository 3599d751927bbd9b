"""What a process has written before it said so is there, however late the reader is."""

import queue
import subprocess
import threading
import unittest

import functionlogs


def written(text: str, size: int = 100):
    """The output of a process that has written text and still runs."""
    process = subprocess.Popen(["sh", "-c", 'printf "$0"; echo >&2; read -r _', text], stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE)
    process.stderr.readline()
    lines = queue.Queue(size)
    return process, functionlogs.Output(process.stdout, lines), lines


def taken(lines: queue.Queue) -> list[str]:
    return [lines.get_nowait() for _ in range(lines.qsize())]


class OutputTest(unittest.TestCase):
    def test_lines_are_there_without_a_reader(self):
        process, output, lines = written(r"one\r\ntwo\nhal")
        self.assertTrue(output.take())
        self.assertEqual(taken(lines), ["one", "two"])
        process.stdin.close()
        process.wait()
        self.assertFalse(output.take())
        self.assertEqual(taken(lines), ["hal"])
        self.assertFalse(output.take())
        process.stdout.close()
        process.stderr.close()

    def test_a_reader_beside_it_takes_none_away_and_ends(self):
        process, output, lines = written(r"one\ntwo\n")
        reader = threading.Thread(target=output.pump)
        reader.start()
        output.take()
        self.assertEqual(taken(lines), ["one", "two"])
        process.stdin.close()
        reader.join(10)
        self.assertFalse(reader.is_alive())
        process.wait()
        process.stderr.close()

    def test_of_too_many_lines_the_last_are_kept(self):
        process, output, lines = written(r"1\n2\n3\n", size=2)
        output.take()
        self.assertEqual(taken(lines), ["2", "3"])
        process.stdin.close()
        process.wait()
        process.stdout.close()
        process.stderr.close()
