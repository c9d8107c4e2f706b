-- placeholder
CREATE TABLE x(a);
