"""What of the patches can be seen without an emulator."""

import threading
import time
import unittest
from types import SimpleNamespace

from hostexec.permissions import leading_keys, table
from hostexec.queues import something_in, wake
from localemu.services.sqs.queue import InterruptiblePriorityQueue


class PermissionsTest(unittest.TestCase):
    def test_a_request_names_its_table_or_index(self):
        for params, want in (
            ({"TableName": "t"}, "table/t"),
            ({"TableName": "t", "IndexName": "i"}, "table/t/index/i"),
            ({"TransactItems": [{"Put": {"TableName": "t"}}, {"Delete": {"TableName": "t"}}]}, "table/t"),
            ({"RequestItems": {"t": [], "u": []}}, "table/*"),
        ):
            self.assertEqual(table(params, "r", "1"), "arn:aws:dynamodb:r:1:" + want)

    def test_the_partition_keys_of_all_items_are_found(self):
        request = {"TransactItems": [{"Put": {"Item": {"pk": {"S": "a"}, "v": {"M": {}}}}}, {"Delete": {"Key": {"pk": {"S": "b"}}}}]}
        self.assertEqual(leading_keys(request), {"a", "b"})


class QueuesTest(unittest.TestCase):
    def setUp(self):
        self.queue = SimpleNamespace(visible=InterruptiblePriorityQueue())

    def test_a_message_ends_the_waiting_and_is_left_for_who_takes_it(self):
        threading.Timer(0.1, self.queue.visible.put, [1]).start()
        self.assertTrue(something_in(self.queue, 10))
        self.assertEqual(self.queue.visible.qsize(), 1)

    def test_who_waits_for_a_message_to_take_it_is_not_forgotten(self):
        taken = []
        taker = threading.Thread(target=lambda: taken.append(self.queue.visible.get(timeout=10)))
        watcher = threading.Thread(target=something_in, args=(self.queue, 10))
        watcher.start()
        time.sleep(0.1)
        taker.start()
        time.sleep(0.1)
        self.queue.visible.put(1)
        taker.join(5)
        watcher.join(5)
        self.assertEqual(taken, [1])

    def test_an_empty_queue_is_waited_for_no_longer_than_asked(self):
        self.assertFalse(something_in(self.queue, 0.05))

    def test_who_is_stopped_does_not_wait(self):
        stopped = threading.Event()
        answers = []
        waiter = threading.Thread(target=lambda: answers.append(something_in(self.queue, 60, stopped.is_set)))
        waiter.start()
        time.sleep(0.1)
        stopped.set()
        wake(self.queue)
        waiter.join(5)
        self.assertEqual(answers, [False])
