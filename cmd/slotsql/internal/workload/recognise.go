package workload

import (
	"encoding/csv"
	"regexp"
	"strings"
)

var (
	slowHeader   = regexp.MustCompile(`(?m)^# Query_time: `)
	generalBegin = regexp.MustCompile(`(?m)^Time +Id +Command +Argument`)
	yamlKey      = regexp.MustCompile(`(?m)^ *(?:- +)?sql: *\S`)
	yamlFirst    = regexp.MustCompile(`^(?:-(?: |$)|[A-Za-z_][\w-]*:(?: |$))`)
)

// recognise tells the form of a file by its beginning.
func recognise(head []byte) Form {
	text := strings.TrimPrefix(string(head), "\ufeff")
	if slowHeader.MatchString(text) {
		return formSlow
	}
	if generalBegin.MatchString(text) {
		return formGeneral
	}
	first := ""
	for line := range strings.Lines(text) {
		line = strings.TrimRight(line, "\r\n")
		if generalEntry.MatchString(line) {
			return formGeneral
		}
		if strings.HasPrefix(line, "{") && strings.Contains(line, `"error_severity"`) {
			return formJSON
		}
		if fields, err := csv.NewReader(strings.NewReader(line)).Read(); err == nil && isCSVLog(fields) {
			return formCSV
		}
		if m := postgresEntry.FindStringSubmatch(line); m != nil && m[1] == "LOG" {
			return formPostgres
		}
		if trimmed := strings.TrimSpace(line); first == "" && trimmed != "" && trimmed[0] != '#' {
			first = line
		}
	}
	if yamlFirst.MatchString(first) && yamlKey.MatchString(text) {
		return formYAML
	}
	return formSQL
}
