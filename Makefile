# Short names for the checks; `bash .ci/run` is what counts. Needs the environment that the README's second command makes.
BIN ?= .venv/bin

.PHONY: demo test lint types imports notebooks docs ci
demo:
	$(BIN)/metricdp demo
test:
	$(BIN)/python -m pytest -n auto --dist worksteal -m "not extended"
lint:
	$(BIN)/ruff check .
types:
	$(BIN)/mypy
imports:
	$(BIN)/lint-imports
notebooks:
	$(BIN)/python notebooks/run.py
docs: # the site, from docs/conf.py; wants the extra docs: $(BIN)/pip install -e '.[docs]'
	$(BIN)/python -m sphinx -b html -W --keep-going -c docs . build/site
ci:
	CI=true bash .ci/run </dev/null
