"""Run a program under limits: ``python -P -m quoth.documents._limited MEMORY SECONDS PROGRAM ARGUMENT...``"""

import os
import sys


def main(memory: int, seconds: int, command: list[str]) -> None:
    """Become *command*, with limits on memory (bytes, each process) and processor time (each process)."""
    try:
        import resource
    except ImportError:
        pass
    else:
        for kind, value in ((resource.RLIMIT_AS, memory), (resource.RLIMIT_CPU, seconds)):
            try:
                resource.setrlimit(kind, (value, value))
            except (ValueError, OSError):
                continue
    os.execvp(command[0], command)


if __name__ == "__main__":
    main(int(sys.argv[1]), int(sys.argv[2]), sys.argv[3:])
