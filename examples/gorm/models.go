package main

type (
	// Page is the first of the application's models.
	Page struct {
		ID    int64
		Title string `gorm:"size:80"`
		Views int64  `gorm:"not null;default:0"`
		Likes int64  `gorm:"not null;default:0"`
	}
	Like struct {
		PageID int64 `gorm:"primaryKey;autoIncrement:false"`
		UserID int64 `gorm:"primaryKey;autoIncrement:false"`
	}
	Product struct {
		ID      int64
		Name    string `gorm:"size:80"`
		Stock   int64  `gorm:"not null"`
		Tickets int64  `gorm:"not null;default:0"`
	}
	Order struct{ ID, ProductID, Quantity int64 }
)
