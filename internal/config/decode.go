package config

import (
	"bytes"
	"errors"
	"fmt"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/goccy/go-yaml/ast"
	"github.com/goccy/go-yaml/lexer"
	"github.com/goccy/go-yaml/parser"
	"github.com/goccy/go-yaml/token"
)

// This file turns YAML into entries with positions, knowing nothing of what
// the keys mean. The YAML parser is quadratic, or worse, in the number and
// nesting of tokens while its lexer is linear, so the limits below are applied
// to the tokens first.
const (
	maxConfigTokens  = 50_000
	maxConfigNesting = 32
	maxUnsupported   = 16 // anchors, tags and the like, before the parser is not even tried
	maxNameBytes     = 256
	maxValueBytes    = 4096 // of one key or value; the parser copies a key into all below it
)

// position is a place in a file, both from 1.
type position struct{ line, column int }

// entry is one key of a mapping with its value.
type entry struct {
	name  string
	at    position
	path  string
	value ast.Node // nil for nothing
}

// valueAt is where the value stands, or the key for a value left out.
func (e entry) valueAt() position {
	if e.value == nil || e.value.Type() == ast.NullType {
		return e.at
	}
	return nodeAt(e.value)
}

// decoder collects the problems of one file.
type decoder struct {
	file     string
	problems []Problem
	sharedAt []position // where the shared slot tables stand
}

func (d *decoder) report(at position, path, format string, args ...any) {
	d.problems = append(d.problems, Problem{
		File: d.file, Line: at.line, Column: at.column, Path: path, Message: fmt.Sprintf(format, args...),
	})
}

// parseYAML returns the root of the file's only document. False means that
// there is nothing to decode; the reason has been reported.
func (d *decoder) parseYAML(data []byte) (root ast.Node, ok bool) {
	if len(data) > maxConfigBytes {
		d.report(position{}, "", "file is larger than 1 MiB: leave out what is not configuration")
		return nil, false
	}
	data = bytes.TrimPrefix(data, []byte("\ufeff"))
	// The lexer counts the line of a comment that ends in \r\n twice.
	data = bytes.ReplaceAll(data, []byte("\r\n"), []byte("\n"))
	data = bytes.ReplaceAll(data, []byte("\r"), []byte("\n"))
	if !utf8.Valid(data) {
		good := 0
		for good < len(data) {
			r, size := utf8.DecodeRune(data[good:])
			if r == utf8.RuneError && size == 1 {
				break
			}
			good += size
		}
		line := 1 + bytes.Count(data[:good], []byte("\n"))
		column := 1 + utf8.RuneCount(data[bytes.LastIndexByte(data[:good], '\n')+1:good])
		d.report(position{line, column}, "", "file is not valid UTF-8: save it as UTF-8")
		return nil, false
	}
	defer func() {
		if r := recover(); r != nil {
			d.report(position{}, "", "file cannot be read as YAML: %s", Clip(fmt.Sprint(r)))
			root, ok = nil, false
		}
	}()
	tokens := lexer.Tokenize(string(data))
	if !d.checkTokens(tokens) {
		return nil, false
	}
	file, err := parser.Parse(tokens, 0, parser.AllowDuplicateMapKey())
	if err != nil {
		d.reportSyntax(err)
		return nil, false
	}
	for _, doc := range file.Docs {
		if doc.Body != nil && doc.Body.Type() != ast.DirectiveType {
			return doc.Body, true
		}
	}
	return nil, len(d.problems) == 0 // an empty file lacks keys; one with a problem may not
}

