-- Documents, and which text links to which.
CREATE VERTEX TYPE Doc;
CREATE PROPERTY Doc.name STRING;
CREATE PROPERTY Doc.module STRING;
CREATE PROPERTY Doc.title STRING;
CREATE PROPERTY Doc.text STRING;
CREATE PROPERTY Doc.near ARRAY_OF_FLOATS;
CREATE PROPERTY Doc.ids ARRAY_OF_INTEGERS;
CREATE PROPERTY Doc.weights ARRAY_OF_FLOATS;
CREATE EDGE TYPE LinksTo;
CREATE INDEX ON Doc (name) UNIQUE;
-- A word of the title counts three times; words are found in all their forms.
CREATE INDEX ON Doc (title, text) FULL_TEXT METADATA {"analyzer": "english", "title_boost": 3.0, "positions": true};
CREATE INDEX ON Doc (near) LSM_VECTOR METADATA {"dimensions": 256, "similarity": "COSINE", "idPropertyName": "name"};
CREATE INDEX ON Doc (ids, weights) LSM_SPARSE_VECTOR METADATA {"modifier": "IDF"};
