"""Statistics on plain numbers. They know no files, DBMS or reports."""
