package lex

import "strings"

// Repeat tells whether a statement may be run once more, by another session and at another
// time, and what is known of the order of its rows.
type Repeat struct {
	Why     string // it may not be; "" when it may
	Ordered bool   // it orders its rows, perhaps not completely
	Limited bool   // it leaves rows out, by an order that may not be complete
}

// Repeatable judges a statement by its words. Only a single query whose functions are all
// on a list may be run again: these functions change nothing, wait for nothing, and
// return the same for the same rows to every user. A function that is not on the list may
// do anything. Nothing is known of what a statement only names, such as a view or an
// operator.
//
//nolint:funlen // a list of rules, each with its reason
func Repeatable(rules *Rules, sql string) Repeat {
	s := NewScanner(rules, sql)
	var out Repeat
	depth, n := 0, 0
	var before Token
	word, last := "", ""
	no := func(why string) Repeat { return Repeat{Why: why} }
	for {
		t := s.Next()
		if s.Exec {
			return no("the statement has an executable comment")
		}
		if t.Kind == EOF {
			break
		}
		token := sql[t.Start:t.End]
		if last == ";" && token != ";" {
			return no("there are several statements")
		}
		switch t.Kind {
		case Bad:
			return no("the statement has an unterminated quote or comment, or a character outside SQL")
		case Variable:
			return no("the query names a variable")
		case Operator:
			if token == ":=" {
				return no("the query sets a variable")
			}
			if token == "(" {
				depth++
				switch {
				case before.Kind == QuotedIdent, before.Kind == Word && !harmless[word]:
					return no("the query calls " + clipped(sql[before.Start:before.End]) + ", which may have side effects")
				}
			}
			if token == ")" {
				depth--
			}
		case Word:
			last, word = word, strings.ToUpper(token)
			if n == 0 && word != "SELECT" && word != "WITH" && word != "VALUES" && word != "TABLE" {
				return no("the statement is not a query")
			}
			n++
			if why := unrepeatable[word]; why != "" {
				return no(why)
			}
			switch {
			case word == "BY" && last == "ORDER" && depth == 0:
				out.Ordered = true
			case word == "LIMIT", word == "FETCH", word == "OFFSET", word == "ON" && last == "DISTINCT":
				out.Limited = true
			case (word == "SHARE" || word == "NO" || word == "KEY") && last == "FOR":
				return no("the query locks rows")
			case word == "VALUE" && (last == "NEXT" || last == "PREVIOUS"):
				return no("the query uses a sequence")
			}
		}
		if t.Kind != Word {
			last = token
		}
		before = t
	}
	if n == 0 {
		return no("the statement is not a query")
	}
	return out
}

func clipped(s string) string {
	if len(s) > 64 {
		return s[:64] + "..."
	}
	return s
}

// unrepeatable are words that no query may hold which is run again.
var unrepeatable = map[string]string{
	"INSERT": "the query writes", "DELETE": "the query writes", "MERGE": "the query writes",
	"UPDATE": "the query writes, or locks rows", "LOCK": "the query locks rows",
	"INTO": "the query writes its rows somewhere", "PROCEDURE": "the query calls a procedure",
	"NEXTVAL": "the query uses a sequence", "CURRVAL": "the query uses a sequence", "LASTVAL": "the query uses a sequence",
	"TABLESAMPLE": "the query takes a sample of rows",
}

// harmless are the words before a parenthesis that call nothing, or a function
// as Repeatable allows them. Not among them are functions of the session
// (LAST_INSERT_ID, FOUND_ROWS), of locks and of time spent (GET_LOCK, SLEEP), of chance,
// and those whose result depends on the order in which rows come (ROW_NUMBER,
// GROUP_CONCAT, array_agg).
var harmless = WordSet(`
	SELECT FROM WHERE AND OR NOT XOR IN EXISTS ANY SOME ALL ON USING AS OVER VALUES CASE WHEN THEN ELSE BETWEEN LIKE ILIKE IS BY
	HAVING LIMIT OFFSET UNION INTERSECT EXCEPT DISTINCT WITH FILTER WITHIN PARTITION JOIN INNER CROSS OUTER LATERAL
	MATERIALIZED INDEX KEY ROW ARRAY TO ESCAPE GLOB REGEXP RLIKE DIV MOD ROLLUP CUBE SETS GROUPING FIRST NEXT RETURN BINARY END

	CHAR VARCHAR NVARCHAR CHARACTER VARYING DECIMAL NUMERIC DEC FLOAT VARBINARY BIT

	COUNT SUM MIN MAX AVG TOTAL BOOL_AND BOOL_OR EVERY STDDEV STDDEV_POP STDDEV_SAMP VARIANCE VAR_POP VAR_SAMP
	RANK DENSE_RANK PERCENT_RANK CUME_DIST
	COALESCE IFNULL NULLIF ISNULL IF IIF GREATEST LEAST ABS ROUND FLOOR CEIL CEILING SIGN POWER POW SQRT EXP LN LOG LOG10 LOG2 TRUNC TRUNCATE
	LENGTH CHAR_LENGTH CHARACTER_LENGTH OCTET_LENGTH LOWER UPPER UCASE LCASE TRIM LTRIM RTRIM BTRIM LEFT RIGHT SUBSTR SUBSTRING MID
	CONCAT CONCAT_WS REPLACE INSTR LOCATE POSITION STRPOS REVERSE REPEAT LPAD RPAD MD5 SHA1 HEX UNHEX ASCII INITCAP SPLIT_PART
	NOW CURRENT_TIMESTAMP CURRENT_DATE CURRENT_TIME LOCALTIME LOCALTIMESTAMP CURDATE CURTIME UTC_TIMESTAMP UTC_DATE
	DATE TIME DATETIME TIMESTAMP TIMESTAMPTZ DATE_TRUNC DATE_FORMAT DATE_PART EXTRACT YEAR QUARTER MONTH WEEK DAY HOUR MINUTE SECOND WEEKDAY DAYOFWEEK
	TO_CHAR TO_DATE TO_TIMESTAMP FROM_UNIXTIME UNIX_TIMESTAMP STRFTIME JULIANDAY DATE_ADD DATE_SUB DATEDIFF TIMESTAMPDIFF ADDDATE SUBDATE INTERVAL AGE
	CAST CONVERT TYPEOF JSON_EXTRACT JSON_UNQUOTE JSON_VALUE JSON_OBJECT JSON_ARRAY JSON_BUILD_OBJECT JSONB_BUILD_OBJECT ROW_TO_JSON TO_JSON TO_JSONB
`)

// WordSet returns the set of the words in a list.
func WordSet(list string) map[string]bool {
	out := map[string]bool{}
	for _, w := range strings.Fields(list) {
		out[w] = true
	}
	return out
}
