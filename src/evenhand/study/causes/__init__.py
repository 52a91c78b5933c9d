"""What moves the scores: channels, shares of variance, the worst order."""
