"""All that is durable: the database, its tables and what is asked of them."""
