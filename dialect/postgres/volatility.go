package postgres

import "github.com/slotsql/slotsql/rewrite"

// stable holds functions, operators and types of pg_catalog. All functions of these
// names are immutable or stable (the package's tests ask the server): what the
// database itself defines, by these names or others, is found by other schemas'
// names or other types of arguments only.
var stable = &rewrite.Stable{
	Functions: rewrite.Names(`
		abs acos asin ascii atan atan2 bit_length btrim cbrt ceil ceiling char_length character_length chr coalesce concat concat_ws
		convert_from convert_to cos cot degrees div encode decode exp factorial floor format gcd greatest hashtext initcap lcm least left
		length ln log log10 lower lpad ltrim md5 min_scale mod nullif octet_length overlay pi position pow power quote_ident quote_literal
		quote_nullable radians regexp_match regexp_replace regexp_split_to_array repeat
		replace reverse right round rpad rtrim scale sha224 sha256 sha384 sha512 sign similar_escape similar_to_escape sin split_part sqrt
		starts_with string_to_array strpos substr substring tan textcat textlike texticlike to_ascii to_char to_hex to_number translate
		trim_scale trunc upper width_bucket

		age date date_part date_trunc extract isfinite justify_days justify_hours justify_interval make_date make_interval
		make_time make_timestamp make_timestamptz now overlaps statement_timestamp timestamp timestamptz timezone to_date to_timestamp
		transaction_timestamp

		array_append array_cat array_dims array_length array_lower array_ndims array_position array_positions array_prepend array_remove
		array_replace array_to_string array_upper cardinality

		json_array_length json_build_array json_build_object json_extract_path json_extract_path_text json_object json_strip_nulls json_typeof
		jsonb_array_length jsonb_build_array jsonb_build_object jsonb_extract_path jsonb_extract_path_text jsonb_insert jsonb_object
		jsonb_path_exists jsonb_path_match jsonb_pretty jsonb_set jsonb_strip_nulls jsonb_typeof row_to_json to_json to_jsonb

		host hostmask netmask network masklen family isempty lower_inc lower_inf range_merge upper_inc upper_inf int4range int8range numrange
		daterange tsrange tstzrange plainto_tsquery phraseto_tsquery to_tsquery to_tsvector ts_rank websearch_to_tsquery

		current_database current_schema current_setting current_user session_user

		avg bool_and bool_or count every max min sum`),
	Operators: rewrite.Names(`
		AND OR NOT + - * / % ^ = <> != < > <= >= || ~ ~* !~ !~* ~~ ~~* !~~ !~~* & | # << >> |/ ||/ @ -> ->> #> #>> #- @> <@ ? ?| ?& && @? @@ -|- ^@

		like between in array row case constant true false indirection collate grouping
		current_date current_time current_time_n current_timestamp current_timestamp_n localtime localtime_n localtimestamp localtimestamp_n
		current_role current_user user session_user current_catalog current_schema`,
		"is null", "is boolean", "is distinct from"),
	Types: rewrite.Names(`
		bigint int8 integer int int4 smallint int2 numeric decimal real float4 float8 float boolean bool text varchar char bpchar name date
		time timetz timestamp timestamptz interval uuid json jsonb bytea inet cidr macaddr bit varbit oid regclass tsvector tsquery money
		int4range int8range numrange daterange tsrange tstzrange`,
		"double precision", "character varying", "character", "bit varying", "time with time zone", "time without time zone",
		"timestamp with time zone", "timestamp without time zone"),
}
