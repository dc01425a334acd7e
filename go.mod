module github.com/slotsql/slotsql

go 1.26
