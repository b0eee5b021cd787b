"""`--engine`, `--master` and `--conf`: the machine or the Spark cluster that counts."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any, TypeVar

import click

if TYPE_CHECKING:
    from piecework.counting.spark_cluster import Cluster

__all__ = ["cluster_options", "resolve_cluster"]

Command = TypeVar("Command", bound=Callable[..., Any])


def cluster_options(command: Command) -> Command:
    """Add --engine, --master and --conf."""
    for option in (
        click.option(
            "--conf", metavar="KEY=VALUE", multiple=True, help="With --engine spark: a Spark setting; may be repeated."
        ),
        click.option(
            "--master",
            metavar="URL",
            help="With --engine spark: spark://HOST:7077, yarn or k8s://... [default: as Spark is configured].",
        ),
        click.option(
            "--engine",
            type=click.Choice(["local", "spark"]),
            default="local",
            show_default=True,
            help="Work on this machine or on a Spark cluster; both write the same files.",
        ),
    ):
        command = option(command)
    return command


def resolve_cluster(
    engine: str, master: str | None, conf: Sequence[str], *, say: Callable[[str], None]
) -> Cluster | None:
    """Return the cluster that the options name; None means this machine. `say` is told when Spark starts."""
    if engine == "local":
        if master or conf:
            raise click.UsageError(f"{'--master' if master else '--conf'} needs --engine spark")
        return None
    from piecework.counting.spark_cluster import Cluster

    settings = {}
    for given in conf:
        key, equals, value = given.partition("=")
        if not equals or not key.startswith("spark."):
            raise click.UsageError(f'"--conf {given}": write it as spark.executor.memory=4g')
        settings[key] = value
    return Cluster(master=master, conf=settings, say=say)
