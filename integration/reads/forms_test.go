package reads

import (
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/slotsql/slotsql"
	"github.com/slotsql/slotsql/integration/twin"
)

// formsN is the number of reads per engine.
const formsN = 300

// TestForms makes up reads of the forms that substitution alone does not
// cover: merged columns, joins and tables with column aliases, grouping sets,
// aliases that hide counters. Rows, columns, types and error
// classes must be as plain while slots hold something. And most of these reads
// must run without a drain, by a derived table many of them.
func TestForms(t *testing.T) {
	twin.Each(t, func(t *testing.T, dialect string) {
		p := twin.New(t, twin.Options{Dialect: dialect, Schema: formSchema, Config: formConfig})
		for _, s := range formIncrements {
			p.Same(t, twin.Statement{SQL: s})
		}
		g := forms{rand.New(rand.NewPCG(7, 11)), dialect}
		derived, drained, failed := 0, map[string]int{}, map[string]int{}
		for range formsN {
			q := g.query()
			e, err := slotsql.Explain(t.Context(), p.Wrapped, q)
			if err != nil {
				t.Fatalf("%s\n%v", q, err)
			}
			switch {
			case e.Class == "drain":
				drained[e.Reason]++
				continue // its golden cases run it; here it would leave no slots to see
			case strings.Contains(e.Reason, "a derived table stands for"):
				derived++
			}
			plain, wrapped := p.Run(t.Context(), twin.Statement{SQL: q, Mode: twin.Query})
			if plain.Err != nil {
				failed[twin.Class(plain.Err)]++
			}
			for _, d := range twin.Compare(plain, wrapped) {
				// MariaDB says of a NOT NULL column under DISTINCT or ROLLUP that
				// it may be NULL when it has used a temporary table, and else not.
				temporary := strings.Contains(q, "DISTINCT") || strings.Contains(q, "ROLLUP")
				if dialect != "mysql" || !temporary || !strings.HasPrefix(d.What, "type of column") {
					t.Errorf("%s\n%s\n%s", d, q, e.Reason)
				}
			}
		}
		t.Logf("derived %d, drained %v, errors on the plain side %v", derived, drained, failed)
		n := 0
		for _, k := range drained {
			n += k
		}
		if derived < formsN/4 || n > formsN/10 {
			t.Errorf("of %d reads %d are derived, %d drained", formsN, derived, n)
		}
	})
}

const formConfig = "version: 1\nauto_migrate: true\ntables: {posts: {counters: {views: {}, likes: {}}}, forums: {counters: {posts: {}}}}\n"

var formSchema = []string{
	"CREATE TABLE posts (id INT PRIMARY KEY, forum INT NOT NULL, views INT NOT NULL, title VARCHAR(20), likes INT)",
	"CREATE TABLE forums (id INT PRIMARY KEY, name VARCHAR(20) NOT NULL, posts BIGINT NOT NULL)",
	"CREATE TABLE notes (id INT PRIMARY KEY, views INT, word VARCHAR(20))",
	"CREATE TABLE one (n INT)",
	"INSERT INTO one VALUES (1)",
	"INSERT INTO posts VALUES (1, 1, 3, 'a', 7), (2, 1, 4, 'b', NULL), (3, 2, 4, 'c', 0), (4, 2, 9, NULL, 9), (5, 3, 0, 'e', 4), (6, 9, 2, 'f', 2)",
	"INSERT INTO forums VALUES (1, 'x', 3), (2, 'y', 4), (3, 'z', 0)",
	"INSERT INTO notes VALUES (1, 4, 'n'), (2, 5, 'm'), (3, 5, 'n'), (4, NULL, 'o'), (9, 2, 'p'), (10, 0, NULL)",
}

var formIncrements = []string{
	"UPDATE posts SET views = views + 2 WHERE id = 1", "UPDATE posts SET views = views + 1, likes = likes + 1 WHERE id = 3",
	"UPDATE posts SET likes = likes + 3 WHERE id = 5", "UPDATE posts SET views = views - 4 WHERE id = 4",
	"UPDATE forums SET posts = posts + 1 WHERE id = 2", "UPDATE forums SET posts = posts + 5 WHERE id = 3",
}

// forms makes up reads of posts AS p.
type forms struct {
	*rand.Rand
	dialect string
}

func (g forms) pick(list ...string) string { return list[g.IntN(len(list))] }

// of returns the entries that the engine has; an entry may begin with the
// engines it is for.
func (g forms) of(list ...string) string {
	var own []string
	for _, s := range list {
		on, text, limited := strings.Cut(s, ": ")
		if !limited {
			own = append(own, s)
		} else if strings.Contains(on, g.dialect) {
			own = append(own, text)
		}
	}
	return g.pick(own...)
}

