"""DynamoDB requests one after another, transactions that undo only their own, and
scans filtered by keys.

LocalEmu answers DynamoDB requests at the same time over dicts that have no lock,
keeps a copy of the whole table for each write of a transaction, and puts the copy
back when the transaction fails: what others have written meanwhile is lost. It
refuses a key in the filter of a scan, which DynamoDB refuses in that of a query alone
(Amazon DynamoDB developer guide, "Filter expressions for scan").
"""

import copy
import functools
import threading

from localemu.services.dynamodb.provider import DynamoDBProvider
from moto.dynamodb import models
from moto.dynamodb.models.table import Table
from moto.dynamodb.responses import DynamoHandler

one_at_a_time = threading.RLock()


def apply() -> None:
    call_action = DynamoHandler.call_action
    transact = models.DynamoDBBackend.transact_write_items

    def call_action_alone(self):
        with one_at_a_time:
            return call_action(self)

    def transact_or_undo(self, transact_items):
        before = [remember(self, *next(iter(item.items()))) for item in transact_items]
        try:
            return transact(self, transact_items)
        except Exception:
            for undo in before:
                undo()
            raise

    scan = DynamoDBProvider.scan

    @functools.wraps(scan)  # with the marks that make it a handler
    def scan_with_any_filter(self, context, scan_input):
        return scan(self, context, {**scan_input, "FilterExpression": None})

    DynamoDBProvider.scan = scan_with_any_filter
    DynamoHandler.call_action = call_action_alone
    models.DynamoDBBackend.transact_write_items = transact_or_undo
    models.copy = AllButTables


class AllButTables:
    """Stands for the module copy where transactions copy tables."""

    @staticmethod
    def deepcopy(value):
        return value if isinstance(value, Table) else copy.deepcopy(value)


def remember(backend, kind: str, op: dict):
    """Gives the function that puts back the item which op is about."""
    table = backend.tables.get(op["TableName"])
    if table is None or kind == "ConditionCheck":
        return lambda: None
    hash_key, range_key = backend.get_keys_value(table, op["Item"] if kind == "Put" else op["Key"])
    item = copy.deepcopy(table.get_item(hash_key, range_key))

    def undo():
        if item is None:
            table.delete_item(hash_key, range_key)
        elif range_key is None:
            table.items[hash_key] = item
        else:
            table.items[hash_key][range_key] = item

    return undo
