"""What a token may see, by hand."""

from __future__ import annotations

from types import SimpleNamespace

import pytest

torch = pytest.importorskip("torch")

from evenhand.errors import ScorerError, UsageError
from evenhand.models.attention import _seam_attention, layout, pad, use_seam
from evenhand.models.forward import Forward


def visible(branches, positions, length, sliding=None, side="right"):
    mask = layout(branches, positions, length, side=side).mask(sliding)
    return None if mask is None else mask[0, 0].int().tolist()


def test_plain_causal_needs_no_mask():
    assert visible([[0, 0, 0]], [[0, 1, 2]], 3) is None
    assert visible([[0, 0]], [[0, 1]], 3) is None  # padding at the end is never seen
    assert visible([[0, 0, 0]], [[0, 1, 2]], 3, sliding=3) is None


def test_branches_see_the_shared_part_and_themselves():
    # two shared tokens, branch 1 of two tokens, branch 2 of one
    assert visible([[0, 0, 1, 1, 2]], [[0, 1, 2, 3, 2]], 5) == [
        [1, 0, 0, 0, 0],
        [1, 1, 0, 0, 0],
        [1, 1, 1, 0, 0],
        [1, 1, 1, 1, 0],
        [1, 1, 0, 0, 1],
    ]


def test_sliding_window_counts_positions_not_places():
    # window 2: a token sees itself and the position before it; branch 2 follows the shared part
    assert visible([[0, 0, 1, 1, 2]], [[0, 1, 2, 3, 2]], 5, sliding=2) == [
        [1, 0, 0, 0, 0],
        [1, 1, 0, 0, 0],
        [0, 1, 1, 0, 0],
        [0, 0, 1, 1, 0],
        [0, 1, 0, 0, 1],
    ]


def test_left_padding_is_never_seen_and_sees_itself():
    assert visible([[0, 0]], [[0, 1]], 3, side="left") == [[1, 0, 0], [0, 1, 0], [0, 1, 1]]


def test_all_padding_row_keeps_a_mask_without_empty_rows():
    mask = layout([[0, 0], []], [[0, 1], []], 2, side="left").mask(None)
    assert mask[1, 0].int().tolist() == [[1, 0], [0, 1]]


def test_pad():
    assert pad([[1, 2], [3]], 3, 9).tolist() == [[1, 2, 9], [3, 9, 9]]
    assert pad([[1, 2], [3]], 3, 9, side="left").tolist() == [[9, 1, 2], [9, 9, 3]]
    with pytest.raises(UsageError, match="'right' or 'left', got 'top'"):
        pad([[1]], 1, 0, side="top")


def test_architecture_that_drops_the_layout_is_refused():
    with pytest.raises(ScorerError, match="did not pass the layout on"):
        _seam_attention(torch.nn.Linear(1, 1), *[torch.zeros(1, 1, 1, 1)] * 3, None)


def test_attention_with_sinks_or_caps_is_refused():
    seen = layout([[0]], [[0]], 1)
    with pytest.raises(ScorerError, match="uses softcap"):
        _seam_attention(
            torch.nn.Linear(1, 1),
            *[torch.zeros(1, 1, 1, 1)] * 3,
            None,
            evenhand_layout=seen,
            softcap=5.0,
        )


def test_model_that_takes_no_attention_function_is_refused():
    class Fixed:
        def set_attn_implementation(self, name):
            raise ValueError("not supported")

    with pytest.raises(ScorerError, match="Fixed does not take an attention function: not supported"):
        use_seam(Fixed())


def test_model_that_differs_through_the_seam_is_refused(tiny_model, monkeypatch):
    model = tiny_model("llama")
    plain = type(model).forward

    def other(self, *args, **kwargs):
        output = plain(self, *args, **kwargs)
        if "evenhand_layout" in kwargs:
            output.logits = output.logits.flip(-1)
        return output

    monkeypatch.setattr(type(model), "forward", other)
    with pytest.raises(ScorerError, match="gives other probabilities through the attention seam"):
        Forward(model)


def test_model_that_carries_a_state_past_attention_shows_no_branches(tiny_model, monkeypatch):
    model = tiny_model("llama")
    norm = type(model.model.norm)
    plain = norm.forward
    # Every token gets the mean of all before it, as a recurrent layer would give.
    monkeypatch.setattr(norm, "forward", lambda self, x: plain(self, x.cumsum(dim=1)))
    reader = Forward(model)
    whole = SimpleNamespace(ids=(5, 6, 7), branches=(0,) * 3, positions=(0, 1, 2), readouts=(2,))
    split = SimpleNamespace(ids=(5, 6, 7), branches=(0, 1, 2), positions=(0, 1, 1), readouts=(2,))
    assert len(reader.read([whole], ["q"], lambda hidden, index: hidden)) == 1
    with pytest.raises(ScorerError, match="slate 'r': LlamaForCausalLM carries a state"):
        reader.read([whole, split], ["q", "r"], lambda hidden, index: hidden)


def test_two_readers_share_one_switched_model(tiny_model):
    model = tiny_model("llama")
    first, second = Forward(model), Forward(model)
    prompt = SimpleNamespace(ids=(5, 6, 7), branches=(0,) * 3, positions=(0, 1, 2), readouts=(2,))
    a, b = (reader.read([prompt], ["q"], lambda hidden, index: hidden)[0] for reader in (first, second))
    assert (a == b).all()
