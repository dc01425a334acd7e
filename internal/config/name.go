package config

import (
	"fmt"
	"strings"
)

// SplitName reads a table name: table or schema.table, each part as it is
// stored, or in double quotes or backticks (a quote inside doubled) when it
// has a dot, a quote or outer spaces in it. why says what is wrong, or is
// empty.
func SplitName(s string) (parts []string, why string) {
	if s == "" {
		return nil, "has an empty name: write one"
	}
	for rest := s; ; {
		part, after := "", ""
		if q := rest[:min(1, len(rest))]; q == `"` || q == "`" {
			end := 1
			var b strings.Builder
			for {
				i := strings.Index(rest[end:], q)
				if i < 0 {
					return nil, "has a name with an unclosed quote: close it, and double any quote inside"
				}
				b.WriteString(rest[end : end+i])
				end += i + 1
				if !strings.HasPrefix(rest[end:], q) {
					break
				}
				b.WriteString(q)
				end++
			}
			part, after = b.String(), rest[end:]
			if after != "" && after[0] != '.' {
				return nil, "has text after a closing quote: quote the whole name, and double a quote inside"
			}
		} else {
			end := strings.IndexByte(rest, '.')
			if end < 0 {
				end = len(rest)
			}
			part, after = rest[:end], rest[end:]
			if strings.ContainsAny(part, "\"`") {
				return nil, "has a quote inside its name: quote the whole name, and double the quote inside"
			}
			if part != strings.TrimSpace(part) {
				return nil, "has leading or trailing space in its name: remove it, or quote the name"
			}
		}
		if why := nameFault(part); why != "" {
			return nil, why
		}
		parts = append(parts, part)
		if after == "" {
			break
		}
		rest = after[1:]
	}
	if len(parts) > 2 {
		return nil, "has more than schema.table in its name: leave the rest out, or quote a name with a dot"
	}
	return parts, ""
}

// nameFault says why no table or column can have that name, or "".
func nameFault(s string) string {
	switch {
	case s == "":
		return "has an empty name: write one"
	case strings.ContainsRune(s, 0):
		return "has a NUL character in its name: no database allows it, remove it"
	case len(s) > maxNameBytes:
		return fmt.Sprintf("has a name of %d bytes: no name may be longer than %d", len(s), maxNameBytes)
	}
	return ""
}

// slotTableName is the slot table's name for a base table of that stored name,
// whatever its length.
func slotTableName(cfg *TableConfig, stored string) string {
	if cfg.SlotTable != "" {
		return cfg.SlotTable
	}
	return stored + "_slots"
}
