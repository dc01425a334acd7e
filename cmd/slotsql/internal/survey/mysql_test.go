package survey

import (
	"testing"

	"github.com/slotsql/slotsql/dialect/mysql"
)

// Digests as MariaDB 10.11 writes them become statements that the parser takes
// and that mean the same.
func TestUndigest(t *testing.T) {
	names := map[string]string{"USER": "user", "POSTS": "posts"}
	for digest, want := range map[string]string{
		"UPDATE `posts` SET `views` = `views` + ? WHERE ID = ?":                                                                                  "UPDATE `posts` SET `views` = `views` + ? WHERE ID = ?",
		"SELECT COUNT ( * ) , NOW ( ) , SUM ( `views` ) FROM `posts` WHERE ID IN (...) AND `views` > - ?":                                        "SELECT COUNT( * ) , NOW( ) , SUM( `views` ) FROM `posts` WHERE ID IN (?) AND `views` > - ?",
		"INSERT INTO `posts` ( ID , `title` , `views` ) VALUES (...) /* , ... */ ON DUPLICATE KEY UPDATE `views` = `views` + VALUES ( `views` )": "INSERT INTO `posts` ( ID , `title` , `views` ) VALUES (?, ?, ?) /* , ... */ ON DUPLICATE KEY UPDATE `views` = `views` + VALUES ( `views` )",
		"UPDATE `posts` SET `title` = DATE_SUB ( NOW ( ) , INTERVAL ? SQL_TSI_DAY ) , `seen_at` = NOW WHERE ID = ?":                              "UPDATE `posts` SET `title` = DATE_SUB( NOW( ) , INTERVAL ? SQL_TSI_DAY ) , `seen_at` = CURRENT_TIMESTAMP WHERE ID = ?",
		"UPDATE USER SET `karma` = `karma` + ? , `day` = CURDATE":                                                                                "UPDATE user SET `karma` = `karma` + ? , `day` = CURRENT_DATE",
		"UPDATE `posts` SET `views` = ...":                                                                                                       "",
		"":                                                                                                                                       "",
	} {
		got := undigest(digest, names)
		if got != want {
			t.Errorf("%s\ngot  %s\nwant %s", digest, got, want)
		}
		if _, err := mysql.New().Parse(got); got != "" && err != nil {
			t.Errorf("%s: %v", got, err)
		}
	}
}
