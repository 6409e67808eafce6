# Everything happens in .venv, which the recipes make when they need it.
# PYTHON=/path/to/python3.12 names the interpreter; ARGS=... goes to pytest or the benchmark.

.PHONY: help demo serve up test lint bench lock clean
.NOTPARALLEL:
.SILENT:

help: ## Say what there is to make
	sed -n 's/^\([a-z]*\):.*## /make \1	/p' Makefile

demo: ## Import samples/customers.csv and show what becomes of it
	sh .ci/venv
	.venv/bin/batchfx demo

serve: ## Show the batches of the demo on a page
	sh .ci/venv web,workers
	.venv/bin/batchfx serve --database sqlite:///batchfx-demo.db

up: ## Start PostgreSQL, Redis, two workers, the sweep and the page, to try them
	sh .ci/venv up
	.venv/bin/python -m samples.up

test: ## Run the tests and measure what they cover
	sh .ci/venv test
	$(if $(ARGS),,sh .ci/chromium)
	.venv/bin/python -m pytest $(or $(ARGS),--cov -n auto --maxprocesses 4 --dist loadfile)

lint: ## Check style, types and who imports whom
	sh .ci/venv test
	.venv/bin/ruff check .
	.venv/bin/ruff format --check .
	.venv/bin/mypy
	.venv/bin/lint-imports --no-logo --no-cache

bench: ## Measure speed and memory against a plain script
	sh .ci/venv test
	.venv/bin/python -m tests.benchmarks $(ARGS)

lock: ## Take the newest version of every dependency into requirements.lock
	sh .ci/lock

clean: ## Remove .venv and what the tools left; databases stay
	rm -rf .venv build dist htmlcov .coverage .coverage.* .hypothesis
	rm -rf .pytest_cache .mypy_cache .ruff_cache .import_linter_cache
	find batchfx importers samples tests -name __pycache__ -prune -exec rm -rf {} +
