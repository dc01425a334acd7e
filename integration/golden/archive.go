package golden

import "strings"

// archive is a file in the txtar format of golang.org/x/tools: a comment, and sections that
// begin with a line "-- name --".
type archive struct {
	Comment  string
	Sections []section
}

type section struct{ Name, Data string }

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