// checkTokens reports the parts of YAML that a configuration has no use for.
// It returns false when the file must not be parsed.
//
//nolint:funlen // a list of checks, in the order of what they report
func (d *decoder) checkTokens(tokens token.Tokens) bool {
	if len(tokens) > maxConfigTokens {
		d.report(
			position{},
			"",
			"file has too many entries (%d YAML tokens, the limit is %d): configure fewer tables",
			len(tokens),
			maxConfigTokens,
		)
		return false
	}
	var flow, dashes, dashLine, directiveLine, unsupported int
	var content, ended, several bool
	reported := map[token.Type]int{} // the line, to say it once for each
	for _, tk := range tokens {
		at := tokenAt(tk)
		refuse := func(what, instead string) {
			unsupported++
			if reported[tk.Type] != at.line {
				d.report(at, "", "%s is not supported here: %s", what, instead)
			}
			reported[tk.Type] = at.line
		}
		if at.line == directiveLine {
			continue // the directive's own words
		}
		switch tk.Type {
		case token.CommentType:
			continue
		case token.DocumentHeaderType:
			if (content || ended) && !several {
				several = true
				d.report(at, "", "file has several YAML documents: keep one")
			}
			ended = true // a second header, even straight after, begins another document
			continue
		case token.DocumentEndType:
			content = true // only a comment may follow
			continue
		case token.DirectiveType:
			refuse("a YAML directive", "remove the line")
			directiveLine = at.line
			continue
		case token.AnchorType:
			refuse("a YAML anchor", "write the value out, or use defaults")
		case token.AliasType:
			refuse("a YAML alias", "write the value out, or use defaults")
		case token.MergeKeyType:
			refuse("the YAML merge key <<", "write the values out, or use defaults")
		case token.TagType:
			refuse("a YAML tag", "remove it")
		case token.MappingKeyType:
			refuse("the YAML key mark ?", "write key: value")
		case token.MappingStartType, token.SequenceStartType:
			flow++
		case token.MappingEndType, token.SequenceEndType:
			flow = max(0, flow-1)
		case token.SequenceEntryType:
			if at.line != dashLine {
				dashes, dashLine = 0, at.line
			}
			dashes++
		}
		content = true
		if flow > maxConfigNesting || dashes > maxConfigNesting {
			d.report(at, "", "values are nested too deeply: tables.<table>.counters.<column>.min is the deepest there is")
			return false
		}
		if len(tk.Value) > maxValueBytes {
			d.report(at, "", "a value of %d bytes is too long: the limit for names and values is %d", len(tk.Value), maxValueBytes)
			return false
		}
		if unsupported > maxUnsupported {
			return false
		}
	}
	return true
}

func (d *decoder) reportSyntax(err error) {
	var at position
	message := err.Error()
	var se interface {
		GetToken() *token.Token
		GetMessage() string
	}
	if errors.As(err, &se) {
		message = se.GetMessage()
		if tk := se.GetToken(); tk != nil {
			at = tokenAt(tk)
		}
	}
	message = strings.ToValidUTF8(strings.ReplaceAll(message, "\n", " "), "?")
	if len(message) > 200 {
		message = message[:200] + "..."
	}
	hint := ""
	if strings.Contains(message, "\t") {
		message = strings.ReplaceAll(message, "\t", `\t`)
		hint = ": indent with spaces, not tabs"
	}
	d.report(at, "", "file is not valid YAML: %s%s", message, hint)
}

// mapping returns the entries of a mapping, a repeated key only once. It
// returns false, and reports, when n is anything else; null and nil are an
// empty mapping.
func (d *decoder) mapping(n ast.Node, at position, path, subject, instead string) ([]entry, bool) {
	var values []*ast.MappingValueNode
	switch n := unwrap(n).(type) {
	case nil, *ast.NullNode:
	case *ast.MappingNode:
		values = n.Values
	case *ast.MappingValueNode:
		values = []*ast.MappingValueNode{n}
	case *ast.AliasNode: // reported as a token
		return nil, false
	default:
		d.report(at, path, "%s must be a mapping (%s), got %s", subject, instead, describe(n))
		return nil, false
	}
	entries := make([]entry, 0, len(values))
	first := make(map[string]int, len(values))
	for _, v := range values {
		key := unwrap(v.Key)
		if _, ok := key.(*ast.MergeKeyNode); ok || key == nil {
			continue // reported as a token
		}
		keyAt := nodeAt(key)
		name, ok := text(key)
		if !ok {
			d.report(keyAt, path, "%s: a key must be a string, got %s: quote it", subject, describe(key))
			continue
		}
		e := entry{name: name, at: keyAt, path: joinPath(path, PathName(name)), value: unwrap(v.Value)}
		if line, ok := first[name]; ok {
			d.report(keyAt, e.path, "%s: key %s is already on line %d: keep one", subject, Clip(name), line)
			continue
		}
		first[name] = keyAt.line
		entries = append(entries, e)
	}
	return entries, true
}

