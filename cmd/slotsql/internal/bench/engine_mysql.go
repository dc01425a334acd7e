package bench

import (
	"context"
	"database/sql/driver"
	"net"

	"github.com/go-sql-driver/mysql"

	slots "github.com/slotsql/slotsql/mysql"
)

func mysqlEngine() *Engine {
	return &Engine{
		Name:    "mysql",
		dialect: slots.Dialect(),
		network: true,
		open: func(dsn string, dial dialFunc) (driver.Connector, error) {
			c, err := mysql.ParseDSN(dsn)
			if err != nil {
				return nil, err
			}
			if dial != nil {
				network := c.Net
				c.DialFunc = func(ctx context.Context, _, address string) (net.Conn, error) { return dial(ctx, network, address) }
			}
			return mysql.NewConnector(c)
		},
		address: func(dsn string) string {
			c, err := mysql.ParseDSN(dsn)
			if err != nil {
				return ""
			}
			if c.Net == "unix" {
				return "unix socket"
			}
			return c.Addr
		},
		table:     " ENGINE=InnoDB",
		serial:    "BIGINT PRIMARY KEY AUTO_INCREMENT",
		forUpdate: " FOR UPDATE",
		addToSlot: "ON DUPLICATE KEY UPDATE views = views + 1",
		skipLocked: &skipLockedStatements{
			choose: "SELECT slot FROM %s WHERE id = ? LIMIT 1 FOR UPDATE SKIP LOCKED",
			add:    "UPDATE %s SET views = views + 1 WHERE id = ? AND slot = ?",
		},
		like:    "SELECT table_name FROM information_schema.tables WHERE table_schema = DATABASE() AND table_name LIKE ?",
		version: "SELECT CASE WHEN VERSION() LIKE '%MariaDB%' THEN CONCAT('MariaDB ', SUBSTRING_INDEX(VERSION(), '-MariaDB', 1)) ELSE CONCAT('MySQL ', VERSION()) END",
		settings: []settingQuery{
			{"innodb_flush_log_at_trx_commit", "SELECT @@innodb_flush_log_at_trx_commit"},
			{"sync_binlog", "SELECT @@sync_binlog"},
			{"log_bin", "SELECT @@log_bin"},
			{"isolation", "SELECT @@transaction_isolation"},
			{"isolation", "SELECT @@tx_isolation"}, // before MariaDB 11.1
		},
	}
}
