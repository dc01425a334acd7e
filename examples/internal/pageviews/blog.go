package pageviews

import (
	"database/sql"
	"fmt"
	"strings"
)

// The legacy application: a blog that counts its page views, with plain
// database/sql. Nothing in this file knows of slotsql, and nothing in it
// changes: it is given another driver name.

type blog struct {
	db *sql.DB

	countView, countVisit, drawOrder, addVisit, selectPage, selectTop, logLength string
}

type page struct {
	ID     int64
	Title  string
	Views  int64
	Visits int64
}

// openBlog connects. Its statements are those that the application sends to any of the engines.
func openBlog(driver, dsn string, connections int) (*blog, error) {
	db, err := sql.Open(driver, dsn)
	if err != nil {
		return nil, err
	}
	db.SetMaxOpenConns(connections)
	db.SetMaxIdleConns(connections)
	b := &blog{
		db:         db,
		countView:  `UPDATE slotsql_quickstart_pages SET views = views + 1 WHERE id = ?`,
		countVisit: `UPDATE slotsql_quickstart_pages SET visits = visits + 1 WHERE id = ?`,
		drawOrder:  `UPDATE slotsql_quickstart_pages SET orders = orders + 1 WHERE id = ? RETURNING orders`,
		addVisit:   `INSERT INTO slotsql_quickstart_visits (page_id, visitor) VALUES (?, ?)`,
		selectPage: `SELECT id, title, views, visits FROM slotsql_quickstart_pages WHERE id = ?`,
		selectTop:  `SELECT id, title, views FROM slotsql_quickstart_pages ORDER BY views DESC, id LIMIT 10`,
		logLength:  `SELECT COUNT(*) FROM slotsql_quickstart_visits WHERE page_id = ?`,
	}
	if strings.HasPrefix(driver, "pgx") || strings.HasPrefix(driver, "postgres") {
		for _, q := range []*string{&b.countView, &b.countVisit, &b.drawOrder, &b.addVisit, &b.selectPage, &b.selectTop, &b.logLength} {
			*q = Numbered(*q)
		}
	}
	if strings.HasPrefix(driver, "mysql") { // which has no UPDATE ... RETURNING
		b.drawOrder = `UPDATE slotsql_quickstart_pages SET orders = LAST_INSERT_ID(orders + 1) WHERE id = ?`
	}
	if err := db.Ping(); err != nil {
		_ = db.Close()
		return nil, err
	}
	return b, nil
}

// Numbered writes PostgreSQL's placeholders: $1, $2, ...
func Numbered(query string) string {
	for n := 1; strings.Contains(query, "?"); n++ {
		query = strings.Replace(query, "?", fmt.Sprintf("$%d", n), 1)
	}
	return query
}

// viewPage counts one view.
func (b *blog) viewPage(id int64) error {
	res, err := b.db.Exec(b.countView, id)
	if err != nil {
		return err
	}
	if n, err := res.RowsAffected(); err != nil || n == 0 {
		return fmt.Errorf("no page %d (%w)", id, err)
	}
	return nil
}

// drawNumber draws the next order number of a page: unique, and without gaps.
func (b *blog) drawNumber(id int64) (n int64, err error) {
	if strings.Contains(b.drawOrder, "RETURNING") {
		err = b.db.QueryRow(b.drawOrder, id).Scan(&n)
		return n, err
	}
	res, err := b.db.Exec(b.drawOrder, id)
	if err != nil {
		return 0, err
	}
	return res.LastInsertId()
}

// visitPage logs a visit and counts it, both or neither.
func (b *blog) visitPage(id, visitor int64) error {
	tx, err := b.db.Begin()
	if err != nil {
		return err
	}
	defer func() { _ = tx.Rollback() }() // does nothing after a commit
	if _, err := tx.Exec(b.addVisit, id, visitor); err != nil {
		return err
	}
	if _, err := tx.Exec(b.countVisit, id); err != nil {
		return err
	}
	return tx.Commit()
}

func (b *blog) getPage(id int64) (p page, err error) {
	err = b.db.QueryRow(b.selectPage, id).Scan(&p.ID, &p.Title, &p.Views, &p.Visits)
	return p, err
}

func (b *blog) topPages() ([]page, error) {
	rows, err := b.db.Query(b.selectTop)
	if err != nil {
		return nil, err
	}
	defer rows.Close()
	var top []page
	for rows.Next() {
		var p page
		if err := rows.Scan(&p.ID, &p.Title, &p.Views); err != nil {
			return nil, err
		}
		top = append(top, p)
	}
	return top, rows.Err()
}

// loggedVisits counts the rows of the visit log.
func (b *blog) loggedVisits(id int64) (n int64, err error) {
	err = b.db.QueryRow(b.logLength, id).Scan(&n)
	return n, err
}
