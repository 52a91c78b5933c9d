"""Numbers about agreement and quality, computed from scores and decisions.

`order` and `spread` read scores, `decision` reads what was decided, `quality`
reads grades, `stats` turns per-slate values into an estimate. `registry` is the
list of them all by the name they print and parse as.

One rule for missing scores (NaN). A row without any score is left out. What
compares two rows at a time (tau-PSI, tied pairs, top instability, overlap, pairs
of empty sets) then leaves a candidate out of each pair of rows in which either
lacks it; what reads one row at a time (exact ties, score spread, retained share,
quality) leaves it out of the rows that lack it; every other measure (deviations
over rows, set flip, flips of the top and the pair, first slot) leaves out the
candidates that some remaining row lacks. Too few rows or candidates left (two
where rows are compared) is undefined: NaN. Nothing missing ever counts as a
score of 0.
"""
