package mysql

import "github.com/slotsql/slotsql/rewrite"

// stable leaves out the functions of chance (RAND, UUID), of locks and of time
// spent (GET_LOCK, SLEEP), of the statement before (LAST_INSERT_ID, ROW_COUNT,
// FOUND_ROWS), SYSDATE, which is the time of each call, and variables. A stored
// function cannot take the name of one of these, which MySQL and MariaDB both have.
var stable = &rewrite.Stable{
	Others: map[string]bool{"@": true},
	Functions: rewrite.Names(`
		abs acos ascii asin atan atan2 bin bit_count bit_length ceil ceiling char char_length character_length charset coalesce coercibility
		collation compress concat concat_ws conv convert convert_tz cos cot crc32 degrees elt exp export_set field find_in_set floor format
		from_base64 greatest hex if ifnull inet_aton inet_ntoa inet6_aton inet6_ntoa insert instr interval isnull lcase least left length ln
		locate log log10 log2 lower lpad ltrim make_set md5 mid mod nullif oct octet_length ord pi position pow power quote radians repeat
		replace reverse right round rpad rtrim sha sha1 sha2 sign sin soundex space sqrt strcmp substr substring substring_index tan to_base64
		trim truncate ucase uncompress unhex upper weight_string

		adddate addtime curdate current_date current_time current_timestamp curtime date date_add date_format date_sub datediff day dayname
		dayofmonth dayofweek dayofyear extract from_days from_unixtime get_format hour last_day localtime localtimestamp makedate maketime
		microsecond minute month monthname now period_add period_diff quarter sec_to_time second str_to_date subdate subtime time
		time_format time_to_sec timediff timestamp timestampadd timestampdiff to_days to_seconds unix_timestamp utc_date utc_time
		utc_timestamp week weekday weekofyear year yearweek

		json_array json_contains json_contains_path json_depth json_extract json_keys json_length json_object json_quote json_search json_type
		json_unquote json_valid json_value

		current_user database schema session_user system_user user version connection_id

		avg count max min std stddev sum variance`),
}
