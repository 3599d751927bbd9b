"""No record of every call.

LocalEmu keeps CloudTrail's records of all calls and makes an event of each, by a
call and in a thread of its own: after a while it does little else.
"""

from localemu.services.cloudtrail import recording_hook


def apply() -> None:
    recording_hook.unregister_recording_hook()  # where it is there already
    recording_hook.register_recording_hook = lambda: None