// unwrap takes anchors, tags and key marks off a node; nil stays nil.
func unwrap(n ast.Node) ast.Node {
	for {
		var inner ast.Node
		switch n := n.(type) {
		case *ast.AnchorNode:
			inner = n.Value
		case *ast.TagNode:
			inner = n.Value
		case *ast.MappingKeyNode:
			inner = n.Value
		default:
			return n
		}
		n = inner
	}
}

// text returns a name: text, or a number or boolean as it is written.
func text(n ast.Node) (string, bool) {
	switch n := n.(type) {
	case *ast.StringNode:
		return n.Value, true
	case *ast.LiteralNode:
		return n.Value.Value, true
	case *ast.IntegerNode, *ast.FloatNode, *ast.BoolNode, *ast.InfinityNode, *ast.NanNode:
		return n.GetToken().Value, true
	}
	return "", false
}

// whole returns a whole number written in plain decimal. YAML's other ways of
// writing one (0x10, 0o17, 017, 1_000) differ between YAML versions.
func whole(n ast.Node) (int64, bool) {
	i, ok := n.(*ast.IntegerNode)
	if !ok {
		return 0, false
	}
	s := i.GetToken().Value
	v, err := strconv.ParseInt(s, 10, 64)
	return v, err == nil && strconv.FormatInt(v, 10) == s
}

// describe says what a value is, for messages.
func describe(n ast.Node) string {
	switch n := n.(type) {
	case nil, *ast.NullNode:
		return "nothing"
	case *ast.MappingNode, *ast.MappingValueNode:
		return "a mapping"
	case *ast.SequenceNode:
		return "a list"
	case *ast.StringNode:
		return Clip(n.Value)
	case *ast.LiteralNode:
		return Clip(n.Value.Value)
	}
	if s, ok := text(n); ok {
		return strings.Trim(Clip(s), `"`) // a number or boolean, as written
	}
	return "something else"
}

// Clip quotes a name for a message and shortens a long one.
func Clip(s string) string {
	const limit = 80
	if len(s) <= limit {
		return strconv.Quote(s)
	}
	cut := limit
	for cut > 0 && !utf8.RuneStart(s[cut]) {
		cut--
	}
	return strconv.Quote(s[:cut] + "...")
}

// PathName writes a key for a Problem's Path: as it is when it is plain.
func PathName(s string) string {
	for _, r := range s {
		if r != '_' && r != '-' && (r < '0' || r > '9') && (r < 'a' || r > 'z') && (r < 'A' || r > 'Z') {
			return Clip(s)
		}
	}
	if s == "" || len(s) > 80 {
		return Clip(s)
	}
	return s
}

func joinPath(path, name string) string {
	if path == "" {
		return name
	}
	return path + "." + name
}

func nodeAt(n ast.Node) position {
	if m, ok := n.(*ast.MappingNode); ok && !m.IsFlowStyle && len(m.Values) > 0 {
		return nodeAt(m.Values[0].Key) // its own token is the first colon
	}
	if tk := n.GetToken(); tk != nil {
		return tokenAt(tk)
	}
	return position{}
}

func tokenAt(tk *token.Token) position {
	if tk.Position == nil {
		return position{}
	}
	return position{max(1, tk.Position.Line), max(1, tk.Position.Column)}
}
