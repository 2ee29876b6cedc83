"""Where private demand and public methods meet: the runner, and the front doors that call it."""
