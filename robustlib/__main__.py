"""The command line: ``python -m robustlib`` or ``robustlib``."""

import sys
from argparse import ArgumentParser
from collections.abc import Sequence

from robustlib.cli import COMMANDS
from robustlib.errors import RobustlibError


def main(arguments: Sequence[str] | None = None) -> int:
    """Run one command and return its exit status: 0 done, 2 cannot be done, 130 interrupted.

    What a user can cause is told in one line on standard error, without a traceback.
    """
    parser = ArgumentParser(prog="robustlib", description="How robust are VQA and vision-language models?")
    commands = parser.add_subparsers(metavar="COMMAND", required=True)
    for add_command in COMMANDS:
        add_command(commands)
    parsed = parser.parse_args(arguments)
    try:
        parsed.run(parsed)
    except (RobustlibError, OSError) as error:
        print("robustlib:", *str(error).splitlines(), file=sys.stderr)
        return 2
    except KeyboardInterrupt:
        print("robustlib: interrupted", file=sys.stderr)
        return 130
    return 0


if __name__ == "__main__":
    sys.exit(main())
