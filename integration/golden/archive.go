package golden

import (
	"path/filepath"
	"strings"
)

// archive is a file in the txtar format of golang.org/x/tools: a comment, and sections that
// begin with a line "-- name --".
type archive struct {
	Comment  string
	Sections []section
}

type section struct{ Name, Data string }

// names returns the names of a section that stands for several: "mysql, sqlite.sql" is mysql.sql and sqlite.sql.
func (s section) names() []string {
	list := strings.Split(s.Name, ", ")
	for i := range len(list) - 1 {
		list[i] += filepath.Ext(s.Name)
	}
	return list
}

func parseArchive(text string) *archive {
	a := &archive{}
	into := &a.Comment
	for line := range strings.Lines(strings.ReplaceAll(text, "\r\n", "\n")) {
		line = strings.TrimSuffix(line, "\n")
		name, begins := strings.CutPrefix(line, "-- ")
		name, ends := strings.CutSuffix(name, " --")
		if begins && ends {
			a.Sections = append(a.Sections, section{Name: name})
			into = &a.Sections[len(a.Sections)-1].Data
			continue
		}
		*into += line + "\n"
	}
	return a
}

// String returns the file.
func (a *archive) String() string {
	var b strings.Builder
	b.WriteString(a.Comment)
	for _, s := range a.Sections {
		b.WriteString("-- " + s.Name + " --\n" + s.Data)
	}
	return b.String()
}
