package propose

import (
	"regexp"
	"slices"

	"github.com/slotsql/slotsql/rewrite/schema"
)

// counting are names of columns that most often count something.
var counting = regexp.MustCompile(
	`(?i)(?:^|_)(?:count|counts|counter|cnt|views?|viewed|likes?|dislikes?|hits?|clicks?|impressions?|downloads?|plays?|shares?|votes?|upvotes?|downvotes?|` +
		`followers?|visits?|reads|karma|reputation)$|^(?:num|nb)_`,
)

// countingCamel are such names in camel case.
var countingCamel = regexp.MustCompile(`[a-z](?:Count|Counter|Views|Likes|Hits|Clicks|Downloads)$`)

// amounts are names of columns that may as well be set as added to.
var amounts = regexp.MustCompile(
	`(?i)(?:^|_)(?:uses|used|usage|balance|stock|inventory|quantity|qty|amount|total|points|credits|score|sold|spent|reserved|booked|remaining|available|` +
		`replies|comments|posts|members|subscribers|orders|sales|opens|attempts|failures|retries)$|^total_`,
)

// looksCounted returns why a column looks like a counter, "" if it does not.
func looksCounted(c *schema.Column) string {
	filled := !c.Nullable && c.HasDefault
	switch {
	case counting.MatchString(c.Name) || countingCamel.MatchString(c.Name):
		if filled {
			return "named like a counter, and NOT NULL with a default"
		}
		return "named like a counter"
	case filled && c.Bits >= 32 && amounts.MatchString(c.Name): // narrower ones are often flags
		return "named like an amount, and NOT NULL with a default"
	}
	return ""
}

// guess proposes columns by name, type and default, of a table that no statement adds to.
// A column that statements set is not guessed: they would have added to it.
func (j *judge) guess() *Proposal {
	t := j.table
	p := &Proposal{Table: configTable(t), Guess: true, table: t}
	if p.Counters = j.byName(); len(p.Counters) == 0 {
		return nil
	}
	j.chooseKey(p)
	p.companions(onUpdate(t.Table))
	p.Notes = tableNotes(t)
	return p
}

// byName returns the columns that look like counters, and are written by no statement.
func (j *judge) byName() (out []Counter) {
	t := j.table
	for i := range t.Columns {
		c := &t.Columns[i]
		why := looksCounted(c)
		if why == "" || c.Numeric != schema.Integer || c.Identity || c.Generated ||
			slices.Contains(t.ForeignKeys.Columns, c.Name) ||
			slices.ContainsFunc(t.Uniques, func(u schema.Unique) bool { return slices.Contains(u.Columns, c.Name) }) ||
			j.found != nil && j.found.written[c.Name] {
			continue
		}
		counter := Counter{Column: c.Name, Notes: append([]string{why}, columnNotes(t, c.Name)...)}
		if ok, why := j.configured([]string{c.Name}, onUpdate(t.Table)).Slottable(c.Name); !ok {
			counter.Notes = append(counter.Notes, "not slotted: "+why)
		}
		out = append(out, counter)
	}
	return out
}

// siblings are such columns of a table that has other counters.
func (j *judge) siblings() []Counter {
	out := j.byName()
	for i := range out {
		out[i].Off = "no statement that was seen writes it"
	}
	return out
}
