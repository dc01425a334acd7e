CREATE TABLE xboard_header (
  article_id INT PRIMARY KEY,
  title VARCHAR(128) NOT NULL,
  count INT NOT NULL
);
INSERT INTO xboard_header VALUES
  (1, 'Article 1', 0), (2, 'Article 2', 0), (3, 'Article 3', 0), (4, 'Article 4', 0), (5, 'Article 5', 0),
  (6, 'Article 6', 0), (7, 'Article 7', 0), (8, 'Article 8', 0), (9, 'Article 9', 0), (10, 'Article 10', 0),
  (11, 'Article 11', 0), (12, 'Article 12', 0), (13, 'Article 13', 0), (14, 'Article 14', 0), (15, 'Article 15', 0),
  (16, 'Article 16', 0), (17, 'Article 17', 0), (18, 'Article 18', 0), (19, 'Article 19', 0), (20, 'Article 20', 0),
  (21, 'Article 21', 0), (22, 'Article 22', 0), (23, 'Article 23', 0), (24, 'Article 24', 0), (25, 'Article 25', 0),
  (26, 'Article 26', 0), (27, 'Article 27', 0), (28, 'Article 28', 0), (29, 'Article 29', 0), (30, 'Article 30', 0),
  (31, 'Article 31', 0), (32, 'Article 32', 0), (33, 'Article 33', 0), (34, 'Article 34', 0), (35, 'Article 35', 0),
  (36, 'Article 36', 0), (37, 'Article 37', 0), (38, 'Article 38', 0), (39, 'Article 39', 0), (40, 'Article 40', 0),
  (41, 'Article 41', 0), (42, 'Article 42', 0), (43, 'Article 43', 0), (44, 'Article 44', 0), (45, 'Article 45', 0),
  (46, 'Article 46', 0), (47, 'Article 47', 0), (48, 'Article 48', 0), (49, 'Article 49', 0), (50, 'Article 50', 0),
  (51, 'Article 51', 0), (52, 'Article 52', 0), (53, 'Article 53', 0), (54, 'Article 54', 0), (55, 'Article 55', 0),
  (56, 'Article 56', 0), (57, 'Article 57', 0), (58, 'Article 58', 0), (59, 'Article 59', 0), (60, 'Article 60', 0),
  (61, 'Article 61', 0), (62, 'Article 62', 0), (63, 'Article 63', 0), (64, 'Article 64', 0), (65, 'Article 65', 0),
  (66, 'Article 66', 0), (67, 'Article 67', 0), (68, 'Article 68', 0), (69, 'Article 69', 0), (70, 'Article 70', 0),
  (71, 'Article 71', 0), (72, 'Article 72', 0), (73, 'Article 73', 0), (74, 'Article 74', 0), (75, 'Article 75', 0),
  (76, 'Article 76', 0), (77, 'Article 77', 0), (78, 'Article 78', 0), (79, 'Article 79', 0), (80, 'Article 80', 0),
  (81, 'Article 81', 0), (82, 'Article 82', 0), (83, 'Article 83', 0), (84, 'Article 84', 0), (85, 'Article 85', 0),
  (86, 'Article 86', 0), (87, 'Article 87', 0), (88, 'Article 88', 0), (89, 'Article 89', 0), (90, 'Article 90', 0),
  (91, 'Article 91', 0), (92, 'Article 92', 0), (93, 'Article 93', 0), (94, 'Article 94', 0), (95, 'Article 95', 0),
  (96, 'Article 96', 0), (97, 'Article 97', 0), (98, 'Article 98', 0), (99, 'Article 99', 0), (100, 'Article 100', 0);
