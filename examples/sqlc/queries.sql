-- name: View :exec
UPDATE pages SET views = views + 1 WHERE id = sqlc.arg(id);

-- name: AddLike :exec
INSERT INTO likes (page_id, user_id) VALUES (sqlc.arg(page_id), sqlc.arg(user_id));

-- name: CountLike :exec
UPDATE pages SET likes = likes + 1 WHERE id = sqlc.arg(id);

-- name: TakeStock :execrows
UPDATE products SET stock = stock - sqlc.arg(quantity) WHERE id = sqlc.arg(id) AND stock >= sqlc.arg(least);

-- name: AddOrder :exec
INSERT INTO orders (product_id, quantity) VALUES (sqlc.arg(product_id), sqlc.arg(quantity));

-- name: Rename :exec
UPDATE pages SET title = sqlc.arg(title) WHERE id = sqlc.arg(id);

-- name: Top :many
SELECT id, title, views, likes FROM pages ORDER BY views DESC;
