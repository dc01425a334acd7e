package main

type (
	// Page is the first of the application's models.
	Page struct {
		ID    int64 `bun:",pk"`
		Title string
		Views int64 `bun:",notnull"`
		Likes int64 `bun:",notnull"`
	}
	Like struct {
		PageID int64 `bun:",pk"`
		UserID int64 `bun:",pk"`
	}
	Product struct {
		ID      int64 `bun:",pk"`
		Name    string
		Stock   int64 `bun:",notnull"`
		Tickets int64 `bun:",notnull"`
	}
	Order struct {
		ID        int64 `bun:",pk,autoincrement"`
		ProductID int64
		Quantity  int64
	}
)
