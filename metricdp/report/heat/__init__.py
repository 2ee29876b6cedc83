"""Heat maps: what `metricdp.heatmap` and `Release.heatmap` return, as tables, files and a page."""
