"""`--ray`: the workers of a verb that scores, in processes and machines of their own."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

import typer

from evenhand.cli.common import tell
from evenhand.errors import UsageError
from evenhand.study.counted import counted

if TYPE_CHECKING:
    from evenhand.records.filling import Engine
    from evenhand.study.ray import RayOptions
    from evenhand.types import Scorer

RAY = typer.Option("--ray", help="Score in workers, each with a scorer of its own (extra ray).")
WORKERS = typer.Option(
    help="How many. Default: as many as the GPUs allow, without GPUs one a machine.", metavar="N"
)
ADDRESS = typer.Option(
    help="A running Ray cluster, e.g. auto. Default: one of this machine, ended with the verb."
)
GPUS = typer.Option(
    help="GPUs of a worker, such as 0.5. Default: 1 where there are GPUs, else 0.", metavar="G"
)


def asked_ray(
    ray: bool, workers: int | None, address: str | None, gpus: float | None
) -> RayOptions | None:
    """Return what `--ray` and its options ask for, None without them.

    Raises:
        UsageError: an option without `--ray`, or one out of range.
    """
    from evenhand.study.ray import RayOptions

    given = {"--ray-workers": workers, "--ray-address": address, "--ray-gpus": gpus}
    named = [name for name, value in given.items() if value is not None]
    if named and not ray:
        raise UsageError(f"{' and '.join(named)} say how --ray works; add --ray")
    return RayOptions(workers, address, gpus) if ray else None


def opened(
    context: typer.Context, opener: Callable[[], Scorer], asked: RayOptions | None
) -> tuple[Scorer, Engine | None]:
    """Return a scorer and who does its work: this process, or workers until the verb ends.

    Args:
        context: of the verb. opener: opens the scorer, in every worker too.
        asked: from `asked_ray`.

    Raises:
        MissingExtraError: ray is not installed.
        ScorerError: the workers cannot be started, or the scorer cannot be opened there.
    """
    if asked is None:
        return opener(), None
    from evenhand.study.ray import workers_on_ray

    engine = context.with_resource(workers_on_ray(opener, asked))
    tell(f"{engine.scorer.name}: {counted(engine.workers, 'worker')} on Ray")
    return engine.scorer, engine
