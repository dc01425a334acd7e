// Package schema has the models of the application, from which ent generates its client.
package schema

import (
	"entgo.io/ent"
	"entgo.io/ent/schema/field"
)

// Page is a page of the shop.
type Page struct{ ent.Schema }

// Fields of a page.
func (Page) Fields() []ent.Field {
	return []ent.Field{
		field.Int64("id"), field.String("title").MaxLen(80),
		field.Int64("views").Default(0), field.Int64("likes").Default(0),
	}
}

// Like is who likes what.
type Like struct{ ent.Schema }

// Fields of a like.
func (Like) Fields() []ent.Field {
	return []ent.Field{field.Int64("page_id"), field.Int64("user_id")}
}

// Product is what is sold.
type Product struct{ ent.Schema }

// Fields of a product.
func (Product) Fields() []ent.Field {
	return []ent.Field{
		field.Int64("id"), field.String("name").MaxLen(80),
		field.Int64("stock"), field.Int64("tickets").Default(0),
	}
}

// Order is what has been sold.
type Order struct{ ent.Schema }

// Fields of an order.
func (Order) Fields() []ent.Field {
	return []ent.Field{field.Int64("product_id"), field.Int64("quantity")}
}
