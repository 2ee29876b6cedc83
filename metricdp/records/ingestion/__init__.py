"""How private cells are read: the only code that turns a cell of a table into a record or a user.

**The rule.** A cell is read by a function of that cell and of public facts (ids of the universe,
names of columns, a file's header) *alone*. No reading and no refusal depends on another cell. So
one more record changes no other record, as every sensitivity assumes.

`cells` and `columns` read one cell or many as text, numbers and users; `matching` finds points;
`geometry`, `shapefile` and `lines` read geometries, Shapefiles and text; `encoders` make records
and users.
"""
