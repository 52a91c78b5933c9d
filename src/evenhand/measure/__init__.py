"""Numbers about agreement and quality, computed from scores and decisions.

`order` and `spread` read scores, `decision` reads what was decided, `quality`
reads grades, `stats` turns per-slate values into an estimate. `registry` is the
list of them all by the name they print and parse as.

One rule for missing scores (NaN). A row without any score is left out. A
measure over pairs of rows then leaves a candidate out of each pair in which
either of the two rows lacks it; every other measure leaves out the candidates
that some remaining row lacks. What is left of fewer than two rows or two
candidates is undefined: NaN. Nothing missing ever counts as a score of 0.
"""
