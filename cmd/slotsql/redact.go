package main

import (
	"net/url"
	"regexp"
	"slices"
	"strings"

	"github.com/go-sql-driver/mysql"
	"github.com/jackc/pgx/v5"
)

const hidden = "xxxxx"

// redact takes the passwords of all that was given out of a message.
func (o *options) redact(message string) string {
	return redact(redact(message, o.driver, o.dsn), "redis", o.redis)
}

// redact takes the passwords of a DSN out of a message. What a driver makes of
// a DSN counts, and for one that it cannot read whatever may be a password.
func redact(message, driver, dsn string) string {
	if dsn == "" {
		return message
	}
	secrets := map[string]bool{}
	add := func(s string) {
		if s == "" {
			return
		}
		secrets[s], secrets[url.QueryEscape(s)], secrets[url.PathEscape(s)] = true, true, true
		if u, err := url.QueryUnescape(s); err == nil {
			secrets[u] = true
		}
		if u, err := url.PathUnescape(s); err == nil {
			secrets[u] = true
		}
	}
	if password := engines[driver].password; password != nil {
		add(password(dsn))
	}
	for _, p := range passwordPlaces {
		for _, m := range p.FindAllStringSubmatch(dsn, -1) {
			add(strings.Trim(m[1], `'"`))
		}
	}
	// Longest first: one may be part of another.
	list := make([]string, 0, len(secrets))
	for s := range secrets {
		list = append(list, s)
	}
	slices.SortFunc(list, func(a, b string) int { return len(b) - len(a) })
	for _, s := range list {
		message = strings.ReplaceAll(message, s, hidden)
	}
	return message
}

var passwordPlaces = []*regexp.Regexp{
	regexp.MustCompile(`^[^:/]*:(.*)@`),    // user:password@
	regexp.MustCompile(`://[^:/@]*:(.*)@`), // scheme://user:password@
	regexp.MustCompile(`(?i)(?:password|passwd|pwd|_key|_auth_pass)\s*=\s*('(?:[^'\\]|\\.)*'|[^\s&]+)`), // password=
}

// mysqlPassword returns the password of a DSN as the driver reads it.
func mysqlPassword(dsn string) string {
	c, err := mysql.ParseDSN(dsn)
	if err != nil {
		return ""
	}
	return c.Passwd
}

// pgxPassword returns the password of a DSN as the driver reads it, which may be
// that of the environment or of a password file.
func pgxPassword(dsn string) string {
	c, err := pgx.ParseConfig(dsn)
	if err != nil {
		return ""
	}
	return c.Password
}
