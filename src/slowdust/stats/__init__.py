"""The statistics: numbers in, numbers out. Nothing here knows a file, a DBMS or a report."""
