"""What a run leaves on disk, and how a killed run goes on.

`RunFolder` holds one run: the slates, the parts written while scoring, and the
merged tables that reports read. A run that was killed at any point and resumed
ends with the same bytes as one that was not.
"""

from evenhand.records.asked import Asked, read_asked, write_asked
from evenhand.records.folder import RunFolder
from evenhand.records.tables import Recorded

__all__ = ["Asked", "Recorded", "RunFolder", "read_asked", "write_asked"]
