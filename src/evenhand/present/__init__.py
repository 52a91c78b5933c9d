"""How a slate may be shown: orders, windows, surface, and designs that draw them."""
