"""Training the dependence away: silver labels, views, objectives, one loop, selection."""
