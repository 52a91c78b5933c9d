"""The channel table: the same cells as text, Markdown and JSON."""

import json

import pytest

from evenhand.report.channel_table import HEADS, LEGEND, cells
from evenhand.report.channels import audit_channels, to_dict, to_markdown, to_text
from evenhand.score.function import scorer
from evenhand.score.toy import Toy
from evenhand.types import Candidate, Slate


def slates(n=6):
    return [
        Slate(f"s{q}", f"query {q}", tuple(Candidate(f"c{i}", f"t{i}") for i in range(n)), {"c1": 3})
        for q in range(4)
    ]


@pytest.fixture(scope="module")
def study(tmp_path_factory):
    channels = ("order", "companions", "membership")
    out = tmp_path_factory.mktemp("runs")
    return audit_channels(Toy(relevance="slot"), slates(), channels, out=out, rows=3).study


def test_one_row_a_channel_the_same_columns(study):
    found = {row.channel: dict(zip(HEADS, cells(row), strict=True)) for row in study.rows}
    assert list(found) == ["order", "companions", "membership"]
    # One window: companions have no rows. By slot alone, replacing a member moves nobody else.
    assert set(list(found["companions"].values())[1:]) == {"–", "0"}
    assert float(found["order"]["tauPSI"]) > 0.3
    assert found["order"]["noise floor"] == found["order"]["score floor"] == "0.000"
    assert (found["order"]["rows"], found["order"]["undefined"]) == ("3", "0")


def test_text_holds_table_settings_and_findings(study):
    text = to_text(study)
    for words in (
        *HEADS,
        "membership: Pool-PSI, replaced in place 0.000",
        "4 slates",
        "(position_only)",
    ):
        assert words in text
    assert " ".join(LEGEND.split()) in " ".join(text.split())


def test_markdown_escapes_what_comes_from_outside():
    def f(query, texts):
        return [0.5 * (place == 0) for place in range(len(texts))]

    done = audit_channels(scorer(f, name="a|b <i>"), slates(), ("order",), rows=3)
    document = done.to_markdown()
    assert "a\\|b \\<i\\>" in document
    assert "| channel | tauPSI |" in document
    assert "## Findings" in document
    assert to_markdown(done.study, title="x|y").startswith("# x\\|y")


def test_json_is_strict_and_null_where_undefined(study):
    document = json.loads(json.dumps(to_dict(study), allow_nan=False))
    channels = document["channels"]
    assert channels["order"]["values"]["PoolPSI"]["mean"] is None
    assert channels["membership"]["values"]["PoolPSI(kind='replaced')"]["mean"] == 0
    assert channels["companions"]["values"]["tauPSI"] is None
    assert channels["order"]["signs"]["companion_change"] is None
    assert document["settings"]["rows"] == 3
    assert document["findings"][0]["code"] == "position_only"


def test_a_temporary_folder_lives_as_long_as_the_result():
    done = audit_channels(Toy(), slates(), ("order",), rows=2)
    path = done.study.rows[0].path
    (result,) = done.results()
    assert result.analysis.stability["tauPSI"].mean == 0
    assert path.exists()
    del done, result
    assert not path.exists()


@pytest.mark.parametrize("width", [60, 80, 160])
def test_no_page_cuts_a_number(study, width):
    lines = to_text(study, width=width).splitlines()
    table = [line for line in lines if line.startswith(("│", "┃"))]
    assert not any("…" in line for line in lines)
    assert max(map(len, lines)) <= width
    shown = [word.strip() for line in table for word in line.strip("│┃").replace("┃", "│").split("│")]
    for row in study.rows:
        assert all(cell in shown for cell in cells(row))
    assert set(HEADS) <= set(shown)
    # The channel stands in each of the tables.
    assert shown.count("membership") == shown.count("channel") == {60: 4, 80: 3, 160: 1}[width]
