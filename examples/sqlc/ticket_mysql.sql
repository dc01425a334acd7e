-- name: Ticket :execlastid
UPDATE products SET tickets = LAST_INSERT_ID(tickets + 1) WHERE id = sqlc.arg(id);
