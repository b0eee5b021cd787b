"""The fixture that runs the command line."""

from cli.conftest import run  # noqa: F401  # a fixture
