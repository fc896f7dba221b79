package catalog

// PricesCSV is the table that is brought along.
var PricesCSV = pricesCSV
