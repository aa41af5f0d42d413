"""The command line: ``python -m robustlib`` or ``robustlib``."""

import sys
from argparse import ArgumentParser
from collections.abc import Sequence

from robustlib.cli import COMMANDS
from robustlib.errors import RobustlibError


def main(arguments: Sequence[str] | None = None) -> int:
    """Run one command and return its exit status: 0 done, 2 cannot be done, 130 interrupted.

    What a user can cause is told on standard error, without a traceback. A sweep that Ctrl-C or SIGTERM stops ends by
    that signal, which shells tell as 128 plus its number: 130 or 143.
    """
    parser = ArgumentParser(prog="robustlib", description="How robust are VQA and vision-language models?")
    commands = parser.add_subparsers(metavar="COMMAND", required=True)
    for add_command in COMMANDS:
        add_command(commands)
    parsed = parser.parse_args(arguments)
    try:
        parsed.run(parsed)
    except (RobustlibError, OSError, MemoryError) as error:
        print("robustlib:", str(error) or type(error).__name__, file=sys.stderr)
        return 2
    except KeyboardInterrupt:
        print("robustlib: interrupted", file=sys.stderr)
        return 130
    return 0


if __name__ == "__main__":
    sys.exit(main())
