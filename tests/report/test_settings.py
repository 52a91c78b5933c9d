from pathlib import Path

from evenhand.report.settings import SETUP, column_names, folder_labels
from evenhand.study.analysis import ThresholdFit


def test_every_number_travels_with_its_settings(make_analysis):
    analysis = make_analysis()
    settings = {name: read(analysis) for name, read in SETUP.items()}
    assert settings["scorer revision"] == "0123456789abcde…"
    assert settings["dtype"] == "float32"
    assert settings["truncation"] == "none"
    assert settings["threshold"].startswith("0.500 / 0.550 (F1, cross-fitted")


def test_a_quantile_threshold_says_that_there_were_no_grades(make_analysis):
    analysis = make_analysis(threshold=ThresholdFit("quantile", (0.8,), None, "r"))
    assert SETUP["threshold"](analysis) == "0.800 (80% quantile of the scores: no slate has grades)"
    failed = make_analysis(threshold=ThresholdFit("quantile", (0.8,), None, "r", "rows failed"))
    assert SETUP["threshold"](failed) == "0.800 (80% quantile of the scores: rows failed)"


def test_columns_of_one_name_are_told_apart_by_what_differs(make_analysis):
    def shown(visibility, rows=4):
        return make_analysis("m", settings={"rows": rows, "surface": {"visibility": visibility}})

    assert column_names([shown("sequential"), shown("parallel"), make_analysis("t")]) == (
        "m, sequential",
        "m, parallel",
        "t",
    )
    assert column_names([shown("parallel"), shown("parallel", 9)]) == ("m, M 4", "m, M 9")
    assert column_names([shown("parallel"), shown("parallel")]) == ("m (1)", "m (2)")


def test_cut_tokens_are_told_beside_the_rule(make_analysis):
    scorer = {"name": "m", "max_candidate_tokens": 96}
    analysis = make_analysis(scorer=scorer, counts={"truncated_tokens": 1200})
    assert SETUP["truncation"](analysis) == "96 tokens per candidate, 1,200 tokens cut"
    scorer = {"name": "m", "max_candidate_words": 96}
    analysis = make_analysis(scorer=scorer, counts={"truncated_tokens": 1200})
    assert SETUP["truncation"](analysis) == "96 words per candidate, 1,200 words cut"


def test_words_of_the_surface_stand_only_where_the_scorer_reads_them(make_analysis):
    def words(*channels):
        scorer = {**make_analysis().scorer, "channels": list(channels)}
        surface = {"rubric": "relevance", "markers": "numeric", "query": "before"}
        analysis = make_analysis(scorer=scorer, settings={"surface": surface})
        return [SETUP[key](analysis) for key in ("rubric", "markers", "query")]

    assert words("order", "companions") == ["–", "–", "–"]
    assert words("marker") == ["–", "numeric", "before"]
    assert words("rubric", "marker", "skeleton") == ["relevance", "numeric", "before"]


def test_results_on_other_slates_are_told_apart_by_their_labels(make_analysis):
    def of(slate, rows=4):
        return make_analysis("m", slate_ids=(slate,), settings={"rows": rows})

    three = [of("a"), of("b", 9), make_analysis("t")]
    assert column_names(three, ["dl20", "hotpot", "x"]) == ("m, dl20", "m, hotpot", "t")
    # On the same slates what was set tells more, and the label comes last.
    assert column_names([of("a"), of("a", 9)], ["r1", "r2"]) == ("m, M 4", "m, M 9")
    assert column_names([of("a"), of("a")], ["r1", "r2"]) == ("m, r1", "m, r2")
    assert column_names([of("a"), of("b")], ["", ""]) == ("m (1)", "m (2)")
    both = column_names([of("a"), of("a", 9), of("b")], ["x", "x", "y"])
    assert both == ("m, x, M 4", "m, x, M 9", "m, y")


def test_folders_are_named_as_shortly_as_tells_them_apart():
    paths = [Path("runs/a/order"), Path("runs/b/order"), Path("/elsewhere/window"), None]
    assert folder_labels(paths) == ("a/order", "b/order", "window", "")
    assert folder_labels([Path("x/r"), Path("x/r")]) == ("r", "r")
    assert folder_labels([Path()]) == (Path.cwd().name,)


def test_rows_that_cut_more_than_the_canonical_one_are_told(make_analysis):
    counts = {"truncated_tokens": 12, "truncated_further": 1500}
    said = SETUP["truncation"](make_analysis(counts=counts))
    assert said == "none, 12 tokens cut, up to 1,500 more in other rows"
