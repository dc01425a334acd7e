package sqlite

import "github.com/slotsql/slotsql/rewrite"

// stable leaves out the functions of chance (random, randomblob), of the statement
// before (changes, last_insert_rowid) and REGEXP and MATCH, which are functions that
// a program defines. The time is the same throughout a statement.
var stable = &rewrite.Stable{
	Others: map[string]bool{"REGEXP": true, "MATCH": true},
	Functions: rewrite.Names(`
		abs char coalesce concat concat_ws format glob hex if ifnull iif instr length like likelihood likely lower ltrim max min nullif
		octet_length printf quote replace round rtrim sign soundex substr substring trim typeof unhex unicode unlikely upper

		current_date current_time current_timestamp date datetime julianday strftime time timediff unixepoch

		acos acosh asin asinh atan atan2 atanh ceil ceiling cos cosh degrees exp floor ln log log10 log2 mod pi pow power radians sin sinh
		sqrt tan tanh trunc

		json json_array json_array_length json_error_position json_extract json_insert json_object json_patch json_quote json_remove
		json_replace json_set json_type json_valid

		avg count sum total`),
}
