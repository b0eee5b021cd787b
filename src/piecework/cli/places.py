"""Options that name places: files and folders here or elsewhere, and the cluster to count on."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any, TypeVar

import click

if TYPE_CHECKING:
    from piecework.counting.spark_cluster import Cluster

__all__ = ["Place", "cluster_options", "resolve_cluster"]

Command = TypeVar("Command", bound=Callable[..., Any])


class Place(click.ParamType["Any"]):
    """A path on this machine, or one such as s3://bucket/folder."""

    name = "path"

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Any:
        """A Path, or a RemotePath."""
        from piecework.common.storage import locate
        from piecework.errors import InputError

        try:
            return locate(value)
        except InputError as error:
            self.fail(str(error), param, ctx)


def cluster_options(command: Command) -> Command:
    """Add --engine, --master and --conf."""
    for option in (
        click.option(
            "--conf", metavar="KEY=VALUE", multiple=True, help="With --engine spark: a setting of Spark's (repeatable)."
        ),
        click.option(
            "--master",
            metavar="URL",
            help="With --engine spark: spark://HOST:7077, yarn, k8s://... [default: Spark's own, or this machine].",
        ),
        click.option(
            "--engine",
            type=click.Choice(["local", "spark"]),
            default="local",
            show_default=True,
            help="Count on this machine, or on a Spark cluster; the files are the same.",
        ),
    ):
        command = option(command)
    return command


def resolve_cluster(engine: str, master: str | None, conf: Sequence[str]) -> Cluster | None:
    """The cluster that the options name; None for this machine."""
    if engine == "local":
        if master or conf:
            raise click.UsageError(f"{'--master' if master else '--conf'} goes with --engine spark")
        return None
    from piecework.counting.spark_cluster import Cluster

    settings = {}
    for given in conf:
        key, equals, value = given.partition("=")
        if not equals or not key.startswith("spark."):
            raise click.UsageError(f'"--conf {given}": write it as spark.executor.memory=4g')
        settings[key] = value
    return Cluster(master=master, conf=settings)
