"""The reference of the commands, from the click commands themselves."""

import inspect
import re
import textwrap

import click

from piecework.cli import COMMANDS, group

__all__ = ["commands_page"]

HEADER = """# Commands

`piecework COMMAND --help` says the same in a terminal. Exit codes: 0 ok, 1 failed, 2 usage or
configuration, 130 interrupted. Data goes to stdout and messages to stderr. This page is generated from the commands.

"""


def commands_page() -> str:
    """All commands in the order of `piecework --help`: what each does, its examples and options.

    >>> "## piecework train" in commands_page()
    True
    """
    context = click.Context(group, info_name="piecework")
    commands = {name: group.get_command(context, name) for name in COMMANDS}
    overview = ["| command | what it does |", "| --- | --- |"]
    overview += [
        f"| [`{name}`](#piecework-{name}) | {_cell(command.get_short_help_str(200))} |"
        for name, command in commands.items()
        if command is not None
    ]
    sections = [_section(name, command, context) for name, command in commands.items() if command is not None]
    return HEADER + "\n".join(overview) + "\n\n" + "\n".join(sections)


def _section(name: str, command: click.Command, parent: click.Context) -> str:
    context = click.Context(command, info_name=name, parent=parent)
    usage = " ".join(["piecework", name, *command.collect_usage_pieces(context)])
    lines = [f"## piecework {name}", "", "```text", usage, "```", "", _help(command.help or ""), ""]
    options = [parameter for parameter in command.get_params(context) if isinstance(parameter, click.Option)]
    lines += ["| option | |", "| --- | --- |", *(_row(option, context) for option in options if not option.hidden), ""]
    return "\n".join(lines)


def _row(option: click.Option, context: click.Context) -> str:
    record = option.get_help_record(context)
    assert record is not None, option.name
    names, text = record
    return f"| `{names.replace('|', chr(92) + '|')}` | {_cell(text)} |"


def _help(text: str) -> str:
    """Paragraphs as they are; what click must not wrap (after \\b) becomes a block of code."""
    parts = []
    for paragraph in re.split(r"\n\s*\n", inspect.cleandoc(text)):
        if paragraph.startswith("\b"):
            title, _, block = paragraph.removeprefix("\b").strip("\n").partition("\n")
            parts.append(f"{_prose(title.strip())}\n\n```sh\n{textwrap.dedent(block).rstrip()}\n```")
        else:
            parts.append(_prose(paragraph))
    return "\n\n".join(parts)


def _prose(text: str) -> str:
    return re.sub(r"([<*_\[\]])", r"\\\1", text)


def _cell(text: str) -> str:
    return _prose(text).replace("|", "\\|").replace("\n", " ")
