"""Words that a DBMS accepts as names of tables and columns only in quotation marks."""

from __future__ import annotations

# Keywords that servers list (pg_get_keywords(), information_schema.KEYWORDS) and with which
# PostgreSQL 17.6, MySQL 9.7.4, MariaDB 11.8.9 and SQLite 3 refuse CREATE TABLE.
_ALL = """
all and as case check collate constraint create default distinct else except foreign from group
having in intersect into is join limit not null on or order primary references select table then
to union unique using when where
"""
_OF_POSTGRES = """
analyse analyze any array asc asymmetric authorization binary both cast collation column
concurrently cross current_catalog current_date current_role current_schema current_time
current_timestamp current_user deferrable desc do end false fetch for freeze full grant ilike
initially inner isnull lateral leading left like localtime localtimestamp natural notnull offset
only outer overlaps placing returning right session_user similar some symmetric system_user
tablesample trailing true user variadic verbose window with
"""
_OF_BOTH_MYSQLS = """
accessible add alter analyze asc asensitive before between bigint binary blob both by call
cascade change char character column condition continue convert cross current_date current_time
current_timestamp current_user cursor databases day_hour day_microsecond day_minute day_second
dec decimal declare delayed delete desc describe deterministic distinctrow div double drop dual
each elseif enclosed escaped exists exit explain false fetch float float4 float8 for force
fulltext grant high_priority hour_microsecond hour_minute hour_second if ignore index infile
inner inout insensitive insert int int1 int2 int3 int4 int8 integer interval iterate key keys
kill leading leave left like linear lines load localtime localtimestamp lock long longblob
longtext loop low_priority match maxvalue mediumblob mediumint mediumtext middleint
minute_microsecond minute_second mod modifies natural no_write_to_binlog numeric optimize
optionally out outer outfile over partition precision procedure purge range read read_write
reads real recursive regexp release rename repeat replace require resignal restrict return
revoke right rlike row_number rows schemas second_microsecond sensitive separator set show
signal smallint spatial specific sql sql_big_result sql_calc_found_rows sql_small_result
sqlexception sqlstate sqlwarning ssl starting straight_join terminated tinyblob tinyint tinytext
trailing trigger true undo unlock unsigned update usage use utc_date utc_time utc_timestamp
values varbinary varchar varcharacter varying while with write xor year_month zerofill
"""
_OF_MYSQL = """
cube cume_dist database dense_rank empty external first_value function generated get grouping
groups io_after_gtids io_before_gtids json_table lag last_value lateral lead library nth_value
ntile of optimizer_costs option percent_rank qualify rank row schema stored system tablesample
virtual window
"""
_OF_MARIADB = """
current_role delete_domain_id do_domain_ids ignore_domain_ids master_demote_to_replica
master_demote_to_slave offset page_checksum parse_vcol_expr portion ref_system_id returning
sql_after_gtids sql_before_gtids stats_auto_recalc stats_persistent stats_sample_pages vector
"""
_OF_SQLITE = """
add alter between commit deferrable delete drop escape exists if index insert isnull nothing
notnull returning set transaction update values
"""
POSTGRES = frozenset((_ALL + _OF_POSTGRES).split())
MYSQL = frozenset((_ALL + _OF_BOTH_MYSQLS + _OF_MYSQL).split())
MARIADB = frozenset((_ALL + _OF_BOTH_MYSQLS + _OF_MARIADB).split())
SQLITE = frozenset((_ALL + _OF_SQLITE).split())
