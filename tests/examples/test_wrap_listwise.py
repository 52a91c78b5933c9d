import runpy
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

from evenhand.types import Candidate, Presentation, Shown, Slate

EXAMPLE = Path(__file__).resolve().parents[2] / "examples" / "wrap_listwise.py"


@pytest.fixture(scope="module")
def example():
    return runpy.run_path(str(EXAMPLE), run_name="example")


def test_it_runs_without_a_model(tmp_path):
    done = subprocess.run(
        [sys.executable, str(EXAMPLE)], capture_output=True, text=True, timeout=120, cwd=tmp_path
    )
    assert done.returncode == 0, done.stderr
    assert "stand-in" in done.stdout
    assert "tauPSI" in done.stdout


def test_scores_go_to_the_text_of_their_index(example):
    slate = Slate("s", "red apples", (Candidate("a", "the moon"), Candidate("b", "red apples")))
    scorer = example["wrapped"](example["StandIn"](), "m", "1")
    forward, backward = scorer.score(
        [Shown(slate, Presentation(order, (order,))) for order in ((0, 1), (1, 0))]
    )
    # The better one comes first in the results. Shared words, less .3 for the second place.
    np.testing.assert_allclose(forward.scores, [0, 1.7])
    np.testing.assert_allclose(backward.scores, [-0.3, 2])
    assert (scorer.revision, scorer.unseen, scorer.max_window) == ("1", (), 64)


def test_a_result_that_is_left_out_has_no_score(example):
    class TopOne(example["StandIn"]):
        def rerank(self, query, documents, top_n=None):
            return super().rerank(query, documents, top_n=1)

    slate = Slate("s", "red apples", (Candidate("a", "the moon"), Candidate("b", "red apples")))
    (scored,) = example["wrapped"](TopOne(), "m", "1").score(
        [Shown(slate, Presentation((0, 1), ((0, 1),)))]
    )
    np.testing.assert_array_equal(scored.scores, [np.nan, 1.7])
    assert scored.failure
