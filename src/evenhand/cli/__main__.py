"""`python -m evenhand.cli`, where the `evenhand` command is not on the path."""

from evenhand.cli import main

main()
