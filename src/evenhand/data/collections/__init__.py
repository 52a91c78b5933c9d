"""The public collections of the protocol: declared, planned, fetched, checked, opened by name."""

from evenhand.data.collections.declare import (
    FIRST,
    Collection,
    Counts,
    Defaults,
    Hub,
    Irds,
    Lists,
    Placed,
    Take,
)
from evenhand.data.collections.fetch import fetch
from evenhand.data.collections.plan import Planned, listing, markdown, plan
from evenhand.data.collections.registry import (
    COLLECTIONS,
    ROOT,
    collection,
    collection_folder,
    open_collection,
)
from evenhand.data.collections.verify import Verdict, lying, record, verify

__all__ = [
    "COLLECTIONS",
    "FIRST",
    "ROOT",
    "Collection",
    "Counts",
    "Defaults",
    "Hub",
    "Irds",
    "Lists",
    "Placed",
    "Planned",
    "Take",
    "Verdict",
    "collection",
    "collection_folder",
    "fetch",
    "listing",
    "lying",
    "markdown",
    "open_collection",
    "plan",
    "record",
    "verify",
]
