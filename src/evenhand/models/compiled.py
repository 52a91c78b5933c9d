"""Compiled blocks, for streams of few lengths: quick to build, and one shape after the other.

Every block of a model is compiled on its own. What has other shapes, a probe or a batch
that is padded, is run as written.
"""

from __future__ import annotations

from typing import Any

import torch

# Four lengths of a stream, each with a few lengths of its longest prompt.
SHAPES = 32


def compile_blocks(model: Any) -> None:
    """Compile every block of a transformers model on its own: quick to build, as quick to run."""
    allow_shapes(torch._dynamo.config)
    for block in model.base_model.layers:
        block.compile(dynamic=False)


def plain_blocks(model: Any) -> None:
    """Run the blocks of a transformers model as written again, if they were compiled."""
    for block in model.base_model.layers:
        block._compiled_call_impl = None


def allow_shapes(config: Any) -> None:
    """Let all blocks together be compiled for `SHAPES` shapes; beyond a limit torch gives up on them.

    Args:
        config: of torch's compiler, whose limit is raised, never lowered.
    """
    # The older name is that of torch 2.6.
    name = "recompile_limit" if hasattr(config, "recompile_limit") else "cache_size_limit"
    setattr(config, name, max(getattr(config, name), SHAPES))
