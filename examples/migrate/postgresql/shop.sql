CREATE TABLE customer (customer_id integer PRIMARY KEY, name text NOT NULL, email text UNIQUE, born date, newsletter boolean NOT NULL DEFAULT false, created_at timestamptz NOT NULL, preferences jsonb);
CREATE TABLE product (sku varchar(12) PRIMARY KEY, title text NOT NULL, price numeric(12,2) NOT NULL, version text, tags text[] NOT NULL DEFAULT '{}', note text);
CREATE TABLE purchase (purchase_id bigint PRIMARY KEY, customer_id integer NOT NULL REFERENCES customer, placed_at timestamp NOT NULL);
CREATE TABLE purchase_item (purchase_id bigint NOT NULL REFERENCES purchase, sku varchar(12) NOT NULL REFERENCES product, quantity integer NOT NULL, unit_price numeric(12,2) NOT NULL, PRIMARY KEY (purchase_id, sku));
INSERT INTO customer VALUES (1, 'Ada Lovelace', 'ada@example.org', '1815-12-10', true, '2024-01-05 09:30:00+01', '{"theme": "dark", "sizes": [38, 39]}'), (2, 'Bea "B." Müller', 'bea@example.org', NULL, false, '2024-02-29 23:59:59.123456+00', NULL), (3, E'Cleo,\nof two lines', NULL, '2000-02-29', true, '2023-12-31 18:00:00-05', '{}');
INSERT INTO product VALUES ('000017', 'Notebook, A5', 4.50, '1.10', '{paper,office}', ''), ('0042-B', 'Lamp', 129.00, '2', '{}', NULL), ('X-9', 'Cable "long"', 1234567890.10, NULL, '{office}', E'first line\nsecond line');
INSERT INTO purchase VALUES (9007199254740993, 1, '2024-03-01 10:15:00'), (2, 2, '2024-03-02 00:00:00.5'), (3, 1, '2024-03-03 12:00:00');
INSERT INTO purchase_item VALUES (9007199254740993, '000017', 3, 4.50), (9007199254740993, 'X-9', 1, 1234567890.10), (2, '0042-B', 2, 119.00), (3, '000017', 1, 4.25);
