"""The report of a study: charts, and the page that shows them."""
