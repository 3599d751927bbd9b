"""Runs LocalEmu on loopback only, in a process group of its own."""

import os
import runpy

from twisted.internet import endpoints

if os.getpgrp() != os.getpid():
    os.setsid()


class LoopbackEndpoint(endpoints.TCP4ServerEndpoint):
    """LocalEmu gives the port of GATEWAY_LISTEN to this class and forgets the
    address, which would put the emulator on every network of this host."""

    def __init__(self, reactor, port):
        super().__init__(reactor, port, interface="127.0.0.1")


endpoints.TCP4ServerEndpoint = LoopbackEndpoint

runpy.run_module("localemu.runtime.main", run_name="__main__", alter_sys=True)
