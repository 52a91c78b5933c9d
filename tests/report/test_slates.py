import numpy as np

from evenhand.report.slates import slate_views


def test_the_most_unstable_slates_are_kept_and_the_rest_counted(make_analysis, two):
    analysis = make_analysis(
        per_slate={"tauPSI": np.array([1.0, 0.0]), "threshold": np.array([0.5, 0.5])}
    )
    views, hero = slate_views(analysis, two(), limit=1)
    assert [seen.id for seen in views] == ["q1"]
    assert hero.view.id == "q1"
    everything, _ = slate_views(analysis, two())
    assert [(seen.id, len(seen.moved)) for seen in everything] == [("q1", 2), ("q2", 0)]


def test_the_slate_drawn_large_is_one_that_changes(make_analysis, two):
    # q2 is called the more unstable, but its retained set is the same in both rows.
    analysis = make_analysis(
        per_slate={"tauPSI": np.array([0.1, 0.9]), "threshold": np.array([0.5, 0.5])}
    )
    views, hero = slate_views(analysis, two())
    assert [seen.id for seen in views] == ["q2", "q1"]
    assert hero.view.id == "q1"


def test_each_slate_is_cut_at_its_own_threshold(make_analysis, two):
    analysis = make_analysis(
        per_slate={"tauPSI": np.array([0.2, 0.1]), "threshold": np.array([0.5, 0.85])}
    )
    views, _ = slate_views(analysis, two())
    # c scores .9 and .8: at .85 it flips, at the other slate's .5 it would not.
    assert [m.id for m in views[1].moved] == ["c"]
