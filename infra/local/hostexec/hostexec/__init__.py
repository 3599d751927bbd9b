"""Lets LocalEmu run functions without a container engine, and patches what
of it would make a test of Postino fail or, worse, pass.

infra/local/localemu.sh puts this folder on PYTHONPATH, where LocalEmu finds the
entry points of hostexec-1.dist-info; nothing is installed. Functions are `provided`
ones: a bootstrap built for this host.
"""

import warnings

import typing_extensions

# LocalEmu says that it runs on Python 3.12, and uses what is new in 3.13.
if not hasattr(warnings, "deprecated"):
    warnings.deprecated = typing_extensions.deprecated
