"""The numbers of rows: a tenth of TPC-C's for each warehouse, so that loading takes seconds."""

from __future__ import annotations

DISTRICTS = 10
"""Districts of a warehouse; the one number that is TPC-C's own."""
CUSTOMERS = 300
"""Customers of a district, of which each has one order on average."""
ORDERS = 300
"""Orders of a district: a removal leaves so many, and at times some more have been made since."""
NEW_ORDERS = 90
"""Orders of a district that a delivery leaves undelivered, which are the last ones."""
LINES = (8, 13, 5, 15, 11, 6, 12, 9, 14, 7)
"""The lines of ten orders, as many on average as TPC-C's 5 to 15; all have the same by turns."""
MEAN_LINES = sum(LINES) // len(LINES)
CARRIERS = 10
ITEMS = 10_000
"""Items, of which each warehouse has a stock."""
SUPPLIERS = 1_000
ROWS = 10_000
"""Rows for each warehouse of the tables of `read-write` and of `insert`."""
