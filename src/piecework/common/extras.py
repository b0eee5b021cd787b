"""Optional packages: imported on first use. If one is missing, the error says how to install it."""

from __future__ import annotations

from importlib import import_module
from importlib.util import find_spec
from typing import Any

from piecework.errors import PieceworkError

__all__ = ["MissingPackageError", "installed_version", "is_installed", "require"]


class MissingPackageError(PieceworkError):
    """A package that the command needs is not installed."""


def require(package: str, *, extra: str, purpose: str) -> Any:
    """Imports a package, or raises an error that says how to install it.

    >>> require("no_such_package", extra="hf", purpose="comparing")
    Traceback (most recent call last):
    piecework.common.extras.MissingPackageError: comparing needs no_such_package, which is not installed: pip install \
'piecework[hf]'
    """
    try:
        return import_module(package)
    except ImportError as error:
        if is_installed(package):
            raise MissingPackageError(f"{purpose} needs {package}, which cannot be imported: {error}") from error
        raise MissingPackageError(
            f"{purpose} needs {package}, which is not installed: pip install 'piecework[{extra}]'"
        ) from error


def is_installed(package: str) -> bool:
    """Whether the package is installed, without importing it.

    >>> is_installed("click"), is_installed("no_such_package.part")
    (True, False)
    """
    try:
        return find_spec(package) is not None
    except ModuleNotFoundError:  # the package that it would be a part of
        return False


def installed_version(package: str) -> str:
    """The version of an installed package; empty if it is unknown."""
    from importlib import metadata

    try:
        return metadata.version(package)
    except metadata.PackageNotFoundError:
        return ""
