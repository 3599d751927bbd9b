"""Lets LocalEmu run functions without a container engine, and mends those of its
faults that would make a test of Postino fail or, worse, pass.

infra/local/localemu.sh puts this folder on PYTHONPATH, where LocalEmu finds the
entry points of hostexec-1.dist-info; nothing is installed. Functions are `provided`
ones: a bootstrap built for this host.
"""
