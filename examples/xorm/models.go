package main

type (
	// Pages is the first of the application's models.
	Pages struct {
		ID    int64  `xorm:"'id' pk"`
		Title string `xorm:"varchar(80)"`
		Views int64  `xorm:"notnull default 0"`
		Likes int64  `xorm:"notnull default 0"`
	}
	Likes struct {
		PageID int64 `xorm:"'page_id' pk"`
		UserID int64 `xorm:"'user_id' pk"`
	}
	Products struct {
		ID      int64  `xorm:"'id' pk"`
		Name    string `xorm:"varchar(80)"`
		Stock   int64  `xorm:"notnull default 0"`
		Tickets int64  `xorm:"notnull default 0"`
	}
	Orders struct {
		ID        int64 `xorm:"'id' pk autoincr"`
		ProductID int64 `xorm:"'product_id'"`
		Quantity  int64
	}
)
