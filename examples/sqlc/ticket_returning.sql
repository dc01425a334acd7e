-- name: Ticket :one
UPDATE products SET tickets = tickets + 1 WHERE id = sqlc.arg(id) RETURNING tickets;
