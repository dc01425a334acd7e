package sqlite

import (
	"github.com/slotsql/slotsql/rewrite/lex"
)

var lexRules = lex.Rules{
	Backtick:       true,
	Bracket:        true,
	MarkIsSpace:    true,
	QuestionParam:  true,
	QuestionNumber: true,
	NamedParam:     true,
}
