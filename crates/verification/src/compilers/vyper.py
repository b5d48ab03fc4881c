# Runs the package `vyper` on standard JSON input. Imports that are not part of the input fail: files can only be read where
# Python and its packages are, and nothing else can be reached.
import os
import sys

ROOTS = {os.path.realpath(root) + os.sep for root in (sys.prefix, sys.base_prefix, os.path.dirname(os.__file__))}
DENIED = ("socket.", "subprocess.", "os.", "shutil.", "tempfile.", "urllib.", "ftplib.", "http.", "pty.", "syslog.")
READING = ("os.listdir", "os.scandir", "os.walk", "os.fwalk", "glob.glob", "ctypes.dlopen")


def is_ours(path):
    if isinstance(path, int):
        return path in (0, 1, 2)
    if path is None:
        return False
    path = os.path.realpath(os.fsdecode(path)) + os.sep
    return any(path.startswith(root) for root in ROOTS)


def check(event, arguments):
    if event == "open":
        path, mode, flags = (tuple(arguments) + (None, None, None))[:3]
        writes = isinstance(mode, str) and any(letter in mode for letter in "wax+")
        writes = writes or (isinstance(flags, int) and flags & (os.O_WRONLY | os.O_RDWR | os.O_CREAT))
        if isinstance(path, int) or (is_ours(path) and not writes):
            return
    elif event in READING:
        if arguments and is_ours(arguments[0]):
            return
    elif not event.startswith(DENIED):
        return
    raise PermissionError(f"a compiler must not use {event}")


if not hasattr(sys, "addaudithook"):
    sys.exit("Python 3.8 or later is required")

from vyper.cli import vyper_json

sys.addaudithook(check)
vyper_json._parse_args(sys.argv[1:])