func (g forms) query() string {
	from := g.of(
		"posts p JOIN notes n USING (views)",
		"posts AS p LEFT JOIN notes n USING (views)",
		"notes n LEFT JOIN posts p USING (views, id)",
		"posts p RIGHT JOIN notes n USING (views)",
		"posts p NATURAL JOIN notes n",
		"notes n NATURAL LEFT JOIN posts p",
		"posts p JOIN posts n USING (views)",
		"posts p LEFT JOIN posts n USING (likes, forum)",
		"posts p JOIN notes n ON p.id = n.id",
		"posts p LEFT JOIN (SELECT id, views FROM posts WHERE id > 2) n USING (views)",
		"posts p JOIN notes n USING (id)",
		"posts p LEFT JOIN notes n USING (id)",
		"posts p JOIN forums n ON n.posts = p.views",
		"posts p CROSS JOIN one CROSS JOIN notes n",
		"postgres sqlite: posts p FULL JOIN notes n USING (views)",
		"postgres sqlite: notes n FULL JOIN posts p USING (id)",
		"postgres: posts p (id, forum, likes, title, views) LEFT JOIN notes n ON n.id = p.id",
		"postgres: posts AS p (id, f) JOIN notes n USING (views)",
		"postgres: posts p NATURAL FULL JOIN notes n",
		"postgres: (posts JOIN one ON true) AS p (id, forum, views) LEFT JOIN notes n USING (id)",
		"sqlite: (posts LEFT JOIN one ON n = likes) AS p LEFT JOIN notes n ON n.id = p.id",
	)
	where := ""
	if g.IntN(2) == 0 {
		where = " WHERE " + g.of(
			"p.views > "+fmt.Sprint(g.IntN(6)),
			"p.likes IS NULL",
			"p.id = "+fmt.Sprint(1+g.IntN(6)),
			"p.views IN (SELECT views FROM notes)",
			"EXISTS (SELECT 1 FROM notes m NATURAL JOIN posts q WHERE q.views = p.views)",
			"p.views <> ALL (SELECT posts FROM forums JOIN one ON posts = n)",
			"p.likes BETWEEN 2 AND p.views",
			"p.views = (SELECT MAX(views) FROM posts JOIN notes USING (views))",
		)
		if g.dialect == "sqlite" && strings.Contains(where, "ALL") {
			where = ""
		}
	}
	switch g.IntN(5) {
	case 0: // grouped
		by := g.of("p.views", "p.views + 0", "p.likes, p.views", "p.forum, p.likes % 3", "p.views, p.title")
		first, _, _ := strings.Cut(by, ",")
		tail := " GROUP BY " + by
		if g.IntN(3) > 0 {
			tail = g.of("mysql: GROUP BY "+by+" WITH ROLLUP", "postgres: GROUP BY ROLLUP ("+by+")", "postgres: GROUP BY CUBE ("+by+")",
				"postgres: GROUP BY GROUPING SETS (("+by+"), ())", "sqlite: GROUP BY "+by)
		}
		having := g.of("", "", " HAVING COUNT(*) > 1", " HAVING MAX(p.views) > 3", " HAVING "+first+" > 2", " HAVING p.likes > 1")
		return "SELECT " + by +
			g.of(", COUNT(*)", ", SUM(p.likes), MIN(p.views)", ", COUNT(*) AS views", ", (SELECT MAX(p.likes) FROM one)") +
			" FROM " + from + where + " " + strings.TrimSpace(tail) + having
	case 1: // one row
		return "SELECT " + g.of(
			"COUNT(*), MAX(p.views)",
			"SUM(p.views + p.likes)",
			"(SELECT MAX(p.views) FROM one)",
			"(SELECT MAX(p.likes + n) FROM one)",
			"COUNT(DISTINCT p.views) AS views, MIN(p.likes)",
		) + " FROM " + from + where
	}
	list := g.of(
		"*",
		"p.*",
		"*, p.views",
		"p.views, p.likes",
		"p.views + 1, title",
		"CASE WHEN p.id > 2 THEN p.likes ELSE p.views END, p.views IS NULL",
		"p.views, -p.likes AS views",
		"p.views AS likes, p.likes AS views",
		"p.views v, (SELECT COUNT(*) FROM posts q NATURAL JOIN notes) c",
		"views",
		"p.id, (SELECT MAX(m.views + p.views) FROM notes m) AS top",
		"(p.views), COALESCE(p.likes, -1)",
		"p.*, p.likes",
	)
	tail := ""
	switch {
	case strings.Contains(list, "-p.likes AS views"):
		tail = g.of("", " ORDER BY p.views + 0, p.id, n.id", " ORDER BY p.id, n.id")
	case g.IntN(2) == 0:
		tail = g.of(" ORDER BY p.views, p.id, n.id", " ORDER BY -p.likes, p.id DESC, n.id", " ORDER BY p.id, n.id")
	}
	return "SELECT " + g.of("", "", "DISTINCT ") + list + " FROM " + from + where + tail
}
