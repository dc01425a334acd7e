CREATE TABLE stocks (id INT PRIMARY KEY, quantity INT NOT NULL);
CREATE TABLE orders (customer INT NOT NULL, number INT NOT NULL, PRIMARY KEY (customer, number));
INSERT INTO stocks VALUES (1, 1000);
