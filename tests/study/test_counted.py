from evenhand.study.counted import counted


def test_the_noun_follows_the_number():
    assert [counted(n, "slate") for n in (0, 1, 2)] == ["0 slates", "1 slate", "2 slates"]
